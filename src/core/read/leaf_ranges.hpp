// Leaf ranges: marks of the values in leaves, and the distances of rows from them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"
#include "core/read/read.hpp"
#include "core/read/walk.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/marks.hpp"

namespace hedgerow {

// The bags of trees.
struct Bags {
    std::uint64_t seed = 0;
    double mean = 0;
    std::size_t n_rows = 0, first_tree = 0;
    Units units = {};

    Bag of(std::size_t tree) const { return Bag(seed, first_tree + tree, n_rows, mean, units); }
};

// The rows first, …, first + n - 1 of a table, copied to by_row.
template <class Code>
RowView<Code> lay_out(const CodeColumns<Code>& codes, std::size_t first, std::size_t n, std::vector<Code>& by_row) {
    lay_out_rows(codes.codes, codes.n_rows, codes.n_features, first, n, by_row);
    const bool has_missing = std::find(by_row.begin(), by_row.end(), missing_code<Code>) != by_row.end();
    return {by_row.data(), codes.n_features, has_missing, codes.codes + first, codes.n_rows};
}

// The in-bag rows among first, …, first + n - 1, numbered from 0.
inline void list_rows(const Bag& bag, std::size_t first, std::size_t n, std::vector<std::uint32_t>& rows) {
    rows.resize(n);
    std::size_t n_held = 0;
    for (std::size_t i = 0; i < n; ++i) {
        rows[n_held] = static_cast<std::uint32_t>(i);
        n_held += bag.holds(first + i);
    }
    rows.resize(n_held);
}

// The indices of the training rows that are out of bag.
inline void list_oob(const Bag& bag, std::span<const std::int64_t> training, std::vector<std::uint32_t>& places) {
    places.resize(training.size());
    std::size_t n_outside = 0;
    for (std::size_t i = 0; i < training.size(); ++i) {
        places[n_outside] = static_cast<std::uint32_t>(i);
        n_outside += !bag.holds(static_cast<std::size_t>(training[i]));
    }
    places.resize(n_outside);
}

// Marks of some rows of one tree, joined with those of its leaves.
template <class Code>
class MarkedTree {
public:
    // rows: their numbers in the view; leaves: the leaf of each; marks (leaves, m): those of the tree.
    MarkedTree(const RowView<Code>& view, std::span<const std::uint32_t> rows, std::span<const std::uint32_t> leaves,
               Table<Mark> marks)
        : view_(view), rows_(rows), leaves_(leaves), marks_(marks) {}

    // A column of the marks.
    void add_nominal(std::size_t column, std::size_t feature) {
        for (std::size_t i = 0; i < rows_.size(); ++i)
            marks_.data[leaves_[i] * marks_.n_columns + column] |= category_mark(view_.row(rows_[i])[feature]);
    }
    // At most as many columns of the marks as `Extents` has lanes, and the features in them.
    void add_numeric(std::span<const std::size_t> columns, std::span<const std::int32_t> features,
                     std::span<const std::int64_t> n_bins) {
        constexpr std::size_t lanes = Extents<Code>::lanes, together = 512;
        std::vector<Extents<Code>> extents(marks_.n_rows);
        Code block[together * lanes] = {};  // lanes without a column stay 0
        std::size_t at[lanes] = {};
        for (std::size_t lane = 0; lane < columns.size(); ++lane)
            at[lane] = static_cast<std::size_t>(features[columns[lane]]);
        for (std::size_t first = 0; first < rows_.size(); first += together) {
            const std::size_t n = std::min(together, rows_.size() - first);
            for (std::size_t i = 0; i < n; ++i) {
                const Code* row = view_.row(rows_[first + i]);
                for (std::size_t lane = 0; lane < columns.size(); ++lane) block[i * lanes + lane] = row[at[lane]];
            }
            for (std::size_t i = 0; i < n; ++i) extents[leaves_[first + i]].add(block + i * lanes);
        }
        for (std::size_t lane = 0; lane < columns.size(); ++lane) {
            const Levels levels(static_cast<std::uint32_t>(n_bins[at[lane]]));
            for (std::size_t leaf = 0; leaf < marks_.n_rows; ++leaf) {
                Mark& mark = marks_.data[leaf * marks_.n_columns + columns[lane]];
                mark = joined(mark, extents[leaf].mark(lane, levels), false);
            }
        }
    }

private:
    RowView<Code> view_;
    std::span<const std::uint32_t> rows_, leaves_;
    Table<Mark> marks_;
};

// (leaves, m): the marks of the in-bag rows, for the features (trees, m) drawn for each of the first trees.
template <class Code>
OwnTable<Mark> find_marks(const ForestView& forest, const CodeColumns<Code>& codes, Table<const std::int32_t> drawn,
                          std::span<const std::int64_t> n_bins, std::span<const std::uint8_t> nominal, const Bags& bags,
                          std::size_t n_threads, Control& control) {
    const std::size_t n_drawn = drawn.n_columns, n_features = codes.n_features;
    OwnTable<Mark> marks(static_cast<std::size_t>(forest.leaf_start[drawn.n_rows]), n_drawn);
    std::fill_n(marks.data.get(), marks.n_rows * n_drawn, Mark{0});
    const std::size_t chunk = std::max<std::size_t>(1, (std::size_t{1} << 26) / (n_features * sizeof(Code)));
    std::vector<Code> by_row;
    for (std::size_t first = 0; first < codes.n_rows; first += chunk) {
        const std::size_t n_rows = std::min(chunk, codes.n_rows - first);
        const RowView<Code> view = lay_out(codes, first, n_rows, by_row);
        run_tasks(drawn.n_rows, n_threads, control, [&](std::size_t number, std::size_t) {
            const TreeView tree = forest.tree(number);
            std::vector<std::uint32_t> inside;
            list_rows(bags.of(number), first, n_rows, inside);
            std::vector<std::uint32_t> leaf(inside.size());
            route_rows(tree, view, inside.data(), inside.size(), leaf.data());
            for (std::uint32_t& at : leaf) at = static_cast<std::uint32_t>(tree.payload[at]);
            const auto first_leaf = static_cast<std::size_t>(forest.leaf_start[number]);
            const auto last_leaf = static_cast<std::size_t>(forest.leaf_start[number + 1]);
            MarkedTree<Code> marked(view, inside, leaf,
                                    {marks.data.get() + first_leaf * n_drawn, last_leaf - first_leaf, n_drawn});
            const std::span<const std::int32_t> features(drawn.data + number * n_drawn, n_drawn);
            std::vector<std::size_t> numeric;
            for (std::size_t column = 0; column < n_drawn; ++column)
                if (nominal[static_cast<std::size_t>(features[column])])
                    marked.add_nominal(column, static_cast<std::size_t>(features[column]));
                else numeric.push_back(column);
            constexpr std::size_t lanes = Extents<Code>::lanes;
            for (std::size_t at = 0; at < numeric.size(); at += lanes)
                marked.add_numeric(std::span(numeric).subspan(at, std::min(lanes, numeric.size() - at)), features,
                                   n_bins);
        });
    }
    return marks;
}

// Scales of distances in each of u features.
struct Rulers {
    Table<const double> low,
        high;  // (u, levels): the smallest and the largest value of each level of a numeric feature; finite
    std::span<const double> spread;  // (u,): its standard deviation
    std::span<const double>
        absent;  // distance of each category from a leaf without it, one categorical feature after the other
    std::span<const std::int64_t> start;  // (u + 1,): where the categories of each feature begin
    std::span<const double> missing;      // (u,): distance of a missing value from a leaf without one
    std::span<const double> present;      // (u,): distance of a value from a leaf with missing values only
    double far = 0;                       // the largest distance

    static constexpr double smallest_spread = 1e-300;

    // A cell is a finite number, or the number of a category, below 0 for a new one; NaN is missing.
    double away(std::size_t place, bool nominal, Mark mark, double cell) const {
        if (!nominal && (mark & mark_present) && cell == cell) {
            const double least = low.data[place * low.n_columns + low_level(mark)],
                         most = high.data[place * high.n_columns + high_level(mark)];
            const double beyond = std::max(least - cell, cell - most);
            return beyond > 0 ? std::min(beyond / std::max(spread[place], smallest_spread), far) : 0;
        }
        if (mark == 0) return 0;  // a leaf without rows has no range
        if (std::isnan(cell)) return mark & mark_missing ? 0 : missing[place];
        return nominal ? from_categories(place, mark, cell) : present[place];
    }

private:
    double from_categories(std::size_t place, Mark mark, double cell) const {
        if (cell < 0) return far;
        const auto category = static_cast<std::size_t>(cell);
        const double away = absent[static_cast<std::size_t>(start[place]) + category];
        return away < far && (mark >> (category % mark_categories) & 1) ? 0
                                                                        : away;  // a bit may come from another category
    }
};

// Leaf ranges, their features, and the scales of distances.
struct LeafRanges {
    Table<const std::int32_t>
        places;  // (trees, m): the features of each tree, as indices among the u drawn by some tree
    std::span<const std::int32_t> features;  // (u,): the features at these places
    std::span<const std::uint8_t> nominal;   // (u,)
    std::span<const std::int64_t> n_bins;    // (u,)
    Table<const Mark> marks;                 // (leaves, m)
    Rulers rulers;
};

// Scores of rows (n,): over all features, in the farthest one, and its index; NaN without a tree.
struct Scores {
    std::vector<double> total, single;
    std::vector<std::int64_t> place;

    explicit Scores(std::size_t n_rows) : total(n_rows), single(n_rows), place(n_rows) {}
};

// Distances of one row, summed over trees.
class Distances {
public:
    explicit Distances(std::size_t n_places) : sums_(n_places), numbers_(n_places) {}

    std::size_t n_trees_measured() const { return n_trees_; }
    void clear() {
        total_ = 0, n_trees_ = 0;
        std::fill(sums_.begin(), sums_.end(), 0.0);
        std::fill(numbers_.begin(), numbers_.end(), 0u);
    }
    // Adds the marks of the leaf that the row reaches in a tree, for the features at these places; `values` (u,) are
    // those of the row.
    void add(const Mark* marks, std::span<const std::int32_t> places, const double* values, const LeafRanges& ranges) {
        double total = 0;
        for (std::size_t d = 0; d < places.size(); ++d) {
            const auto place = static_cast<std::size_t>(places[d]);
            const double away = ranges.rulers.away(place, ranges.nominal[place], marks[d], values[place]);
            total += std::min(away, 1.0);
            sums_[place] += away;
            ++numbers_[place];
        }
        total_ += total;
        ++n_trees_;
    }
    void add(const Distances& other) {
        total_ += other.total_, n_trees_ += other.n_trees_;
        for (std::size_t place = 0; place < sums_.size(); ++place)
            sums_[place] += other.sums_[place], numbers_[place] += other.numbers_[place];
    }
    void write(Scores& scores, std::size_t to) const {
        double single = std::nan("");
        std::size_t farthest = 0;
        for (std::size_t place = 0; place < sums_.size(); ++place) {
            if (numbers_[place] == 0) continue;
            const double mean = sums_[place] / numbers_[place];
            if (mean > single || std::isnan(single)) single = mean, farthest = place;
        }
        scores.total[to] = total_ / static_cast<double>(n_trees_);
        scores.single[to] = single;
        scores.place[to] = static_cast<std::int64_t>(farthest);
    }

private:
    double total_ = 0;
    std::size_t n_trees_ = 0;
    std::vector<double> sums_;
    std::vector<std::uint32_t> numbers_;
};

// Distances of rows from the leaves of all trees; for training rows, of the out-of-bag trees, and of every second one
// of these.
struct Novelty {
    Scores all, half;
    std::vector<double> n_trees_measured;
};

// codes and cells (u, n) of the same rows; training: their numbers in the training table, or empty for other rows.
template <class Code>
Novelty measure_rows(const ForestView& forest, const LeafRanges& ranges, const CodeColumns<Code>& codes,
                     Table<const double> cells, std::span<const std::int64_t> training, const Bags& bags,
                     std::size_t n_threads, Control& control) {
    const std::size_t n_places = cells.n_rows, n_trees = ranges.places.n_rows, n_drawn = ranges.marks.n_columns;
    constexpr std::size_t block = 512;
    const bool out_of_bag = !training.empty();
    std::vector<Bag> bag_of;
    for (std::size_t number = 0; out_of_bag && number < n_trees; ++number) bag_of.push_back(bags.of(number));
    Novelty found{Scores(codes.n_rows), Scores(out_of_bag ? codes.n_rows : 0), std::vector<double>(codes.n_rows)};
    run_tasks((codes.n_rows + block - 1) / block, n_threads, control, [&](std::size_t task, std::size_t) {
        const std::size_t first = task * block, n_rows = std::min(block, codes.n_rows - first);
        std::vector<Code> by_row;
        const RowView<Code> view = lay_out(codes, first, n_rows, by_row);
        std::vector<double> values(n_rows * n_places);
        transpose_codes(cells.data + first, n_rows, n_places, cells.n_columns, values.data(), n_places);
        constexpr double largest = std::numeric_limits<double>::max();
        for (double& value : values) value = std::clamp(value, -largest, largest);  // infinities have no differences
        std::vector<std::uint32_t> rows(n_rows), at(n_rows);
        std::iota(rows.begin(), rows.end(), std::uint32_t{0});
        std::vector<std::uint8_t> reached(n_rows * n_trees);
        std::vector<Mark> met(n_rows * n_trees * n_drawn);  // the marks of the leaves reached
        for (std::size_t number = 0; number < n_trees; ++number) {
            if (out_of_bag) list_oob(bag_of[number], training.subspan(first, n_rows), rows);
            const TreeView tree = forest.tree(number);
            route_rows(tree, view, rows.data(), rows.size(), at.data());
            const Mark* marks = ranges.marks.data + static_cast<std::size_t>(forest.leaf_start[number]) * n_drawn;
            for (std::size_t j = 0; j < rows.size(); ++j) {
                const std::size_t pair = rows[j] * n_trees + number;
                reached[pair] = 1;
                std::copy_n(marks + static_cast<std::size_t>(tree.payload[at[j]]) * n_drawn, n_drawn,
                            met.data() + pair * n_drawn);
            }
        }
        Distances half(n_places), rest(n_places);
        for (std::size_t i = 0; i < n_rows; ++i) {
            half.clear(), rest.clear();
            for (std::size_t number = 0; number < n_trees; ++number) {
                const std::size_t pair = i * n_trees + number;
                if (!reached[pair]) continue;
                Distances& to = out_of_bag && half.n_trees_measured() > rest.n_trees_measured() ? rest : half;
                to.add(met.data() + pair * n_drawn, {ranges.places.data + number * n_drawn, n_drawn},
                       values.data() + i * n_places, ranges);
            }
            if (out_of_bag) half.write(found.half, first + i), half.add(rest);
            half.write(found.all, first + i);
            found.n_trees_measured[first + i] = static_cast<double>(half.n_trees_measured());
        }
    });
    return found;
}

}  // namespace hedgerow
