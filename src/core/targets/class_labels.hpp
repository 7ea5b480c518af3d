// Class labels of the rows of a table, and the rows that a grower keeps.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/rows/bag.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

class LeafCountsBuilder;

// Labels of the training rows and, if there are any, their weights in fixed point. A row with an uncertain label has
// several adjacent entries that share its weight. It is still one row: a bag takes it with all its entries, and it
// counts once.
struct ClassLabels {
    static constexpr const char* kind = "classes";
    using LeafBuilder = LeafCountsBuilder;
    // Counts of a leaf add up over the parts of a table.
    static constexpr bool leaves_add_up = true;

    const std::uint16_t* labels = nullptr;
    const std::int64_t* weights = nullptr;
    const std::uint32_t* rows =
        nullptr;  // the row of each entry, ascending (only with weights); null if each row has one entry
    std::size_t n_entries = 0;
    std::uint32_t n_classes = 2;
    double weight_unit = 1;  // the weight of one unit
    bool weighted = false;
    bool balance_bag = false;  // whether classes are balanced in every bag (only with weights)

    static ClassLabels from(const NamedValues& given) {
        ClassLabels labels;
        const auto values = given.array<std::uint16_t>("labels");
        labels.n_entries = values.size();
        labels.labels = values.data();
        labels.weighted = given.has("weights");
        labels.weights = given.array_if_given<std::int64_t>("weights", labels.n_entries);
        labels.rows = given.array_if_given<std::uint32_t>("rows", labels.n_entries);
        labels.n_classes = given.number<std::uint32_t>("n_classes");
        labels.weight_unit = given.number<double>("weight_unit");
        labels.balance_bag = given.number<bool>("balance_bag");
        return labels;
    }
    void check(std::size_t n_rows) const {
        if (rows == nullptr) {
            if (n_entries != n_rows) throw std::invalid_argument("labels must have one entry per row");
            return;
        }
        if (!weighted) throw std::invalid_argument("rows of labels require weights");
        if (n_entries >= (std::size_t{1} << 31))
            throw std::invalid_argument("labels must have fewer than 2^31 entries");
        for (std::size_t i = 0; i < n_entries; ++i)
            if (rows[i] >= n_rows || (i > 0 && rows[i] < rows[i - 1]))
                throw std::invalid_argument("the rows of labels must ascend within the table");
    }

    bool is_plain() const { return rows == nullptr && !balance_bag; }
    std::int64_t row_amount(std::size_t row) const { return weighted ? weights[row] : 1; }
    bool rows_alike(std::size_t one, std::size_t other) const { return labels[one] == labels[other]; }
    // The number of cells of a sum: an amount per class, and the number of rows.
    std::size_t n_cells() const { return std::size_t{n_classes} + 1; }
    std::int64_t amount_of(const double* cells) const { return static_cast<std::int64_t>(sum_of(cells)); }
    bool is_pure(const double* cells) const {
        return std::count_if(cells, cells + n_classes, [](double amount) { return amount != 0; }) == 1;
    }
    double share_of(const double* cells) const { return cells[n_classes - 1] / sum_of(cells); }
    double sum_of(const double* cells) const { return std::accumulate(cells, cells + n_classes, 0.0); }
    // Factors that balance classes; empty if they are not balanced.
    std::vector<double> balance_of(const double* cells) const {
        std::vector<double> factors(balance_bag ? n_classes : 0, 1.0);
        for (std::size_t k = 0; k < factors.size(); ++k)
            if (cells[k] > 0) factors[k] = sum_of(cells) / (n_classes * cells[k]);
        return factors;
    }
    // Rows at `offset`, each of which stands for all rows of its class.
    template <class Row>
    void add_rows(const double* cells, std::uint32_t offset, std::vector<Row>& rows) const {
        for (std::uint32_t k = 0; k < n_classes; ++k)
            Row::stand_for(offset, static_cast<std::uint16_t>(k), cells[k], rows);
    }
};

// A row inside the grower: offset of its codes, class and multiplicity.
struct CountedRow {
    using Amount = std::uint32_t;
    std::uint32_t offset;
    std::uint16_t label;
    std::uint16_t multiplicity;

    static CountedRow make(const ClassLabels& labels, const Taken& taken) {
        return {taken.row, labels.labels[taken.entry], static_cast<std::uint16_t>(taken.times)};
    }
    // The weights of labels include multiplicities.
    static CountedRow make_inside(const ClassLabels& labels, const Taken& taken) { return make(labels, taken); }
    static constexpr const std::uint32_t* rows_of(const ClassLabels&) { return nullptr; }
    static bool alike(const ClassLabels&, const CountedRow& one, const CountedRow& other) {
        return one.label == other.label;
    }
    static void balance(const ClassLabels&, std::vector<CountedRow>&, std::vector<CountedRow>&) {}
    static void stand_for(std::uint32_t offset, std::uint16_t label, double amount, std::vector<CountedRow>& rows) {
        for (auto left = static_cast<std::uint64_t>(amount); left > 0; left -= rows.back().multiplicity)
            rows.push_back({offset, label, static_cast<std::uint16_t>(std::min<std::uint64_t>(left, 0xffff))});
    }
    Amount amount() const { return multiplicity; }
    bool follows() const { return false; }
    std::uint32_t times(const BagTimes&) const { return multiplicity; }
};
static_assert(sizeof(CountedRow) == 8);

// The same with a weight in fixed point, multiplied by the multiplicity; sums of integers are exact.
struct WeightedRow {
    using Amount = std::int64_t;
    // All entries of a row except the first have this bit: they have a weight, but do not count as rows.
    static constexpr std::uint16_t follower = 0x8000;
    std::uint32_t offset;
    std::uint16_t label;
    std::uint16_t multiplicity;
    std::int64_t weight;

    static WeightedRow make(const ClassLabels& labels, const Taken& taken) {
        WeightedRow row = make_inside(labels, taken);
        row.weight *= std::max(1U, taken.times);
        return row;
    }
    static WeightedRow make_inside(const ClassLabels& labels, const Taken& taken) {
        const auto multiplicity = static_cast<std::uint16_t>(taken.times | (taken.follows ? follower : 0));
        return {taken.row, labels.labels[taken.entry], multiplicity, labels.weights[taken.entry]};
    }
    static const std::uint32_t* rows_of(const ClassLabels& labels) { return labels.rows; }
    static bool alike(const ClassLabels&, const WeightedRow& one, const WeightedRow& other) {
        return one.label == other.label;
    }
    static void stand_for(std::uint32_t offset, std::uint16_t label, double amount, std::vector<WeightedRow>& rows) {
        if (amount > 0) rows.push_back({offset, label, 0, static_cast<std::int64_t>(amount)});
    }
    Amount amount() const { return weight; }
    bool follows() const { return (multiplicity & follower) != 0; }
    std::uint32_t times(const BagTimes&) const { return multiplicity & ~std::uint32_t{follower}; }

    // Scales the weights so that classes are balanced in the bag of a tree.
    static void balance(const ClassLabels& labels, std::vector<WeightedRow>& inside,
                        std::vector<WeightedRow>& outside) {
        if (!labels.balance_bag) return;
        std::vector<double> amounts(labels.n_classes, 0.0);
        for (const WeightedRow& row : inside) amounts[row.label] += static_cast<double>(row.weight);
        const std::vector<double> factors = labels.balance_of(amounts.data());
        for (std::vector<WeightedRow>* rows : {&inside, &outside})
            for (WeightedRow& row : *rows)
                row.weight =
                    std::max<std::int64_t>(1, std::llround(static_cast<double>(row.weight) * factors[row.label]));
    }
};
static_assert(sizeof(WeightedRow) == 16);

}  // namespace hedgerow
