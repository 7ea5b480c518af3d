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
    bool has_missing = false, rows_counted = false, summed = false;
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
};

}  // namespace hedgerow
