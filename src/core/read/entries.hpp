// Class counts of every node of a tree of many classes, without a table of all nodes and classes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/read/walk.hpp"

namespace hedgerow {

// The classes in each leaf, ascending, and their amounts: the entries from start[leaf] to start[leaf + 1].
struct LeafEntries {
    std::span<const std::int64_t> start;
    std::span<const std::uint16_t> label;
    std::span<const double> amount;
};

// Goes from the last node of a tree to its root. Children come after their parents, and the entries of a node are moved
// to its parent, so that all entries in memory belong to different leaves.
class NodeEntries {
public:
    struct Entry {
        std::uint16_t label;
        double amount;
    };
    // Some nodes, the last one first: where the entries of each begin, their classes, and their amounts.
    struct Block {
        std::vector<std::int64_t> start{0};
        std::vector<std::uint16_t> labels;
        std::vector<double> amounts;
    };

    NodeEntries(const TreeView& tree, std::size_t n_nodes, const LeafEntries& leaves)
        : tree_(tree), leaves_(leaves), left_(n_nodes), held_(n_nodes) {}

    // Returns the next nodes, until they have at least `most` amounts or the root is reached; no nodes after the root.
    Block next(std::size_t most) {
        Block block;
        while (left_ > 0 && block.amounts.size() < most) {
            const auto at = static_cast<std::uint32_t>(--left_);
            held_[at] = is_leaf(tree_, at) ? of_leaf(leaf_number(tree_, at)) : of_children(at);
            for (const Entry& entry : held_[at]) {
                block.labels.push_back(entry.label);
                block.amounts.push_back(entry.amount);
            }
            block.start.push_back(static_cast<std::int64_t>(block.amounts.size()));
        }
        return block;
    }

private:
    std::vector<Entry> of_leaf(std::int32_t leaf) const {
        std::vector<Entry> entries;
        for (auto i = static_cast<std::size_t>(leaves_.start[leaf]);
             i < static_cast<std::size_t>(leaves_.start[leaf + 1]); ++i)
            entries.push_back({leaves_.label[i], leaves_.amount[i]});
        return entries;
    }

    // Amounts of a class are added in the order of the children, as `sum_up` adds them.
    std::vector<Entry> of_children(std::uint32_t at) {
        const auto before = [](const Entry& one, const Entry& other) { return one.label < other.label; };
        std::vector<Entry> all;
        for (std::uint32_t child = first_child(tree_, at); child < first_child(tree_, at) + n_children(tree_, at);
             ++child) {
            std::vector<Entry> given = std::move(held_[child]);
            held_[child] = {};
            if (is_borrowed(tree_, child)) continue;
            const auto middle = static_cast<std::ptrdiff_t>(all.size());
            all.insert(all.end(), given.begin(), given.end());
            if (n_children(tree_, at) == 2) std::inplace_merge(all.begin(), all.begin() + middle, all.end(), before);
        }
        if (n_children(tree_, at) > 2) std::stable_sort(all.begin(), all.end(), before);
        std::size_t n_kept = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (n_kept > 0 && all[n_kept - 1].label == all[i].label) all[n_kept - 1].amount += all[i].amount;
            else all[n_kept++] = all[i];
        }
        all.resize(n_kept);
        return all;
    }

    TreeView tree_;
    LeafEntries leaves_;
    std::size_t left_;
    std::vector<std::vector<Entry>> held_;
};

}  // namespace hedgerow
