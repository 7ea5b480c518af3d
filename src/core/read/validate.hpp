// Validation of the arrays of a forest.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/kit/parallel.hpp"
#include "core/read/read.hpp"
#include "core/read/tree.hpp"

namespace hedgerow {

// Bounds on the references of nodes. The lengths are those of the arrays. Starts (one per tree) have been checked to
// ascend from 0 to these lengths; everything else about nodes and leaves is checked here.
struct Known {
    const std::int64_t* n_bins = nullptr;   // n_features
    const std::uint8_t* nominal = nullptr;  // n_features
    std::size_t n_features = 0;
    std::int64_t n_entries = 0;  // length of entry_class, where leaves are sparse
    const std::uint8_t* borrowed =
        nullptr;  // of every leaf, if the nodes have been checked before: then only leaves are checked

    static Known from(const NamedValues& given) {
        const auto n_bins = given.array<std::int64_t>("n_bins");
        const std::size_t n_entries = given.has("entry_class") ? given.array<std::uint16_t>("entry_class").size() : 0;
        return {n_bins.data(), given.array<std::uint8_t>("nominal", n_bins.size()), n_bins.size(),
                static_cast<std::int64_t>(n_entries)};
    }
};

// Thrown with a message about the first fault.
struct Invalid : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// Checks one tree after another, reusing its memory.
class TreeCheck {
public:
    TreeCheck(const ForestView& forest, const LeafView& leaves, const Known& known)
        : forest_(forest), leaves_(leaves), known_(known) {}

    // Throws Invalid unless every row of codes reaches one leaf of this tree, with counts. Returns the number of rows
    // that it counts.
    std::uint64_t check(std::size_t number, std::int64_t expected_depth) {
        number_ = number;
        tree_ = forest_.tree(number);
        n_nodes_ = size_of(forest_.node_start);
        n_leaves_ = size_of(forest_.leaf_start);
        n_words_ = size_of(forest_.set_start);
        if (n_nodes_ > Node::max_child) fail("must have fewer than 2^28 nodes, got " + std::to_string(n_nodes_));
        if (n_leaves_ > n_nodes_) fail("must have no more leaves than nodes, got " + std::to_string(n_leaves_));
        seen_.assign(n_leaves_, Leaf::unseen);
        if (known_.borrowed != nullptr) {
            const std::uint8_t* borrowed = known_.borrowed + forest_.leaf_start[number_];
            for (std::size_t leaf = 0; leaf < n_leaves_; ++leaf)
                seen_[leaf] = borrowed[leaf] ? Leaf::borrowed : Leaf::own;
        } else {
            check_nodes(expected_depth);
        }
        std::uint64_t rows = 0;
        for (std::size_t leaf = 0; leaf < n_leaves_; ++leaf) {
            if (seen_[leaf] == Leaf::unseen)
                fail("must have a node for every leaf, got none for leaf " + std::to_string(leaf));
            const std::uint64_t held = leaves_.entry_start ? check_entries(leaf) : check_cells(leaf);
            if (seen_[leaf] == Leaf::own) rows += held;  // a borrowed leaf repeats the rows of others
        }
        return rows;
    }

private:
    enum class Leaf : std::uint8_t { unseen, own, borrowed };
    static constexpr std::uint32_t block = 1024;

    void check_nodes(std::int64_t expected_depth) {
        n_list_words_ = 0;
        level_.assign(n_nodes_, 0);
        level_[0] = 1;
        for (std::uint32_t first = 0; first < n_nodes_; first += block) check_block(first);
        const std::uint32_t deepest = *std::max_element(level_.begin(), level_.end());
        if (expected_depth != static_cast<std::int64_t>(deepest) - 1)
            fail("must be as deep as it says, got " + std::to_string(deepest - 1) + " and " +
                 std::to_string(expected_depth));
    }

    std::size_t size_of(const std::int64_t* start) const {
        return static_cast<std::size_t>(start[number_ + 1] - start[number_]);
    }

    // Splits and leaves alternate without a pattern, so a branch would be mispredicted half the time; they are
    // separated first (7 ns per node instead of 12). Splits are checked first, so that every node of the block knows
    // its parent.
    void check_block(std::uint32_t first) {
        std::uint32_t splits[block], leaves[block];
        std::size_t n_splits = 0, n_leaves = 0;
        const auto last = static_cast<std::uint32_t>(std::min<std::size_t>(n_nodes_, std::size_t{first} + block));
        for (std::uint32_t at = first; at < last; ++at) {
            const bool is_leaf = tree_.nodes[at].is_leaf(at);
            splits[n_splits] = leaves[n_leaves] = at;
            n_splits += !is_leaf;
            n_leaves += is_leaf;
        }
        for (std::size_t i = 0; i < n_splits; ++i) check_split(splits[i]);
        for (std::size_t i = 0; i < n_leaves; ++i) check_leaf(leaves[i]);
    }

    void check_leaf(std::uint32_t at) {
        if (level_[at] == 0) fail("must have a parent before it", at);
        const Node node = tree_.nodes[at];
        if (node.bits() != Node::leaf(at, node.missing_left()).bits()) fail("must be a leaf and nothing else", at);
        const std::int64_t leaf = tree_.payload[at];
        if (leaf < 0 || static_cast<std::size_t>(leaf) >= n_leaves_)
            fail("must name a leaf of the tree, got " + std::to_string(leaf), at);
        Leaf& seen = seen_[static_cast<std::size_t>(leaf)];
        if (seen != Leaf::unseen && !(seen == Leaf::borrowed && node.missing_left()))
            fail("must have a leaf of its own, got that of another node", at);
        seen = node.missing_left() ? Leaf::borrowed : Leaf::own;
    }

    void check_split(std::uint32_t at) {
        if (level_[at] == 0) fail("must have a parent before it", at);
        const Node node = tree_.nodes[at];
        if (node.feature() >= known_.n_features)
            fail("must split on a feature of the table, got " + std::to_string(node.feature()), at);
        const std::int64_t n_bins = known_.n_bins[node.feature()];
        const bool nominal = known_.nominal[node.feature()] != 0;
        std::uint32_t n_children = 2;
        switch (node.kind()) {
            case NodeKind::threshold: {
                const std::int64_t code = node.code();
                if (nominal || code < 0 || code >= n_bins)
                    fail("must split a numeric feature at one of its bins, got bin " + std::to_string(code), at);
                break;
            }
            case NodeKind::subset: {
                const auto n_categories = static_cast<std::uint32_t>(n_bins);
                const std::int64_t first = tree_.payload[at];
                if (nominal && node.code() != 0 && !((node.code() & is_list) && is_short(node.code(), n_categories)))
                    fail("must list categories only if that takes at most a quarter of the words of bits, got " +
                             std::to_string(n_listed(node.code())),
                         at);
                if (!nominal || first < 0 ||
                    static_cast<std::size_t>(first) + n_words_for(n_categories, node.code()) > n_words_)
                    fail("must send a subset of a nominal feature's categories left, got one at word " +
                             std::to_string(first),
                         at);
                if (node.code() != 0) check_list(at, tree_.set_words + first, n_categories);
                break;
            }
            case NodeKind::multiway:
                if (!nominal || node.missing_left() || node.code() != n_bins)
                    fail("must have a child for each category of a nominal feature, got " + std::to_string(node.code()),
                         at);
                n_children = node.code() + 1;
                break;
            default: fail("must be a leaf, or split by threshold, subset or category", at);
        }
        if (node.kind() != NodeKind::subset && tree_.payload[at] != 0)
            fail("must point to nothing unless it is a leaf or a subset, got " + std::to_string(tree_.payload[at]), at);
        adopt(at, node.child(), n_children);
    }

    void check_list(std::uint32_t at, const std::uint64_t* words, std::uint32_t n_categories) {
        const std::uint32_t form = tree_.nodes[at].code(), n = n_listed(form);
        // Sharing of words between many nodes would make a small file take long to check.
        n_list_words_ += n_words_for(n_categories, form);
        if (n_list_words_ > n_words_) fail("must list categories in words of its own, got those of another node", at);
        bool sound = n == 0 || listed_at(words, n - 1) < n_categories;
        for (std::uint32_t i = 1; i < n; ++i) sound &= listed_at(words, i - 1) < listed_at(words, i);
        for (std::uint32_t i = n; i < 4 * n_words_for(n_categories, form); ++i)
            sound &= listed_at(words, i) == listed_at(words, n - 1);
        if (!sound)
            fail(
                "must list categories of its feature, each once, in ascending order, and repeat only the last, got "
                "others",
                at);
    }

    void adopt(std::uint32_t at, std::uint32_t child, std::uint32_t n_children) {
        if (child <= at || child + n_children > n_nodes_)
            fail("must have its children after it and inside the tree, got node " + std::to_string(child), at);
        for (std::uint32_t i = child; i < child + n_children; ++i) {
            if (level_[i] != 0) fail("must have one parent, got a second one", i);
            level_[i] = level_[at] + 1;
        }
    }

    std::uint64_t check_cells(std::size_t leaf) const {
        const std::size_t first = (static_cast<std::size_t>(forest_.leaf_start[number_]) + leaf) * leaves_.n_classes;
        std::uint64_t rows = 0;
        for (std::size_t i = first; i < first + leaves_.n_classes; ++i) rows += leaves_.counts[i];
        check_weights(leaf, first, first + leaves_.n_classes, rows);
        return rows;
    }

    std::uint64_t check_entries(std::size_t leaf) const {
        const std::int64_t* start = leaves_.entry_start + forest_.leaf_start[number_] + leaf;
        if (start[0] < 0 || start[0] > start[1] || start[1] > known_.n_entries)
            fail("must have the entries of its leaves in ascending order, which fails at leaf " + std::to_string(leaf));
        std::uint64_t rows = 0;
        std::int64_t last = -1;
        for (std::int64_t i = start[0]; i < start[1]; ++i) {
            const std::int64_t label = leaves_.entry_class[i];
            // If labels are uncertain, a class may have a weight although it is not the most probable one of any row.
            const bool held = leaves_.counts[i] > 0 || (leaves_.weights != nullptr && leaves_.weights[i] > 0);
            if (label <= last || label >= leaves_.n_classes || !held)
                fail("must count classes of the model, each once and in ascending order, which fails at leaf " +
                     std::to_string(leaf));
            last = label;
            rows += leaves_.counts[i];
        }
        check_weights(leaf, static_cast<std::size_t>(start[0]), static_cast<std::size_t>(start[1]), rows);
        return rows;
    }

    void check_weights(std::size_t leaf, std::size_t first, std::size_t last, std::uint64_t rows) const {
        if (leaves_.weights == nullptr) return;
        double total = 0;
        bool sound = true;
        for (std::size_t i = first; i < last; ++i) sound &= leaves_.weights[i] >= 0, total += leaves_.weights[i];
        if (!sound || !std::isfinite(total))
            fail("must have finite weights >= 0, which fails at leaf " + std::to_string(leaf));
        if (rows > 0 && total == 0)
            fail("must have rows with positive weight, got none at leaf " + std::to_string(leaf));
    }

    [[noreturn, gnu::cold, gnu::noinline]] void fail(const std::string& what) const {
        throw Invalid("tree " + std::to_string(number_) + " " + what);
    }
    [[noreturn, gnu::cold, gnu::noinline]] void fail(const std::string& what, std::uint32_t at) const {
        throw Invalid("node " + std::to_string(at) + " of tree " + std::to_string(number_) + " " + what);
    }

    const ForestView& forest_;
    const LeafView& leaves_;
    const Known& known_;
    std::size_t number_ = 0, n_nodes_ = 0, n_leaves_ = 0, n_words_ = 0, n_list_words_ = 0;
    TreeView tree_;
    std::vector<std::uint32_t> level_;  // of each node: steps from the root plus one, 0 while it has no parent
    std::vector<Leaf> seen_;            // of each leaf
};

// Returns the number of rows that each tree counts, without borrowed leaves.
inline std::vector<std::uint64_t> check_forest(const ForestView& forest, const LeafView& leaves, const Known& known,
                                               const std::int64_t* depth, std::size_t n_threads, Control& control) {
    std::vector<std::uint64_t> rows(forest.n_trees);
    std::vector<TreeCheck> checks(std::max<std::size_t>(1, n_threads), TreeCheck(forest, leaves, known));
    run_tasks(forest.n_trees, n_threads, control, [&](std::size_t number, std::size_t thread) {
        rows[number] = checks[thread].check(number, depth[number]);
    });
    return rows;
}

// The same for the arrays of a forest, and the bounds on its nodes, by name. The starts of trees, leaves and words must
// have been checked before: they ascend from 0 to the lengths of the arrays.
inline std::vector<std::uint64_t> check_forest(const NamedValues& given, std::size_t n_threads, Control& control) {
    const ForestView forest = ForestView::from(given);
    Known known = Known::from(given);
    if (given.has("borrowed"))
        known.borrowed =
            given.array<std::uint8_t>("borrowed", static_cast<std::size_t>(forest.leaf_start[forest.n_trees]));
    return check_forest(forest, LeafView::from(given), known, given.array<std::int64_t>("depth", forest.n_trees),
                        n_threads, control);
}

}  // namespace hedgerow
