// Hulls: what the rows of a leaf have been -> a mark for each leaf and feature; other rows -> how far outside they lie.
//
// A mark has 16 bits. Of a numeric feature: the level of the smallest value, that of the largest, whether there is any value,
// and whether one is missing. Of a nominal feature: a bit for categories modulo 15, and whether a value is missing.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"
#include "core/read/proximity.hpp"
#include "core/rows/bag.hpp"

namespace hedgerow {

using Mark = std::uint16_t;
inline constexpr Mark mark_present = 1 << 14, mark_missing = 1 << 15;
inline constexpr std::size_t mark_levels = 127, mark_categories = 15;

inline std::size_t low_level(Mark mark) { return mark & 127; }
inline std::size_t high_level(Mark mark) { return (mark >> 7) & 127; }

// The mark of two sets of rows together.
inline Mark joined(Mark a, Mark b, bool nominal) {
    const Mark both = a | b;
    if (nominal || !(a & mark_present) || !(b & mark_present)) return both;
    const std::size_t low = std::min(low_level(a), low_level(b)), high = std::max(high_level(a), high_level(b));
    return static_cast<Mark>(low | high << 7 | mark_present | (both & mark_missing));
}

// The features that trees have drawn, (trees, m): each a place among the u features that some tree has drawn.
struct Drawn {
    Table<const std::int32_t> places;
    std::span<const std::uint8_t> nominal;  // (u,)
};

// Joins the marks of single cells (u, n), of the rows in the bag of each tree, into those of leaves (L, m).
inline void join_marks(const LeafTable& table, const Drawn& drawn, Table<const Mark> cells, std::uint64_t seed, double bag_mean,
                       std::size_t first_tree, std::size_t n_threads, Table<Mark> marks, Control& control) {
    run_tasks(table.n_trees, n_threads, control, [&](std::size_t tree, std::size_t) {
        const Bag bag(seed, first_tree + tree, table.n_rows, bag_mean);
        const std::int32_t* places = drawn.places.data + tree * drawn.places.n_columns;
        for (std::size_t row = 0; row < table.n_rows; ++row) {
            if (bag.multiplicity(row) == 0) continue;
            Mark* of_leaf = marks.data + table.leaf(row, tree) * marks.n_columns;
            for (std::size_t i = 0; i < marks.n_columns; ++i) {
                const auto place = static_cast<std::size_t>(places[i]);
                of_leaf[i] = joined(of_leaf[i], cells.data[place * cells.n_columns + row], drawn.nominal[place]);
            }
        }
    });
}

// How distances are measured in each of u features.
struct Rulers {
    Table<const double> low, high;         // (u, levels): the smallest and the largest value of each level of a numeric feature
    std::span<const double> spread;        // (u,): its standard deviation
    std::span<const double> absent;        // how far each category is from a leaf without it, one nominal feature after the other
    std::span<const std::int64_t> start;   // (u + 1,): where the categories of each feature begin
    std::span<const double> missing;       // (u,): how far a missing value is from a leaf without one
    std::span<const double> present;       // (u,): how far a value is from a leaf with missing values only
    double far = 0;                        // the largest distance

    // A cell is a number, the number of a category or below 0 for a new one; NaN is missing.
    double away(std::size_t place, bool nominal, Mark mark, double cell) const {
        if (mark == 0) return 0;  // a leaf without rows says nothing
        if (std::isnan(cell)) return mark & mark_missing ? 0 : missing[place];
        if (nominal) return from_categories(place, mark, cell);
        if (!(mark & mark_present)) return present[place];
        const double least = low.data[place * low.n_columns + low_level(mark)], most = high.data[place * high.n_columns + high_level(mark)];
        const double beyond = cell < least ? least - cell : cell > most ? cell - most : 0;
        return beyond > 0 ? std::min(beyond / spread[place], far) : 0;
    }

private:
    double from_categories(std::size_t place, Mark mark, double cell) const {
        if (cell < 0) return far;
        const auto category = static_cast<std::size_t>(cell);
        const double away = absent[static_cast<std::size_t>(start[place]) + category];
        return away < far && (mark >> (category % mark_categories) & 1) ? 0 : away;  // a bit may come from another category
    }
};

// How strange rows are: in all features, in the strangest one, and which place that is.
struct Strange {
    std::vector<double> total, single;
    std::vector<std::int64_t> place;
};

// judges: (n, trees), which trees may judge each row, or null for all. Without a judge, scores are NaN.
inline Strange measure_rows(const LeafTable& table, const Drawn& drawn, Table<const Mark> marks, Table<const double> cells,
                            const Rulers& rulers, const std::uint8_t* judges, std::size_t n_threads, Control& control) {
    constexpr std::size_t block = 256;
    const std::size_t n_places = cells.n_rows, n_drawn = marks.n_columns;
    Strange found{std::vector<double>(table.n_rows), std::vector<double>(table.n_rows), std::vector<std::int64_t>(table.n_rows)};
    run_tasks((table.n_rows + block - 1) / block, n_threads, control, [&](std::size_t task, std::size_t) {
        std::vector<double> sums(n_places), numbers(n_places);
        for (std::size_t row = task * block; row < std::min(table.n_rows, (task + 1) * block); ++row) {
            std::fill(sums.begin(), sums.end(), 0.0);
            std::fill(numbers.begin(), numbers.end(), 0.0);
            double total = 0, n_judges = 0;
            for (std::size_t tree = 0; tree < table.n_trees; ++tree) {
                if (judges && !judges[row * table.n_trees + tree]) continue;
                ++n_judges;
                const Mark* of_leaf = marks.data + table.leaf(row, tree) * n_drawn;
                for (std::size_t i = 0; i < n_drawn; ++i) {
                    const auto place = static_cast<std::size_t>(drawn.places.data[tree * n_drawn + i]);
                    const double away = rulers.away(place, drawn.nominal[place], of_leaf[i], cells.data[place * cells.n_columns + row]);
                    total += std::min(away, 1.0);
                    sums[place] += away;
                    ++numbers[place];
                }
            }
            double single = std::nan("");
            std::size_t strangest = 0;
            for (std::size_t place = 0; place < n_places; ++place) {
                const double mean = numbers[place] > 0 ? sums[place] / numbers[place] : std::nan("");
                if (mean > single || (std::isnan(single) && !std::isnan(mean))) single = mean, strangest = place;
            }
            found.total[row] = total / n_judges;
            found.single[row] = single;
            found.place[row] = static_cast<std::int64_t>(strangest);
        }
    });
    return found;
}

}  // namespace hedgerow
