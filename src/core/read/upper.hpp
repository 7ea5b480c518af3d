// First levels of a tree, for many rows by column.
//
// All rows of a block meet the same few nodes there. So a node is compared with many adjacent codes of its column at
// once, instead of a row with one node after the other: the first four levels take half a nanosecond per row instead of
// four.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/read/node.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

// With three levels or five, rows took up to 5% longer; with six, a tenth to a third.
inline constexpr std::size_t upper_levels = 4;

// The levels as a complete binary tree. Place 1 is the root, and the children of place k are 2k and 2k + 1. Below a
// leaf, and below a split by categories, rows go left until the last level and stay at the same node.
class Upper {
public:
    explicit Upper(const Node* nodes) : nodes_(nodes) {
        for (std::size_t place = 1; place < n_ends; ++place) {
            const std::uint32_t at = at_[place];
            const Node node = nodes[at];
            splits_[place] = node.kind() == NodeKind::threshold && !node.is_leaf(at);
            at_[2 * place] = splits_[place] ? node.child() : at;
            at_[2 * place + 1] = splits_[place] ? node.child() + 1 : at;
        }
    }

    // at[i] = the node that row i reaches, given the codes of adjacent rows; columns are `stride` apart.
    template <bool has_missing, class Code>
    void enter(const Code* columns, std::size_t stride, std::size_t n_rows, std::uint32_t* at) const {
        constexpr std::size_t together = 128 / sizeof(Code);
        Code ends[together];
        for (std::size_t first = 0; first < n_rows; first += together) {
            const std::size_t n = std::min(together, n_rows - first);
            // A constant number of rows is unrolled.
            if (n == together) find_ends<has_missing>(columns + first, stride, together, ends);
            else find_ends<has_missing>(columns + first, stride, n, ends);
            for (std::size_t i = 0; i < n; ++i) at[first + i] = at_[n_ends + ends[i]];
        }
    }

private:
    static constexpr std::size_t n_ends = std::size_t{1} << upper_levels;

    // ends[i] = the place of the last level that row i reaches, counted from its first; `ends` has room for the rows.
    template <bool has_missing, class Code>
    void find_ends(const Code* columns, std::size_t stride, std::size_t n_rows, Code* ends) const {
        Code next[128 / sizeof(Code)];
        for (std::size_t i = 0; i < n_rows; ++i) ends[i] = 0;
        for (std::size_t level_start = 1; level_start < n_ends; level_start *= 2) {
            for (std::size_t i = 0; i < n_rows; ++i) next[i] = static_cast<Code>(2 * ends[i]);
            for (std::size_t place = level_start; place < 2 * level_start; ++place) {
                if (!splits_[place]) continue;
                const Node node = nodes_[at_[place]];
                // As in child_for: if missing values go left, adding one wraps their code around to the lowest.
                const auto left = static_cast<Code>(has_missing ? node.missing_left() : 0),
                           last = static_cast<Code>(node.code() + left);
                const auto here = static_cast<Code>(place - level_start);
                const Code* column = columns + node.feature() * stride;
                for (std::size_t i = 0; i < n_rows; ++i)
                    next[i] =
                        static_cast<Code>(next[i] + ((static_cast<Code>(column[i] + left) > last) & (ends[i] == here)));
            }
            for (std::size_t i = 0; i < n_rows; ++i) ends[i] = next[i];
        }
    }

    const Node* nodes_;
    std::uint32_t at_[2 * n_ends] = {};  // the node at each place
    bool splits_[n_ends] = {};           // whether rows may go right there
};

}  // namespace hedgerow
