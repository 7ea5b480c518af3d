// Class counts of leaves.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/targets/class_labels.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

// Counts of some leaves, one after another: a dense table for few classes, only positive counts for many.
struct LeafCounts {
    static constexpr std::uint32_t dense_classes = 8;

    std::uint32_t n_classes = 0;
    bool weighted = false;
    std::uint32_t n_leaves = 0;
    std::vector<std::uint32_t> counts;       // dense: at leaf · n_classes + class; sparse: one per entry
    std::vector<std::int64_t> entry_start;   // sparse: where the entries of each leaf begin (n_leaves + 1)
    std::vector<std::uint16_t> entry_class;  // sparse: ascending within a leaf
    std::vector<double> weights;             // like counts, only if leaves have weights

    LeafCounts(const ClassLabels& labels, const LeafRules& rules)
        : n_classes(labels.n_classes), weighted(labels.weighted || (rules.bounded && labels.n_classes == 2)) {
        if (!dense()) entry_start.push_back(0);
    }

    // Leaves first, …, last - 1 of a forest, from its arrays.
    LeafCounts(const ClassLabels& labels, const LeafRules& rules, const NamedValues& arrays, std::int64_t first,
               std::int64_t last)
        : LeafCounts(labels, rules) {
        n_leaves = static_cast<std::uint32_t>(last - first);
        std::int64_t begin = first * n_classes, end = last * n_classes;
        if (!dense()) {
            const auto start = some<std::int64_t>(arrays, "entry_start", first, last + 1);
            begin = start.front(), end = start.back();
            for (std::size_t i = 1; i < start.size(); ++i) entry_start.push_back(start[i] - begin);
            entry_class = some<std::uint16_t>(arrays, "entry_class", begin, end);
        }
        counts = some<std::uint32_t>(arrays, "counts", begin, end);
        if (weighted) weights = some<double>(arrays, "weights", begin, end);
    }

    bool dense() const { return n_classes <= dense_classes; }
    void reserve(std::size_t size) { counts.reserve(size); }
    std::size_t size() const { return counts.size(); }
    std::uint32_t n_values() const { return n_classes; }
    // Appends other leaves.
    void append(const LeafCounts& more) {
        const auto before = static_cast<std::int64_t>(counts.size());
        hedgerow::append(counts, more.counts);
        hedgerow::append(weights, more.weights);
        hedgerow::append(entry_class, more.entry_class);
        for (std::size_t i = 1; i < more.entry_start.size(); ++i) entry_start.push_back(before + more.entry_start[i]);
        n_leaves += more.n_leaves;
    }
    Fields fields() && {
        Fields fields{{"counts", std::move(counts)}, {"entry_start", {}}, {"entry_class", {}}, {"weights", {}}};
        if (!dense()) fields[1].values = std::move(entry_start), fields[2].values = std::move(entry_class);
        if (weighted) fields[3].values = std::move(weights);
        return fields;
    }
};

// Collects rows leaf by leaf: a leaf is opened, takes its rows, and is closed.
class LeafCountsBuilder {
public:
    using Leaves = LeafCounts;

    LeafCountsBuilder(const ClassLabels& labels, const LeafRules& rules)
        : labels_(labels), rules_(rules), result_(labels, rules) {}

    std::uint32_t open_leaf() {
        if (result_.dense()) {
            result_.counts.resize(result_.counts.size() + result_.n_classes, 0);
            if (labels_.weighted) fixed_.resize(result_.counts.size(), 0);
        }
        return result_.n_leaves++;
    }
    void add(const CountedRow& row, const BagTimes&) { add(row.label, rules_.repeated ? row.multiplicity : 1, 0); }
    void add(const WeightedRow& row, const BagTimes& bag) {
        const std::uint32_t times = row.times(bag), counted = row.follows() ? 0 : rules_.repeated ? times : 1;
        add(row.label, counted, rules_.repeated ? row.weight : once(row.weight, times));
    }
    void add(const Taken& taken, const BagTimes& bag) {
        if (labels_.weighted) add(WeightedRow::make(labels_, taken), bag);
        else add(CountedRow::make(labels_, taken), bag);
    }
    // Adds rows that were counted elsewhere, by class: their number, and their weights in units.
    void add_counts(const std::int64_t* counts, const std::int64_t* weights) {
        for (std::uint32_t k = 0; k < result_.n_classes; ++k)
            if (counts[k] > 0) add(static_cast<std::uint16_t>(k), static_cast<std::uint32_t>(counts[k]), weights[k]);
    }
    // The weight of a row without its multiplicity. It stays positive: a balanced bag may have rounded it to one unit.
    static std::int64_t once(std::int64_t weight, std::uint32_t times) {
        return std::max<std::int64_t>(weight > 0, weight / std::max<std::int64_t>(1, times));
    }
    // Adds a count and a weight to one class.
    void add(std::uint16_t label, std::uint32_t times, std::int64_t fixed_weight) {
        if (!result_.dense()) {
            entries_.push_back({label, times, fixed_weight});
            return;
        }
        const std::size_t cell = std::size_t{result_.n_leaves - 1} * result_.n_classes + label;
        result_.counts[cell] += times;
        if (labels_.weighted) fixed_[cell] += fixed_weight;
    }
    // `lower` and `upper`: bounds of the share of the last class from monotonic constraints.
    void close_leaf(double lower, double upper) {
        if (!result_.dense()) pack_entries();
        if (rules_.bounded) share_bounds_.emplace_back(lower, upper);
    }
    LeafCounts finish() {
        result_.weights.resize(fixed_.size());
        for (std::size_t i = 0; i < fixed_.size(); ++i)
            result_.weights[i] = static_cast<double>(fixed_[i]) * labels_.weight_unit;
        if (rules_.bounded && result_.n_classes == 2) keep_shares_in_bounds();
        result_.counts.shrink_to_fit();
        return std::move(result_);
    }

private:
    struct Entry {
        std::uint16_t label;
        std::uint32_t times;
        std::int64_t fixed_weight;
    };

    // Merges the entries of the open leaf by class, ascending, without classes whose weight was rounded to 0.
    void pack_entries() {
        std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.label < b.label; });
        for (std::size_t i = 0, end = 0; i < entries_.size(); i = end) {
            Entry all{entries_[i].label, 0, 0};
            for (; end < entries_.size() && entries_[end].label == all.label; ++end)
                all.times += entries_[end].times, all.fixed_weight += entries_[end].fixed_weight;
            if (all.times == 0 && all.fixed_weight == 0) continue;
            result_.entry_class.push_back(all.label);
            result_.counts.push_back(all.times);
            if (labels_.weighted) fixed_.push_back(all.fixed_weight);
        }
        entries_.clear();
        result_.entry_start.push_back(static_cast<std::int64_t>(result_.counts.size()));
    }

    // Out-of-bag rows, which are counted too, may move the share of a leaf out of its bounds. The counts are kept, and
    // the predicted share is moved back.
    void keep_shares_in_bounds() {
        if (!labels_.weighted) result_.weights.assign(result_.counts.begin(), result_.counts.end());
        for (std::uint32_t leaf = 0; leaf < result_.n_leaves; ++leaf) {
            double* pair = result_.weights.data() + std::size_t{leaf} * 2;
            const double all = pair[0] + pair[1];
            pair[1] = std::clamp(pair[1], share_bounds_[leaf].first * all, share_bounds_[leaf].second * all);
            pair[0] = all - pair[1];
        }
    }

    const ClassLabels& labels_;
    LeafRules rules_;
    LeafCounts result_;
    std::vector<std::int64_t> fixed_;
    std::vector<Entry> entries_;  // of the open leaf, if leaves are sparse
    std::vector<std::pair<double, double>> share_bounds_;
};

}  // namespace hedgerow
