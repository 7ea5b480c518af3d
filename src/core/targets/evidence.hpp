// Evidence: the rows that fall into each leaf -> counts by class.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace hedgerow {

// Which rows a leaf counts.
enum class CountSense : int { all = 0, inbag = 1, distinct = 2, oob = 3 };

// Counts of the leaves of one tree. Few classes: a dense table. Many classes: only those that occur.
struct LeafCounts {
    static constexpr std::uint32_t dense_classes = 8;

    std::uint32_t n_classes = 0;
    std::uint32_t n_leaves = 0;
    std::vector<std::uint32_t> counts;       // dense: leaf · n_classes + class; sparse: one per entry
    std::vector<std::uint32_t> entry_start;  // sparse: where a leaf's entries begin (n_leaves + 1)
    std::vector<std::uint16_t> entry_class;  // sparse: ascending within a leaf
    std::vector<double> weights;             // parallel to counts, only where rows have weights

    bool dense() const { return n_classes <= dense_classes; }
};

// Collects rows leaf by leaf while the tree grows, then the rows that are routed afterwards.
class EvidenceBuilder {
public:
    EvidenceBuilder(std::uint32_t n_classes, bool weighted) : weighted_(weighted) { result_.n_classes = n_classes; }

    std::uint32_t new_leaf() {
        if (result_.dense()) {
            result_.counts.resize(result_.counts.size() + result_.n_classes, 0);
            if (weighted_) fixed_.resize(result_.counts.size(), 0);
        }
        return result_.n_leaves++;
    }
    void add(std::uint32_t leaf, std::uint16_t label, std::uint32_t times, std::int64_t fixed_weight) {
        if (result_.dense()) {
            const std::size_t cell = std::size_t{leaf} * result_.n_classes + label;
            result_.counts[cell] += times;
            if (weighted_) fixed_[cell] += fixed_weight;
        } else {
            entries_.push_back({leaf, label, times, fixed_weight});
        }
    }
    LeafCounts finish(double weight_unit) {
        if (!result_.dense()) pack_entries();
        result_.weights.resize(fixed_.size());
        for (std::size_t i = 0; i < fixed_.size(); ++i)
            result_.weights[i] = static_cast<double>(fixed_[i]) * weight_unit;
        result_.counts.shrink_to_fit();
        return std::move(result_);
    }

private:
    struct Entry {
        std::uint32_t leaf;
        std::uint16_t label;
        std::uint32_t times;
        std::int64_t fixed_weight;
    };

    // Entries in any order -> one entry per leaf and class, by leaf, then class.
    void pack_entries() {
        std::vector<std::uint32_t> start(result_.n_leaves + 1, 0);
        for (const Entry& entry : entries_) ++start[entry.leaf + 1];
        for (std::uint32_t leaf = 0; leaf < result_.n_leaves; ++leaf) start[leaf + 1] += start[leaf];
        std::vector<Entry> grouped(entries_.size());
        std::vector<std::uint32_t> fill(start.begin(), start.end() - 1);
        for (const Entry& entry : entries_) grouped[fill[entry.leaf]++] = entry;
        entries_ = {};
        result_.entry_start.push_back(0);
        for (std::uint32_t leaf = 0; leaf < result_.n_leaves; ++leaf) {
            std::sort(grouped.begin() + start[leaf], grouped.begin() + start[leaf + 1],
                      [](const Entry& a, const Entry& b) { return a.label < b.label; });
            for (std::uint32_t i = start[leaf]; i < start[leaf + 1]; ++i) {
                const bool same = i > start[leaf] && grouped[i].label == grouped[i - 1].label;
                if (!same) {
                    result_.entry_class.push_back(grouped[i].label);
                    result_.counts.push_back(0);
                    if (weighted_) fixed_.push_back(0);
                }
                result_.counts.back() += grouped[i].times;
                if (weighted_) fixed_.back() += grouped[i].fixed_weight;
            }
            result_.entry_start.push_back(static_cast<std::uint32_t>(result_.counts.size()));
        }
    }

    bool weighted_;
    LeafCounts result_;
    std::vector<std::int64_t> fixed_;
    std::vector<Entry> entries_;
};

}  // namespace hedgerow
