// Drive top: a table in parts -> the trees of the whole, split by sums and put together from pieces.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/grow/growers.hpp"
#include "core/grow/histogram.hpp"
#include "core/grow/row_routing.hpp"
#include "core/grow/sums.hpp"
#include "core/grow/top.hpp"

namespace hedgerow {

inline NamedValues given_from(const Fields& fields) {
    NamedValues given;
    for (const Field& field : fields)
        std::visit([&]<class Values>(const Values& values) {
            if constexpr (!std::is_same_v<Values, std::monostate>)
                given.set(field.name, std::span(values.data(), values.size()));
        }, field.values);
    return given;
}

// Does what a cluster does, part after part.
template <class Code, class Target>
class PartsDriver {
public:
    PartsDriver(const CodeTable<Code>& table, const ClassLabels& labels, const GrowOptions& options,
                const Target& target, std::size_t n_parts)
        : table_(table), labels_(labels), options_(options), target_(target) {
        for (const Feature& feature : table.features) n_bins_.push_back(feature.n_bins);
        for (std::size_t i = 0; i < n_parts; ++i) {
            const std::size_t first = table.n_rows * i / n_parts, last = table.n_rows * (i + 1) / n_parts;
            Part part{first, last - first, {}};
            for (std::uint32_t feature = 0; feature < table.n_features(); ++feature)
                for (std::size_t row = first; row < last; ++row)
                    part.codes.push_back(table.by_column.at(static_cast<std::uint32_t>(row), feature));
            parts_.push_back(std::move(part));
        }
    }

    // -> the arrays of each tree
    std::vector<Fields> grow(std::size_t n_trees, std::size_t gather_rows, std::size_t sum_bytes) {
        std::unique_ptr<AnySumSearch> search;
        if (options_.is_blind()) search = std::make_unique<BlindSumSearch>(table_.features, options_);
        else search = std::make_unique<SumSearch<Target>>(table_.features, options_, target_, labels_);
        n_cells_ = search->n_cells();
        Top top(Frontier(table_.features, options_, std::move(search), table_.n_rows, n_trees, gather_rows),
                std::make_unique<Ends<ClassLabels>>(labels_, options_.leaf_rules(), n_trees));
        std::vector<double> totals;
        for (std::size_t tree = 0; tree < n_trees; ++tree) add_totals(tree, totals);
        top.plant({totals.data(), n_trees, n_cells_});
        for (auto questions = top.frontier().questions(sum_bytes); !questions.empty();
             questions = top.frontier().questions(sum_bytes)) {
            std::vector<double> sums;
            for (const TreeQuestions& each : questions)
                append(sums, sums_for(sketch_of(top.frontier().tree(each.tree)), each));
            top.frontier().answer(sums, std::nullopt);
        }
        std::vector<Fields> trees;
        for (std::size_t tree = 0; tree < n_trees; ++tree) {
            const GrownTree sketch = sketch_of(top.frontier().tree(tree));
            for (const Group& group : top.groups(tree, 1, gather_rows)) {
                const Fields grown = grow_group(top, tree, sketch, group.nodes);
                top.graft(tree, group.nodes, given_from(grown), std::vector<std::uint8_t>(group.nodes.size(), 0));
            }
            top.count(tree, counts_for(tree, sketch, top.counted(tree)));
            trees.push_back(top.tree(tree));
        }
        return trees;
    }

private:
    struct Part {
        std::size_t first_row, n_rows;
        std::vector<Code> codes;
    };

    Bag bag_of(std::size_t tree) const { return Bag(options_.seed, tree, table_.n_rows, options_.bag_mean); }
    std::int64_t amount_of(std::size_t row, std::uint32_t times) const {
        return labels_.weighted ? labels_.weights[row] * std::max(1U, times) : times;
    }

    void add_totals(std::size_t tree, std::vector<double>& totals) const {
        std::vector<double> cells(n_cells_, 0.0);
        const Bag bag = bag_of(tree);
        for (std::size_t row = 0; row < table_.n_rows; ++row) {
            const std::uint32_t times = bag.multiplicity(row);
            if (times == 0) continue;
            cells[options_.is_blind() ? 0 : labels_.labels[row]] += static_cast<double>(amount_of(row, times));
            cells.back() += 1;
        }
        append(totals, cells);
    }

    RoutedRows routed_in(const Part& part, std::size_t tree, const GrownTree& sketch,
                         const std::vector<std::uint32_t>& nodes, bool outside) const {
        return find_routed_rows(given_top(sketch), columns_of(part).view(), part.n_rows, nodes, bag_of(tree),
                                part.first_row, true, outside);
    }
    static TopView given_top(const GrownTree& sketch) {
        TreeView view = sketch.view();
        view.has_nominal = true;
        return {view, sketch.nodes.size()};
    }
    // Sums of rows that have stayed in their nodes since the last question must be the same.
    void check_kept(const Part& part, const GrownTree& sketch, const TreeQuestions& asked,
                    const std::vector<double>& sums) const {
        auto& kept =
            kept_.try_emplace({&part, asked.tree}, bag_of(asked.tree), part.first_row, part.n_rows, true, false)
                .first->second;
        std::optional<std::span<const std::uint16_t>> labels;
        if (!options_.is_blind()) labels = std::span(labels_.labels + part.first_row, part.n_rows);
        const std::vector<std::uint32_t> found =
            kept.sums(given_top(sketch), columns_of(part).view(), asked.nodes, true, n_bins_, labels, n_cells_,
                      {asked.start, asked.features});
        if (!std::equal(found.begin(), found.end(), sums.begin(), sums.end()))
            throw std::logic_error("rows have not stayed in their nodes");
    }
    CodeColumns<Code> columns_of(const Part& part) const {
        return {part.codes.data(), table_.n_features(), part.n_rows};
    }

    std::vector<double> sums_for(const GrownTree& sketch, const TreeQuestions& asked) const {
        std::vector<double> total;
        for (const Part& part : parts_) {
            const RoutedRows found = routed_in(part, asked.tree, sketch, asked.nodes, false);
            std::vector<double> amounts;
            amounts.reserve(found.rows.size());
            for (std::size_t i = 0; i < found.rows.size(); ++i)
                amounts.push_back(static_cast<double>(amount_of(part.first_row + found.rows[i], found.times[i])));
            RowAmounts<double> given{found.start,  found.rows,   amounts,
                                     std::nullopt, std::nullopt, static_cast<std::uint32_t>(n_cells_)};
            if (!options_.is_blind()) given.labels = std::span(labels_.labels + part.first_row, part.n_rows);
            const std::vector<double> sums =
                sum_bins(columns_of(part).view(), part.n_rows, n_bins_, given, {asked.start, asked.features});
            if (!labels_.weighted) check_kept(part, sketch, asked, sums);
            total.resize(sums.size(), 0.0);
            for (std::size_t i = 0; i < sums.size(); ++i) total[i] += sums[i];
        }
        return total;
    }

    // The rows of some nodes from all parts, node after node, and what grows below each.
    Fields grow_group(const Top& top, std::size_t tree, const GrownTree& sketch,
                      const std::vector<std::uint32_t>& nodes) const {
        std::vector<std::vector<std::uint32_t>> rows(nodes.size());
        for (const Part& part : parts_) {
            const RoutedRows found = routed_in(part, tree, sketch, nodes, options_.counts_outside());
            for (std::size_t i = 0; i < nodes.size(); ++i)
                for (std::int64_t at = found.start[i]; at < found.start[i + 1]; ++at)
                    rows[i].push_back(static_cast<std::uint32_t>(part.first_row) +
                                      found.rows[static_cast<std::size_t>(at)]);
        }
        std::vector<std::int64_t> row_start{0};
        std::vector<std::uint32_t> all;
        for (const auto& each : rows) append(all, each), row_start.push_back(static_cast<std::int64_t>(all.size()));
        std::vector<Code> codes;
        for (std::uint32_t feature = 0; feature < table_.n_features(); ++feature)
            for (const std::uint32_t row : all) codes.push_back(table_.by_column.at(row, feature));
        std::vector<std::uint16_t> numbers, times;
        std::vector<std::int64_t> weights;
        const Bag bag = bag_of(tree);
        for (const std::uint32_t row : all) {
            times.push_back(static_cast<std::uint16_t>(bag.multiplicity(row)));
            numbers.push_back(labels_.labels[row]);
            weights.push_back(labels_.weighted ? amount_of(row, times.back()) : 0);
        }
        ClassLabels labels = labels_;
        labels.labels = numbers.data(), labels.weights = labels_.weighted ? weights.data() : nullptr,
        labels.n_entries = all.size();
        const CodeTable<Code> table{{codes.data(), 1, all.size()}, {}, all.size(), table_.features};
        const Fields inherited = top.heritage(tree, nodes);
        NamedValues below = given_from(inherited);
        below.set("times", std::span<const std::uint16_t>(times));
        below.set("row_start", std::span<const std::int64_t>(row_start));
        Control control;
        return pack_trees(
            grow_trees(table, labels, options_.kinds(table.features.size()), Start::all_from(below, all.size()),
                       {0, nodes.size(), 2}, searches_for(table, target_), control),
            labels, options_.leaf_rules());
    }

    std::vector<std::int64_t> counts_for(std::size_t tree, const GrownTree& sketch,
                                         const std::vector<std::vector<std::uint32_t>>& leaves) const {
        const std::size_t n_classes = labels_.n_classes;
        std::vector<std::int64_t> sums(2 * leaves.size() * n_classes, 0);
        for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf)
            for (const Part& part : parts_) {
                const RoutedRows found = routed_in(part, tree, sketch, leaves[leaf], true);
                for (std::size_t i = 0; i < found.rows.size(); ++i) {
                    const std::size_t row = part.first_row + found.rows[i],
                                      cell = leaf * n_classes + labels_.labels[row];
                    const std::uint32_t times = found.times[i];
                    const bool inside = times > 0, repeated = options_.count_sense == CountSense::inbag;
                    const bool counted =
                        options_.count_sense == CountSense::all || inside == (options_.count_sense != CountSense::oob);
                    if (!counted) continue;
                    sums[cell] += repeated ? times : 1;
                    if (labels_.weighted)
                        sums[leaves.size() * n_classes + cell] += labels_.weights[row] * (repeated ? times : 1);
                }
            }
        return sums;
    }

    const CodeTable<Code>& table_;
    const ClassLabels& labels_;
    const GrowOptions& options_;
    const Target& target_;
    std::vector<std::int64_t> n_bins_;
    std::vector<Part> parts_;
    mutable std::map<std::pair<const Part*, std::size_t>, RowsInNodes> kept_;
    std::size_t n_cells_ = 0;
};

}  // namespace hedgerow
