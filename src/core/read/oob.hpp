// Out-of-bag means of training rows.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/read/read.hpp"
#include "core/rows/bag.hpp"

namespace hedgerow {

// Training rows, each of which is predicted only by its out-of-bag trees.
struct OobRows {
    const std::int64_t* rows = nullptr;  // their numbers in the table
    std::size_t n_rows_in_all = 0;
    std::uint64_t seed = 0;
    double bag_mean = 0;
    const std::uint16_t* labels = nullptr;  // null if leaves have not counted the rows themselves
    Units units = {};
};

// Adds the class shares of one leaf without a row of class `own`, which is assumed to have the mean weight of its class
// in the leaf. Returns whether the leaf has rows left.
inline bool add_shares_without(const LeafView& leaves, std::int64_t leaf, std::uint16_t own, double* shares) {
    const bool dense = leaves.entry_start == nullptr;
    const std::int64_t begin = dense ? leaf * leaves.n_classes : leaves.entry_start[leaf];
    const std::int64_t end = dense ? begin + leaves.n_classes : leaves.entry_start[leaf + 1];
    const auto class_of = [&](std::int64_t i) {
        return dense ? static_cast<std::uint16_t>(i - begin) : leaves.entry_class[i];
    };
    const auto held = [&](std::int64_t i) {
        const double all = leaves.weights ? leaves.weights[i] : leaves.counts[i];
        return class_of(i) == own && leaves.counts[i] > 0 ? all * (leaves.counts[i] - 1.0) / leaves.counts[i] : all;
    };
    double total = 0;
    for (std::int64_t i = begin; i < end; ++i) total += held(i);
    if (total <= 0) return false;
    for (std::int64_t i = begin; i < end; ++i) shares[class_of(i)] += held(i) / total;
    return true;
}

// probability[row · n_classes + class] = mean of the class shares of the leaves that the row reaches in its out-of-bag
// trees, without the row itself; uniform if all of these leaves are empty, NaN without such trees.
template <class Code>
void average_oob(const ForestView& forest, const LeafView& leaves, const OobRows& outside, const Code* by_column,
                 std::size_t n_rows, std::size_t n_features, std::size_t n_threads, double* probability,
                 Control& control) {
    const std::uint32_t n_classes = leaves.n_classes;
    std::vector<Bag> bags;
    bags.reserve(forest.n_trees);
    for (std::size_t number = 0; number < forest.n_trees; ++number)
        bags.emplace_back(outside.seed, number, outside.n_rows_in_all, outside.bag_mean, outside.units);
    for_row_blocks(forest, by_column, n_rows, n_features, n_threads, control,
                   [&](std::size_t first, std::size_t rows, const RowView<Code>& view, std::size_t) {
        std::vector<std::uint32_t> predicted, at(rows), heard(rows);
        std::vector<bool> known(rows);
        double* block = probability + first * n_classes;
        std::fill(block, block + rows * n_classes, 0.0);
        for (std::size_t number = 0; number < forest.n_trees; ++number) {
            const TreeView tree = forest.tree(number);
            const Bag& bag = bags[number];
            predicted.clear();
            for (std::size_t i = 0; i < rows; ++i)
                if (!bag.holds(static_cast<std::size_t>(outside.rows[first + i])))
                    predicted.push_back(static_cast<std::uint32_t>(i));
            route_rows(tree, view, predicted.data(), predicted.size(), at.data());
            for (std::size_t j = 0; j < predicted.size(); ++j) {
                const std::size_t i = predicted[j];
                const std::int64_t leaf = forest.leaf_start[number] + tree.payload[at[j]];
                double* shares = block + i * n_classes;
                known[i] = true;
                heard[i] += outside.labels ? add_shares_without(leaves, leaf, outside.labels[first + i], shares)
                                           : add_shares(leaves, leaf, shares);
            }
        }
        for (std::size_t i = 0; i < rows; ++i)
            for (std::uint32_t k = 0; k < n_classes; ++k) {
                double& share = block[i * n_classes + k];
                share = heard[i]   ? share / heard[i]
                        : known[i] ? 1.0 / n_classes
                                   : std::numeric_limits<double>::quiet_NaN();
            }
    });
}

}  // namespace hedgerow
