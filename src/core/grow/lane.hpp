// Occupied bins of a feature in some order, and the split at a place of that order.
//
// Independent of the target, and so compiled once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/grow/occupancy.hpp"
#include "core/kit/attributes.hpp"
#include "core/kit/zeroed.hpp"
#include "core/read/tree.hpp"
#include "core/rows/codes.hpp"
#include "core/rows/random.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

struct Split {
    double score = no_score;
    NodeKind kind = NodeKind::threshold;
    std::uint32_t feature = 0;
    std::uint32_t threshold = 0;   // last code that goes left
    std::uint32_t next_code = 0;   // the next code that occurs in the node, until the threshold is settled
    std::int64_t left_amount = 0;  // of the rows that go left; set only if features compete by gain ratio
    bool missing_left = false;
    bool missing_seen = false;               // otherwise missing values go to the larger side
    std::vector<std::uint16_t> left_codes;   // of a subset: categories that go left …
    std::vector<std::uint16_t> right_codes;  // … and right; the others do not occur in the node

    // A threshold of a feature without missing values, between two adjacent codes that occur in the node.
    void cut(std::uint32_t number, std::uint32_t low, std::uint32_t high) {
        kind = NodeKind::threshold;
        feature = number;
        threshold = low;
        next_code = high;
        missing_left = missing_seen = false;
    }
    // Puts the threshold half way between the two codes around it; once per node, not per feature.
    void settle_threshold(const Feature& feature) {
        if (kind == NodeKind::threshold && next_code > threshold)
            threshold = code_between(feature.centers, threshold, next_code, 0.5);
    }
    bool found() const { return score > no_score; }
};

// The lowest code above another one, which must not be the last.
template <class Code>
inline Code code_above(Code code, const Code* codes, std::uint32_t n_codes) {
    Code next = std::numeric_limits<Code>::max();
    for (std::uint32_t i = 0; i < n_codes; ++i) next = codes[i] > code && codes[i] < next ? codes[i] : next;
    return next;
}

// Parts of the sums of one feature over the rows of a node that do not depend on the target.
struct LaneOrder {
    std::uint32_t missing;  // the code of missing values
    Zeroed<std::uint32_t> rows_in_bin;
    Zeroed<std::uint16_t> order;  // occupied bins of values, ascending
    Occupancy marks;
    std::uint32_t n_occupied = 0;
    bool has_missing = false, rows_counted = false, summed = false, is_grouped = false;
    std::vector<std::pair<double, std::uint16_t>> ranked;

    HEDGEROW_NOINLINE explicit LaneOrder(bool wide)
        : missing(wide ? missing_code<std::uint16_t> : missing_code<std::uint8_t>),
          rows_in_bin(n_codes()),
          order(n_codes()),
          marks(wide) {}
    HEDGEROW_NOINLINE ~LaneOrder() = default;

    std::size_t n_codes() const { return std::size_t{missing} + 1; }

    template <class Row>
    HEDGEROW_NOINLINE void count_rows(const AnyView& any, std::uint32_t number, const Row* rows, std::uint32_t n_rows) {
        rows_counted = true;
        any.visit([&](const auto& view) {
            const auto* column = view.column(number);
            for (std::uint32_t i = 0; i < n_rows; ++i) ++rows_in_bin[column[rows[i].offset * view.row_stride]];
        });
    }
    HEDGEROW_NOINLINE void forget_rows() {
        for (std::uint32_t i = 0; i < n_occupied; ++i) rows_in_bin[order[i]] = 0;
        rows_in_bin[missing] = 0;
        rows_counted = false;
    }
    // Lists the occupied bins of a node whose bins are marked.
    HEDGEROW_NOINLINE void list_marked(std::uint32_t n_bins) {
        std::uint16_t* next = order.data();
        marks.drain(n_bins, [&](std::uint32_t code) { *next++ = static_cast<std::uint16_t>(code); });
        has_missing = next != order.data() && next[-1] == missing;
        n_occupied = static_cast<std::uint32_t>(next - order.data()) - has_missing;
    }
    // Divides the occupied categories into groups at random, as equal as possible: one per `rows_per_group` rows, at
    // least two; with as many rows per category there are no groups. The draws depend on the key and the categories
    // alone.
    HEDGEROW_COLD void draw_groups(std::uint64_t key, std::uint32_t n_bins, std::uint32_t n_rows) {
        const std::uint32_t n_groups = std::max(n_rows / rows_per_group, 2U);
        if (n_groups >= n_occupied) return;
        drawn_.clear();
        for (std::uint32_t i = 0; i < n_occupied; ++i)
            drawn_.emplace_back(derive_key(key, order[i] == missing ? n_bins : order[i]), order[i]);
        std::sort(drawn_.begin(), drawn_.end());
        group_of_.resize(n_codes());
        for (std::uint32_t place = 0; place < n_occupied; ++place)
            group_of_[drawn_[place].second] = static_cast<std::uint16_t>(std::uint64_t{place} * n_groups / n_occupied);
        groups_.resize(n_groups);
        is_grouped = true;
    }
    // Replaces the shares in `ranked`, which are in the order of the codes, by those of their groups.
    HEDGEROW_COLD void share_within_groups() {
        for (Group& group : groups_) group = Group{};
        for (const auto& [share, code] : ranked) {
            Group& group = groups_[group_of_[code]];
            group.n_rows += rows_in_bin[code];
            group.sum += rows_in_bin[code] * share;
        }
        for (auto& [share, code] : ranked) share = groups_[group_of_[code]].sum / groups_[group_of_[code]].n_rows;
    }
    // Whether the bins at a position of the order and after it are in one group, or in groups of equal shares.
    bool is_inside_group(std::int64_t position) const {
        const auto place = static_cast<std::size_t>(position);
        return is_grouped && ranked[place].first == ranked[place + 1].first;
    }
    // Orders the occupied bins by the shares in `ranked`.
    HEDGEROW_NOINLINE void order_by_share() {
        std::sort(ranked.begin(), ranked.end());
        for (std::size_t i = 0; i < ranked.size(); ++i) order[i] = ranked[i].second;
    }
    HEDGEROW_NOINLINE void order_by_code() { std::sort(order.data(), order.data() + n_occupied); }

    HEDGEROW_NOINLINE void keep_subset(std::uint32_t number, const Place& place, Split& best) const {
        best.score = place.score;
        best.kind = NodeKind::subset;
        best.feature = number;
        best.missing_seen = has_missing;
        best.missing_left = false;
        best.left_codes.clear();
        best.right_codes.clear();
        for (std::uint32_t i = 0; i < n_occupied; ++i) {
            const bool left = std::int64_t{i} <= place.position;
            if (order[i] == missing) best.missing_left = left;
            else (left ? best.left_codes : best.right_codes).push_back(order[i]);
        }
    }
    void keep_threshold(const Feature& feature, std::uint32_t number, bool missing_left, const Place& place,
                        Split& best) const {
        best.score = place.score;
        best.kind = NodeKind::threshold;
        best.feature = number;
        best.missing_left = missing_left;
        best.missing_seen = has_missing;
        const bool last = place.position + 1 == std::int64_t{n_occupied};  // values left, missing right
        best.threshold = last ? feature.n_bins - 1 : order[place.position];
        best.next_code = last ? 0 : order[place.position + 1];
    }

private:
    static constexpr std::uint32_t rows_per_group = 20;
    struct Group {
        double n_rows = 0, sum = 0;
    };
    std::vector<std::pair<std::uint64_t, std::uint16_t>> drawn_;  // a draw for each category
    std::vector<std::uint16_t> group_of_;                         // by code
    std::vector<Group> groups_;
};

}  // namespace hedgerow
