// Multi-output targets.
//
// Each output has its own target (ClassPair, Moments, …) behind one interface, so there is one grower for multi-output
// rows of any type. The quality of a split is the sum of its gains for the outputs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/kit/attributes.hpp"
#include "core/kit/named_values.hpp"
#include "core/rows/bag.hpp"
#include "core/targets/sources.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

class MultiOutputBuilder;

// The source of each output. A row has the same weight in all outputs.
struct MultiOutput {
    static constexpr const char* kind = "several";
    using LeafBuilder = MultiOutputBuilder;
    using Output = Sources::Variant;
    static constexpr bool leaves_add_up = false;

    std::vector<Output> outputs;
    std::size_t n_entries = 0;

    // The values of output o are named "o.labels", "o.kind" and so on.
    static MultiOutput from(const NamedValues& values) {
        MultiOutput source;
        for (std::size_t number = 0; number < values.number<std::size_t>("n_outputs"); ++number)
            with_source_among(Sources{}, of_output(values, number),
                              [&](const auto& output) { source.outputs.emplace_back(output); });
        if (source.outputs.empty()) throw std::invalid_argument("n_outputs must be at least 1");
        source.n_entries = std::visit([](const auto& output) { return output.n_entries; }, source.outputs[0]);
        return source;
    }
    static NamedValues of_output(const NamedValues& values, std::size_t number) {
        return values.below(std::to_string(number) + ".");
    }

    void check(std::size_t n_rows) const {
        for (const Output& each : outputs)
            std::visit([&](const auto& output) {
                if (!output.is_plain())
                    throw std::invalid_argument("outputs must have one label per row, without balanced bags");
                output.check(n_rows);
            }, each);
    }
    // The weight of a row, a whole number of units.
    std::int64_t row_amount(std::size_t row) const {
        return std::visit([&](const auto& output) { return output.row_amount(row); }, outputs[0]);
    }
    bool rows_alike(std::size_t one, std::size_t other) const {
        return std::all_of(outputs.begin(), outputs.end(), [&](const Output& each) {
            return std::visit([&](const auto& output) { return output.rows_alike(one, other); }, each);
        });
    }
};

// A row inside the grower: offset of its codes, its number in the table, its multiplicity, and its weight times that.
struct MultiOutputRow {
    std::uint32_t offset, row;
    std::uint64_t multiplicity;
    std::int64_t weight;

    static MultiOutputRow make(const MultiOutput& source, const Taken& taken) {
        return {taken.row, taken.row, taken.times, source.row_amount(taken.row) * std::max(1U, taken.times)};
    }
    static MultiOutputRow make_inside(const MultiOutput& source, const Taken& taken) { return make(source, taken); }
    static constexpr const std::uint32_t* rows_of(const MultiOutput&) { return nullptr; }
    static bool alike(const MultiOutput& source, const MultiOutputRow& one, const MultiOutputRow& other) {
        return source.rows_alike(one.row, other.row);
    }
    static void balance(const MultiOutput&, std::vector<MultiOutputRow>&, std::vector<MultiOutputRow>&) {}
    std::int64_t amount() const { return weight; }
    bool follows() const { return false; }
    std::uint32_t times(const BagTimes&) const { return static_cast<std::uint32_t>(multiplicity); }
    Taken taken() const { return {row, row, static_cast<std::uint32_t>(multiplicity), false}; }
};
static_assert(sizeof(MultiOutputRow) == 24);

// ---- leaves ------------------------------------------------------------------------------------------------

template <class Source>
using LeafBuilderOf = typename Source::LeafBuilder;
template <class Source>
using LeavesOf = typename Source::LeafBuilder::Leaves;

// Leaves of every output.
struct MultiOutputLeaves {
    using Output = Sources::Map<LeavesOf>::Variant;
    std::vector<Output> outputs;

    MultiOutputLeaves() = default;
    MultiOutputLeaves(const MultiOutput& source, const LeafRules& rules) {
        for (const MultiOutput::Output& each : source.outputs)
            std::visit([&]<class Source>(const Source& output) {
                outputs.emplace_back(std::in_place_type<LeavesOf<Source>>, output, rules);
            }, each);
    }
    std::size_t size() const {
        return std::visit([](const auto& leaves) { return leaves.size(); }, outputs[0]);
    }
    void reserve(std::size_t size) {
        for (Output& output : outputs) std::visit([&](auto& leaves) { leaves.reserve(size); }, output);
    }
    void append(const MultiOutputLeaves& more) {
        for (std::size_t i = 0; i < outputs.size(); ++i)
            std::visit([&]<class Leaves>(Leaves& leaves) { leaves.append(std::get<Leaves>(more.outputs[i])); },
                       outputs[i]);
    }
    // The names of the arrays of an output are prefixed by its number; "outputs" has the number of classes of each.
    Fields fields() && {
        std::vector<std::int64_t> n_values;
        n_values.reserve(outputs.size());
        for (const Output& output : outputs)
            n_values.push_back(std::visit([](const auto& leaves) { return leaves.n_values(); }, output));
        Fields fields{{"outputs", std::move(n_values)}};
        for (std::size_t i = 0; i < outputs.size(); ++i)
            for (Field& field : std::visit([](auto& leaves) { return std::move(leaves).fields(); }, outputs[i]))
                fields.push_back({std::to_string(i) + "." + field.name, std::move(field.values)});
        return fields;
    }
};

class MultiOutputBuilder {
public:
    using Leaves = MultiOutputLeaves;

    MultiOutputBuilder(const MultiOutput& source, const LeafRules& rules) {
        for (const MultiOutput::Output& each : source.outputs)
            std::visit([&]<class Source>(const Source& output) {
                builders_.emplace_back(std::in_place_type<LeafBuilderOf<Source>>, output, rules);
            }, each);
    }
    std::uint32_t open_leaf() {
        std::uint32_t number = 0;
        for (Builder& each : builders_) number = std::visit([](auto& builder) { return builder.open_leaf(); }, each);
        return number;
    }
    void add(const MultiOutputRow& row, const BagTimes& bag) {
        for (Builder& each : builders_) std::visit([&](auto& builder) { builder.add(row.taken(), bag); }, each);
    }
    void close_leaf(double lower, double upper) {
        for (Builder& each : builders_) std::visit([&](auto& builder) { builder.close_leaf(lower, upper); }, each);
    }
    MultiOutputLeaves finish() {
        MultiOutputLeaves leaves;
        for (Builder& each : builders_)
            std::visit([&](auto& builder) { leaves.outputs.emplace_back(builder.finish()); }, each);
        return leaves;
    }

private:
    using Builder = Sources::Map<LeafBuilderOf>::Variant;
    std::vector<Builder> builders_;
};

// ---- splits -----------------------------------------------------------------------------------------------

// The target of one output, of any type. A row is named by its position in the node.
class OutputTarget {
public:
    virtual ~OutputTarget() = default;
    virtual std::unique_ptr<OutputTarget> copy() const = 0;
    virtual void enter_node(const MultiOutputRow* rows, std::uint32_t n_rows) = 0;
    virtual void leave_node() = 0;
    virtual void begin_scan() = 0;
    virtual void end_scan() = 0;
    virtual void move(std::uint32_t position) = 0;
    // The gain of the split whose left side has been moved, and an upper bound for all splits of the node.
    virtual double gain() const = 0;
    virtual double perfect_gain() const = 0;
    // Ways to order the categories of a feature, and the place of some rows in such an order.
    virtual std::vector<std::uint32_t> orders() = 0;
    virtual double place(const std::vector<std::uint32_t>& positions, std::uint32_t order) = 0;
};

template <class Target>
class OutputOf final : public OutputTarget {
public:
    OutputOf(const Target& target, const typename Target::Source& source) : target_(target), source_(source) {}

    HEDGEROW_COLD std::unique_ptr<OutputTarget> copy() const override {
        return std::make_unique<OutputOf>(target_, source_);
    }
    void enter_node(const MultiOutputRow* rows, std::uint32_t n_rows) override {
        rows_.clear();
        for (std::uint32_t i = 0; i < n_rows; ++i) rows_.push_back(Row::make(source_, rows[i].taken()));
        target_.enter_node(rows_.data(), n_rows);
    }
    void leave_node() override { target_.leave_node(rows_.data(), n_rows()); }
    void begin_scan() override { target_.begin_scan(); }
    void end_scan() override { target_.end_scan(rows_.data(), n_rows()); }
    void move(std::uint32_t position) override { target_.move_row(rows_[position]); }
    double gain() const override { return target_.gain_from(target_.score()); }
    double perfect_gain() const override { return target_.gain_from(target_.perfect_score()); }
    HEDGEROW_COLD std::vector<std::uint32_t> orders() override {
        std::vector<std::uint32_t> found;
        target_.ordering_classes([&](std::uint32_t label) { found.push_back(label); });
        return found;
    }
    double place(const std::vector<std::uint32_t>& positions, std::uint32_t order) override {
        typename Target::Bin bin{};
        for (const std::uint32_t position : positions) target_.add(bin, rows_[position], position);
        return target_.share(bin, order);
    }

private:
    using Row = typename Target::Row;
    std::uint32_t n_rows() const { return static_cast<std::uint32_t>(rows_.size()); }
    Target target_;
    typename Target::Source source_;
    std::vector<Row> rows_;
};

// The target of all outputs; its bins are lists of rows.
class MultiOutputTarget : public ListBins<MultiOutputRow> {
public:
    using Source = MultiOutput;
    using Bins = ListBins<MultiOutputRow>;
    static constexpr bool adds_up = false;  // all rows must be on one machine

    explicit MultiOutputTarget(std::vector<std::unique_ptr<OutputTarget>> outputs) : outputs_(std::move(outputs)) {}
    MultiOutputTarget(const MultiOutputTarget& other) : ListBins<MultiOutputRow>(other) {
        for (const auto& output : other.outputs_) outputs_.push_back(output->copy());
    }

    double share(const Bin& bin, std::uint32_t order) {
        positions_.clear();
        for (std::uint32_t at = bin.head_plus_one; at != 0; at = next_plus_one_[at - 1]) positions_.push_back(at - 1);
        return outputs_[orders_[order].first]->place(positions_, orders_[order].second);
    }

    void enter_node(const Row* rows, std::uint32_t n_rows) {
        rows_ = rows;
        if (next_plus_one_.size() < n_rows) next_plus_one_.resize(n_rows);
        node_amount_ = 0;
        for (std::uint32_t i = 0; i < n_rows; ++i) node_amount_ += rows[i].weight;
        for (const auto& output : outputs_) output->enter_node(rows, n_rows);
    }
    void leave_node(const Row*, std::uint32_t) {
        for (const auto& output : outputs_) output->leave_node();
    }
    std::int64_t node_amount() const { return node_amount_; }
    // Categories are ordered for one output after the other, in all ways that its target would try.
    template <class Visit>
    void ordering_classes(Visit&& visit) {
        orders_.clear();
        for (std::size_t i = 0; i < outputs_.size(); ++i)
            for (const std::uint32_t order : outputs_[i]->orders()) orders_.emplace_back(i, order);
        for (std::uint32_t order = 0; order < orders_.size(); ++order) visit(order);
    }

    void begin_scan() {
        left_amount_ = 0;
        for (const auto& output : outputs_) output->begin_scan();
    }
    void end_scan(const Row*, std::uint32_t) {
        for (const auto& output : outputs_) output->end_scan();
    }
    void move(const Bin& bin) {
        for (std::uint32_t at = bin.head_plus_one; at != 0; at = next_plus_one_[at - 1]) move_row(rows_[at - 1]);
    }
    void move_row(const Row& row) {
        left_amount_ += row.weight;
        for (const auto& output : outputs_) output->move(static_cast<std::uint32_t>(&row - rows_));
    }
    double score() const {
        double sum = 0;
        for (const auto& output : outputs_) sum += output->gain();
        return sum;
    }
    // The mean over the outputs, like the impurity of a node.
    double gain_from(double score) const { return score / static_cast<double>(outputs_.size()); }
    double perfect_score() const {
        double sum = 0;
        for (const auto& output : outputs_) sum += output->perfect_gain();
        return sum;
    }
    static bool needs_gain() { return false; }
    std::int64_t left_amount() const { return left_amount_; }
    // Monotonic constraints need a single output; there are none here, so the share does not matter.
    static double left_share() { return 0.5; }
    static double right_share() { return 0.5; }
    static double share_of(const Row*, std::uint32_t) { return 0.5; }

private:
    std::vector<std::unique_ptr<OutputTarget>> outputs_;
    std::vector<std::pair<std::size_t, std::uint32_t>> orders_;
    std::vector<std::uint32_t> positions_;
    const Row* rows_ = nullptr;
    std::int64_t node_amount_ = 0, left_amount_ = 0;
};

// The target of one output: that of a table with this output alone.
template <class Source>
HEDGEROW_NOINLINE std::unique_ptr<OutputTarget> output_for(const Source& source, const NamedValues& given,
                                                           std::size_t n_rows) {
    return with_criterion(source, given, n_rows,
                          [&]<class Target>(const Target& target, const Source&) -> std::unique_ptr<OutputTarget> {
        constexpr bool whole_side = requires { target.by_ratio(); };  // always needs a gain
        if (target.needs_gain()) throw std::invalid_argument("criterion must not need a gain for multi-output y");
        if constexpr (!whole_side) return std::make_unique<OutputOf<Target>>(target, source);
        else return nullptr;
    });
}

// Calls `visit` with the target of all outputs, each with its named criterion.
template <class Visit>
auto with_criterion(const MultiOutput& source, const NamedValues& given, std::size_t n_rows, Visit&& visit) {
    std::vector<std::unique_ptr<OutputTarget>> outputs;
    for (std::size_t number = 0; number < source.outputs.size(); ++number) {
        const NamedValues own = MultiOutput::of_output(given, number);
        outputs.push_back(
            std::visit([&](const auto& output) { return output_for(output, own, n_rows); }, source.outputs[number]));
    }
    return visit(MultiOutputTarget(std::move(outputs)), source);
}

// Calls `visit` with the source of a named target, of one output or of several.
template <class Visit>
auto with_source(const NamedValues& values, Visit&& visit) {
    return with_source_among(Sources::With<MultiOutput>{}, values, visit);
}

}  // namespace hedgerow
