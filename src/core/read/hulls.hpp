// Hulls: what the rows of a leaf have been -> a mark for each leaf and feature; other rows -> how far outside they lie.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"
#include "core/read/read.hpp"
#include "core/read/walk.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/marks.hpp"

namespace hedgerow {

// How the bags of trees are drawn from the rows of the training table.
struct Bags {
    std::uint64_t seed = 0;
    double mean = 0;
    std::size_t n_rows = 0, first_tree = 0;

    Bag of(std::size_t tree) const { return Bag(seed, first_tree + tree, n_rows, mean); }
};

// Codes laid out row by row -> rows that know whether a code is missing.
template <class Code>
RowView<Code> view_of(const std::vector<Code>& by_row, std::size_t n_features) {
    return {by_row.data(), n_features, std::find(by_row.begin(), by_row.end(), missing_code<Code>) != by_row.end()};
}

// (leaves, m): the marks of the rows in the bags, for the features that each tree has drawn (trees, m).
template <class Code>
OwnTable<Mark> find_marks(const ForestView& forest, const CodeColumns<Code>& codes, Table<const std::int32_t> drawn,
                          std::span<const std::int64_t> n_bins, std::span<const std::uint8_t> nominal, const Bags& bags,
                          std::size_t n_threads, Control& control) {
    const std::size_t n_drawn = drawn.n_columns, n_features = codes.n_features;
    OwnTable<Mark> marks(forest.n_leaves(), n_drawn);
    std::fill_n(marks.data.get(), forest.n_leaves() * n_drawn, Mark{0});
    const std::size_t chunk = std::max<std::size_t>(1, (std::size_t{1} << 26) / (n_features * sizeof(Code)));
    std::vector<Code> by_row;
    for (std::size_t first = 0; first < codes.n_rows; first += chunk) {
        const std::size_t n_rows = std::min(chunk, codes.n_rows - first);
        lay_out_rows(codes.codes, codes.n_rows, n_features, first, n_rows, by_row);
        const RowView<Code> view = view_of(by_row, n_features);
        run_tasks(forest.n_trees, n_threads, control, [&](std::size_t number, std::size_t) {
            const TreeView tree = forest.tree(number);
            const Bag bag = bags.of(number);
            std::vector<std::uint32_t> inside;
            for (std::size_t i = 0; i < n_rows; ++i)
                if (bag.multiplicity(first + i) > 0) inside.push_back(static_cast<std::uint32_t>(i));
            std::vector<std::uint32_t> at(inside.size());
            route_rows(tree, view, inside.data(), inside.size(), at.data());
            const auto n_leaves = static_cast<std::size_t>(forest.leaf_start[number + 1] - forest.leaf_start[number]);
            for (std::size_t place = 0; place < n_drawn; ++place) {
                const auto feature = static_cast<std::size_t>(drawn.data[number * n_drawn + place]);
                std::vector<Seen<Code>> seen(n_leaves);
                for (std::size_t i = 0; i < inside.size(); ++i) {
                    const Code code = by_row[inside[i] * n_features + feature];
                    Seen<Code>& of_leaf = seen[static_cast<std::size_t>(tree.payload[at[i]])];
                    if (nominal[feature]) of_leaf.add_category(code); else of_leaf.add_number(code);
                }
                Mark* to = marks.data.get() + static_cast<std::size_t>(forest.leaf_start[number]) * n_drawn + place;
                for (std::size_t leaf = 0; leaf < n_leaves; ++leaf, to += n_drawn) {
                    const Mark mark = nominal[feature] ? seen[leaf].mark() : seen[leaf].mark(static_cast<std::uint32_t>(n_bins[feature]));
                    *to = joined(*to, mark, nominal[feature]);
                }
            }
        });
    }
    return marks;
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

// What leaves have seen, of which features, and how distances from it are measured.
struct HullsView {
    Table<const std::int32_t> places;        // (trees, m): the features of each tree, as places among the u drawn by some tree
    std::span<const std::int32_t> features;  // (u,): the features at these places
    std::span<const std::uint8_t> nominal;   // (u,)
    std::span<const std::int64_t> n_bins;    // (u,)
    Table<const Mark> marks;                 // (leaves, m)
    Rulers rulers;
};

// Scores of rows (n,): in all features, in the strangest one, and which place that is; NaN without a judge.
struct Scores {
    std::vector<double> total, single;
    std::vector<std::int64_t> place;

    explicit Scores(std::size_t n_rows) : total(n_rows), single(n_rows), place(n_rows) {}
};

// Distances of a block of rows, added up over trees.
class DistanceSums {
public:
    DistanceSums(std::size_t n_rows, std::size_t n_places)
        : n_places_(n_places), total_(n_rows), n_judges_(n_rows), sums_(n_rows * n_places), numbers_(n_rows * n_places) {}

    void judge(std::size_t row) { ++n_judges_[row]; }
    std::size_t n_judges(std::size_t row) const { return n_judges_[row]; }
    void add(std::size_t row, std::size_t place, double away) {
        ++numbers_[row * n_places_ + place];
        if (away == 0) return;
        total_[row] += std::min(away, 1.0);
        sums_[row * n_places_ + place] += away;
    }
    void write(std::size_t row, Scores& scores, std::size_t to) const {
        double single = std::nan("");
        std::size_t strangest = 0;
        for (std::size_t place = 0; place < n_places_; ++place) {
            const std::uint32_t number = numbers_[row * n_places_ + place];
            if (number == 0) continue;
            const double mean = sums_[row * n_places_ + place] / number;
            if (mean > single || std::isnan(single)) single = mean, strangest = place;
        }
        scores.total[to] = total_[row] / static_cast<double>(n_judges_[row]);
        scores.single[to] = single;
        scores.place[to] = static_cast<std::int64_t>(strangest);
    }

private:
    std::size_t n_places_;
    std::vector<double> total_;
    std::vector<std::size_t> n_judges_;
    std::vector<double> sums_;
    std::vector<std::uint32_t> numbers_;
};

// How strange rows are to all trees or, if they are rows of the training table, to the trees whose bags do not hold them, and
// to every second one of these.
struct Strange {
    Scores all, half;
    std::vector<double> n_judges;
};

// codes and cells (u, n) of the same rows; training: their numbers in the training table, or empty for other rows.
template <class Code>
Strange measure_rows(const ForestView& forest, const HullsView& hulls, const CodeColumns<Code>& codes, Table<const double> cells,
                     std::span<const std::int64_t> training, const Bags& bags, std::size_t n_threads, Control& control) {
    const std::size_t n_places = cells.n_rows, n_drawn = hulls.marks.n_columns, n_features = codes.n_features;
    const std::size_t block = std::clamp<std::size_t>((std::size_t{1} << 15) / n_places, 32, 1024);
    const bool judged = !training.empty();
    std::vector<Bag> bag_of;
    for (std::size_t number = 0; judged && number < forest.n_trees; ++number) bag_of.push_back(bags.of(number));
    Strange found{Scores(codes.n_rows), Scores(judged ? codes.n_rows : 0), std::vector<double>(codes.n_rows)};
    run_tasks((codes.n_rows + block - 1) / block, n_threads, control, [&](std::size_t task, std::size_t) {
        const std::size_t first = task * block, n_rows = std::min(block, codes.n_rows - first);
        std::vector<Code> by_row;
        lay_out_rows(codes.codes, codes.n_rows, n_features, first, n_rows, by_row);
        const RowView<Code> view = view_of(by_row, n_features);
        // A value whose level lies strictly between those of a hull is inside, which nearly all are.
        std::vector<std::uint8_t> levels(n_rows * n_places, 255);
        std::vector<double> values(n_rows * n_places);
        for (std::size_t place = 0; place < n_places; ++place) {
            const auto feature = static_cast<std::size_t>(hulls.features[place]);
            const auto n_bins = static_cast<std::uint32_t>(hulls.n_bins[place]);
            for (std::size_t i = 0; i < n_rows; ++i) {
                const Code code = by_row[i * n_features + feature];
                values[i * n_places + place] = cells.data[place * cells.n_columns + first + i];
                if (!hulls.nominal[place] && code != missing_code<Code>)
                    levels[i * n_places + place] = static_cast<std::uint8_t>(level_of(code, n_bins));
            }
        }
        DistanceSums all(n_rows, n_places), half(judged ? n_rows : 0, n_places);
        std::vector<std::uint32_t> rows(n_rows), at(n_rows);
        for (std::size_t i = 0; i < n_rows; ++i) rows[i] = static_cast<std::uint32_t>(i);
        for (std::size_t number = 0; number < forest.n_trees; ++number) {
            if (judged) {
                rows.clear();
                for (std::size_t i = 0; i < n_rows; ++i)
                    if (bag_of[number].multiplicity(static_cast<std::size_t>(training[first + i])) == 0) rows.push_back(static_cast<std::uint32_t>(i));
            }
            const TreeView tree = forest.tree(number);
            route_rows(tree, view, rows.data(), rows.size(), at.data());
            const std::int32_t* places = hulls.places.data + number * n_drawn;
            for (std::size_t j = 0; j < rows.size(); ++j) {
                const std::size_t i = rows[j];
                const Mark* marks = hulls.marks.data + static_cast<std::size_t>(forest.leaf_start[number] + tree.payload[at[j]]) * n_drawn;
                const bool by_half = judged && all.n_judges(i) % 2 == 0;
                all.judge(i);
                if (by_half) half.judge(i);
                for (std::size_t d = 0; d < n_drawn; ++d) {
                    const auto place = static_cast<std::size_t>(places[d]);
                    const std::size_t level = levels[i * n_places + place];
                    const bool inside = low_level(marks[d]) < level && level < high_level(marks[d]);
                    const double away = inside ? 0 : hulls.rulers.away(place, hulls.nominal[place], marks[d], values[i * n_places + place]);
                    all.add(i, place, away);
                    if (by_half) half.add(i, place, away);
                }
            }
        }
        for (std::size_t i = 0; i < n_rows; ++i) {
            all.write(i, found.all, first + i);
            if (judged) half.write(i, found.half, first + i);
            found.n_judges[first + i] = static_cast<double>(all.n_judges(i));
        }
    });
    return found;
}

}  // namespace hedgerow
