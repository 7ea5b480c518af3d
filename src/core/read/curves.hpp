// Survival curves: means over the leaves that rows reach, and over ancestors of these leaves.
//
// A leaf counts rows by cell (targets/survival.hpp). Curves have a value for each grid time. They are computed from the
// entries of leaves, of which there are few: a table of all leaves by time would take gigabytes for large forests.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/kit/table.hpp"
#include "core/read/read.hpp"
#include "core/read/walk.hpp"
#include "core/targets/survival.hpp"

namespace hedgerow {

// For each leaf its place in an order in which the leaves below every node are adjacent, the leaf at each place, and
// for each depth the first place and the last plus one: of the leaf itself, or of its smallest ancestor with enough
// rows. Places count within the tree.
struct LeafSpans {
    std::vector<std::int32_t> place, leaf, first, last;
};

struct LeafSpansView {
    std::span<const std::int32_t> place, leaf, first, last;
    std::size_t n_depths() const { return place.empty() ? 1 : first.size() / place.size(); }
};

inline void find_leaf_spans(const ForestView& forest, const LeafView& leaves, std::size_t number,
                            std::span<const std::int64_t> least, LeafSpans& found) {
    const TreeView tree = forest.tree(number);
    const auto n_nodes = static_cast<std::size_t>(forest.node_start[number + 1] - forest.node_start[number]);
    const std::int64_t begin = forest.leaf_start[number], end = forest.leaf_start[number + 1];
    std::vector<double> sizes(static_cast<std::size_t>(end - begin), 0.0);
    for (std::int64_t leaf = begin; leaf < end; ++leaf) {
        const bool dense = leaves.entry_start == nullptr;
        const std::int64_t from = dense ? leaf * leaves.n_classes : leaves.entry_start[leaf];
        const std::int64_t to = dense ? from + leaves.n_classes : leaves.entry_start[leaf + 1];
        for (std::int64_t i = from; i < to; ++i) sizes[static_cast<std::size_t>(leaf - begin)] += leaves.counts[i];
    }
    const OwnTable<double> rows = sum_up<double>(tree, n_nodes, {sizes.data(), sizes.size(), 1});
    // Children come after their parents, so one pass upwards counts leaves, and one downwards numbers them.
    std::vector<std::int32_t> below(n_nodes, 0), start(n_nodes, 0);
    for (std::size_t i = n_nodes; i-- > 0;) {
        const auto at = static_cast<std::uint32_t>(i);
        if (is_leaf(tree, at)) below[i] = 1;
        else
            for (std::uint32_t k = 0; k < n_children(tree, at); ++k) below[i] += below[first_child(tree, at) + k];
    }
    const std::size_t n_depths = least.size();
    std::vector<std::uint32_t> held(n_nodes * n_depths, 0);
    for (std::uint32_t at = 0; at < n_nodes; ++at) {
        if (is_leaf(tree, at)) {
            const auto leaf = static_cast<std::size_t>(begin) + leaf_number(tree, at);
            found.place[leaf] = start[at];
            found.leaf[static_cast<std::size_t>(begin + start[at])] = static_cast<std::int32_t>(leaf_number(tree, at));
            for (std::size_t depth = 0; depth < n_depths; ++depth) {
                const std::uint32_t node = least[depth] <= 0 ? at : held[at * n_depths + depth];
                found.first[leaf * n_depths + depth] = start[node];
                found.last[leaf * n_depths + depth] = start[node] + below[node];
            }
            continue;
        }
        std::int32_t next = start[at];
        for (std::uint32_t child = first_child(tree, at); child < first_child(tree, at) + n_children(tree, at);
             ++child) {
            start[child] = next;
            next += below[child];
            for (std::size_t depth = 0; depth < n_depths; ++depth)
                held[child * n_depths + depth] =
                    rows.data[child] >= static_cast<double>(least[depth]) ? child : held[at * n_depths + depth];
        }
    }
}

// The spans of all leaves; a depth of 0 rows is the leaf itself.
inline LeafSpans find_leaf_spans(const ForestView& forest, const LeafView& leaves, std::span<const std::int64_t> least,
                                 std::size_t n_threads, Control& control) {
    LeafSpans found;
    found.place.resize(forest.n_leaves());
    found.leaf.resize(forest.n_leaves());
    found.first.resize(forest.n_leaves() * least.size());
    found.last.resize(forest.n_leaves() * least.size());
    run_tasks(forest.n_trees, n_threads, control,
              [&](std::size_t number, std::size_t) { find_leaf_spans(forest, leaves, number, least, found); });
    return found;
}

// What to compute: survival (Kaplan-Meier), hazard (Nelson-Aalen), lower and upper survival, the cumulative incidence
// of each cause (Aalen-Johansen), and its lower and upper values.
enum class CurveKind : int { survival = 0, hazard = 1, bounds = 2, incidence = 3, incidence_bounds = 4 };

inline CurveKind curve_kind_of(const std::string& name) {
    constexpr const char* names[] = {"survival", "hazard", "bounds", "incidence", "incidence_bounds"};
    for (int kind = 0; kind < 5; ++kind)
        if (name == names[kind]) return static_cast<CurveKind>(kind);
    throw std::invalid_argument("kind must be that of a curve, got '" + name + "'");
}

// A change of a curve: the column of the time, and by how much the values from then on differ. Small leaves change a
// few of 256 values, so adding changes takes a quarter of the time of adding values.
struct Step {
    std::size_t column;
    double change;
};

// Computes the curve of a node from the leaves below it.
class NodeCurve {
public:
    NodeCurve(const LeafView& leaves, const SurvivalLayout& layout, CurveKind kind, double caution)
        : leaves_(leaves),
          layout_(layout),
          kind_(kind),
          caution_(caution),
          leaving_(layout.n_times),
          entering_(layout.n_times + 1),
          events_(layout.n_times * layout.n_causes),
          touched_(layout.n_times / 64 + 1) {}

    std::size_t n_pieces() const {
        return kind_ == CurveKind::bounds             ? 2
               : kind_ == CurveKind::incidence        ? layout_.n_causes
               : kind_ == CurveKind::incidence_bounds ? 2 * layout_.n_causes
                                                      : 1;
    }
    std::size_t width() const { return n_pieces() * layout_.n_times; }

    // The leaves are those of `places`, numbered from first_leaf on; `own` is the cell of a row to leave out, or -1.
    void compute(std::span<const std::int32_t> places, std::int64_t first_leaf, std::int64_t own,
                 std::vector<Step>& steps) {
        steps.clear();
        last_.assign(n_pieces(), 0.0);
        std::fill(touched_.begin(), touched_.end(), 0);
        touch(0);
        double counted = 0, weighed = 0;
        for (const std::int32_t leaf : places) {
            const bool dense = leaves_.entry_start == nullptr;
            const std::int64_t from =
                dense ? (first_leaf + leaf) * leaves_.n_classes : leaves_.entry_start[first_leaf + leaf];
            const std::int64_t to = dense ? from + leaves_.n_classes : leaves_.entry_start[first_leaf + leaf + 1];
            for (std::int64_t i = from; i < to; ++i) {
                const auto cell = static_cast<std::uint32_t>(dense ? i - from : leaves_.entry_class[i]);
                double rows = leaves_.counts[i], amount = leaves_.weights ? leaves_.weights[i] : rows;
                if (cell == own && rows > 0) {  // the row is assumed to have the mean weight of its cell
                    amount *= (rows - 1) / rows;
                    rows -= 1;
                    own = -1;
                }
                if (amount <= 0) continue;
                counted += rows;
                weighed += amount;
                add(cell, amount);
            }
        }
        const double unit = leaves_.weights && weighed > 0 ? counted / weighed : 1.0;
        switch (kind_) {
            case CurveKind::survival: return write<CurveKind::survival>(unit, weighed, steps);
            case CurveKind::hazard: return write<CurveKind::hazard>(unit, weighed, steps);
            case CurveKind::bounds: return write<CurveKind::bounds>(unit, weighed, steps);
            case CurveKind::incidence: return write<CurveKind::incidence>(unit, weighed, steps);
            case CurveKind::incidence_bounds: return write<CurveKind::incidence_bounds>(unit, weighed, steps);
        }
    }

private:
    void touch(std::size_t time) { touched_[time / 64] |= std::uint64_t{1} << time % 64; }

    void add(std::uint32_t cell, double amount) {
        const SurvivalCell row = layout_.read(cell);
        touch(row.time);
        leaving_[row.time] += amount;
        if (row.cause > 0) events_[std::size_t{row.time} * layout_.n_causes + row.cause - 1U] += amount;
        if (row.entry > 0) {
            entering_[row.entry] += amount;
            touch(row.entry);
            if (row.entry + 1U < layout_.n_times) touch(row.entry + 1U);
        }
    }

    // Writes the curve, whose values change only at touched times, and clears the sums. One kind at a time, because a
    // third of the time would go into divisions for the others.
    template <CurveKind kind>
    void write(double unit, double total, std::vector<Step>& steps) {
        constexpr bool of_causes = kind == CurveKind::incidence || kind == CurveKind::incidence_bounds;
        constexpr bool bounded = kind == CurveKind::bounds || kind == CurveKind::incidence_bounds;
        const std::size_t n_times = layout_.n_times, n_causes = layout_.n_causes;
        double at_risk = total;
        if (layout_.has_entries())
            for (std::size_t time = 1; time < n_times; ++time) at_risk -= entering_[time];
        // Survival of the estimate, or upper survival with a caution.
        double survival = 1, hazard = 0, lower = 1;
        const double added = bounded ? caution_ : 0.0;
        if constexpr (of_causes) incidence_.assign(n_causes, 0.0);
        for (std::size_t time = 0, next = 0; time < n_times; time = next) {
            double* events = events_.data() + time * n_causes;
            double died = 0;
            for (std::size_t k = 0; k < n_causes; ++k) died += events[k];
            if (died > 0 && at_risk > 0) {
                const double of = at_risk * unit + added;
                if constexpr (of_causes)
                    for (std::size_t k = 0; k < n_causes; ++k) incidence_[k] += survival * events[k] * unit / of;
                const double share = std::min(1.0, died * unit / of);
                survival *= 1 - share;
                hazard += share;
            }
            at_risk = std::max(0.0, at_risk - leaving_[time]);
            if constexpr (bounded) lower = at_risk > 0 ? survival * at_risk * unit / (at_risk * unit + added) : 0.0;
            at_risk += entering_[time];
            leaving_[time] = entering_[time] = 0;
            std::fill_n(events, n_causes, 0.0);
            next = next_touched(time + 1);
            const auto fill = [&](std::size_t piece, double value) {
                if (value != last_[piece]) steps.push_back({piece * n_times + time, value - last_[piece]});
                last_[piece] = value;
            };
            if constexpr (kind == CurveKind::survival) fill(0, survival);
            if constexpr (kind == CurveKind::hazard) fill(0, hazard);
            if constexpr (kind == CurveKind::bounds) fill(0, lower), fill(1, survival);
            if constexpr (of_causes)
                for (std::size_t k = 0; k < n_causes; ++k) {
                    fill(k, incidence_[k]);
                    if constexpr (bounded) fill(n_causes + k, incidence_[k] + survival - lower);
                }
        }
    }
    std::size_t next_touched(std::size_t time) const {
        for (std::size_t word = time / 64; word < touched_.size(); ++word) {
            const std::uint64_t rest = word == time / 64 ? touched_[word] >> time % 64 << time % 64 : touched_[word];
            if (rest != 0)
                return std::min(layout_.n_times, word * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
        }
        return layout_.n_times;
    }

    LeafView leaves_;
    SurvivalLayout layout_;
    CurveKind kind_;
    double caution_;
    std::vector<double> leaving_, entering_, events_, incidence_, last_;
    std::vector<std::uint64_t> touched_;
};

// Adds for each row (n, M) the mean over its leaves, numbered over all trees, of the curves at several depths, weighted
// by depth. A negative leaf is skipped; a row without leaves is NaN. own: cells of rows to leave out, or empty.
inline void mean_curves(const ForestView& forest, const LeafView& leaves, const LeafSpansView& spans,
                        std::span<const double> depth_weights, const SurvivalLayout& layout, CurveKind kind,
                        double caution, const Table<const std::int32_t>& reached, std::span<const std::uint16_t> own,
                        std::size_t n_threads, double* curves, Control& control) {
    const std::size_t n_depths = depth_weights.size();
    const std::size_t width = NodeCurve(leaves, layout, kind, caution).width();
    const std::size_t block = std::max<std::size_t>(64, (reached.n_rows + 4 * n_threads - 1) / (4 * n_threads));
    const std::size_t n_blocks = (reached.n_rows + block - 1) / block;
    run_tasks(n_blocks, n_threads, control, [&](std::size_t number, std::size_t thread) {
        const std::size_t first = number * block, last = std::min(reached.n_rows, first + block);
        NodeCurve node(leaves, layout, kind, caution);
        std::vector<std::vector<Step>> known(n_depths);
        std::vector<std::pair<std::int64_t, std::size_t>> by_place;
        std::fill(curves + first * width, curves + last * width, 0.0);
        for (std::size_t column = 0; column < reached.n_columns; ++column) {
            control.tick(thread == 0);
            // Rows in the order of places: those below a node follow each other, so its curve is computed once.
            by_place.clear();
            for (std::size_t row = first; row < last; ++row) {
                const std::int64_t leaf = reached.data[row * reached.n_columns + column];
                if (leaf >= 0) by_place.emplace_back(leaf, row);
            }
            const auto tree_of = [&](std::int64_t leaf) {
                return std::upper_bound(forest.leaf_start, forest.leaf_start + forest.n_trees + 1, leaf) - 1;
            };
            std::vector<std::int64_t> begins(by_place.size());
            for (std::size_t i = 0; i < by_place.size(); ++i) begins[i] = *tree_of(by_place[i].first);
            std::vector<std::size_t> order(by_place.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            const auto place_of = [&](std::size_t i) {
                return begins[i] + spans.place[static_cast<std::size_t>(by_place[i].first)];
            };
            std::sort(order.begin(), order.end(),
                      [&](std::size_t a, std::size_t b) { return place_of(a) < place_of(b); });
            std::vector<std::pair<std::int64_t, std::int64_t>> held(n_depths, {-1, -1});
            for (const std::size_t i : order) {
                const auto [leaf, row] = by_place[i];
                double* sums = curves + row * width;
                for (std::size_t depth = 0; depth < n_depths; ++depth) {
                    if (depth_weights[depth] == 0) continue;
                    const std::size_t at = static_cast<std::size_t>(leaf) * n_depths + depth;
                    const std::pair<std::int64_t, std::int64_t> span{begins[i] + spans.first[at],
                                                                     begins[i] + spans.last[at]};
                    std::vector<Step>& steps = known[depth];
                    if (!own.empty() || span != held[depth]) {
                        node.compute(spans.leaf.subspan(static_cast<std::size_t>(span.first),
                                                        static_cast<std::size_t>(span.second - span.first)),
                                     begins[i], own.empty() ? -1 : own[row], steps);
                        held[depth] = span;
                    }
                    const double weight = depth_weights[depth];
                    for (const Step& step : steps) sums[step.column] += weight * step.change;
                }
            }
        }
        for (std::size_t row = first; row < last; ++row) {
            const std::int32_t* mine = reached.data + row * reached.n_columns;
            const auto used =
                std::count_if(mine, mine + reached.n_columns, [](std::int32_t leaf) { return leaf >= 0; });
            const double total = static_cast<double>(used);  // 0 / 0 is NaN
            // Sums of probabilities leave [0, 1] by rounding.
            const double most = kind == CurveKind::hazard ? std::numeric_limits<double>::infinity() : 1.0;
            for (std::size_t piece = 0; piece < node.n_pieces(); ++piece) {
                double* curve = curves + row * width + piece * layout.n_times;
                double sum = 0;
                for (std::size_t time = 0; time < layout.n_times; ++time) {
                    sum += curve[time];
                    curve[time] = std::clamp(sum / total, 0.0, most);
                }
            }
        }
    });
}

}  // namespace hedgerow
