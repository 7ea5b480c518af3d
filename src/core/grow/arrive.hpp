// Arrive: the rows of a part of the table, and the top of a tree -> the rows that reach some of its nodes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/read/tree.hpp"
#include "core/read/walk.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

// The rows of place i are rows[start[i]] … rows[start[i + 1] - 1], in ascending order; times says how often the bag holds each.
struct Arrived {
    std::vector<std::uint32_t> rows, times;
    std::vector<std::int64_t> start;
};

// Which ends of a top are wanted: node i becomes place[i], or -1 if it is not wanted.
struct Places {
    std::span<const std::int32_t> place;
    std::size_t n_places = 0;
};

// Rows go down level by level, as they did when the tree grew, and are dropped as soon as no node below them is wanted: the
// deeper a top, the fewer rows are left. They are taken in blocks that fit into the cache, in two buffers: workers of a
// cluster return memory to the system at once, so large buffers, or one for each node, take three times as long.
template <class Code>
class Arrival {
public:
    Arrival(const TreeView& tree, const CodeView<Code>& view, const Places& asked)
        : tree_(tree), view_(view), asked_(asked), of_place_(asked.n_places) {
        wanted_.assign(asked.place.size(), 0);
        for (std::size_t at = asked.place.size(); at-- > 0;) {  // children come after their parents
            const auto node = static_cast<std::uint32_t>(at);
            wanted_[at] = asked.place[at] >= 0;
            for (std::uint32_t side = 0; side < n_children(tree, node); ++side) wanted_[at] |= wanted_[first_child(tree, node) + side];
        }
    }

    // Takes the rows of one block: the first n_rows of the vector, which has room for one more.
    void take(std::vector<std::uint32_t>& rows, std::size_t n_rows) {
        others_.resize(rows.size());
        waiting_.push_back({0, 0, n_rows});
        while (!waiting_.empty()) {
            const Span span = waiting_.back();
            waiting_.pop_back();
            if (!wanted_[span.node] || span.n_rows == 0) continue;
            if (asked_.place[span.node] < 0) {
                divide(span, rows.data());
                continue;
            }
            std::vector<std::uint32_t>& mine = of_place_[static_cast<std::size_t>(asked_.place[span.node])];
            mine.insert(mine.end(), rows.data() + span.first, rows.data() + span.first + span.n_rows);
        }
    }

    Arrived found() const {
        Arrived all;
        all.start.push_back(0);
        for (const auto& mine : of_place_) all.start.push_back(all.start.back() + static_cast<std::int64_t>(mine.size()));
        all.rows.reserve(static_cast<std::size_t>(all.start.back()));
        for (const auto& mine : of_place_) all.rows.insert(all.rows.end(), mine.begin(), mine.end());
        return all;
    }

private:
    struct Span {
        std::uint32_t node = 0;
        std::size_t first = 0, n_rows = 0;
    };

    // Puts the rows of one child after those of the other, and both children on the list.
    void divide(const Span& span, std::uint32_t* all_rows) {
        const Code* column = view_.column(split_feature(tree_, span.node));
        const std::uint32_t child = first_child(tree_, span.node), n_sides = n_children(tree_, span.node);
        std::uint32_t *rows = all_rows + span.first, *kept = rows;
        std::size_t n_left = span.n_rows;
        // Both lists are written to, and only one of them advances, so there is no branch that could be mispredicted.
        for (std::uint32_t side = 0; side + 1 < n_sides; ++side) {
            std::uint32_t* other = others_.data();
            std::uint32_t* mine = kept;
            for (std::size_t i = 0; i < n_left; ++i) {
                const std::uint32_t row = kept[i];
                const bool stays = child_for<Ready::for_all>(tree_, span.node, column[row * view_.row_stride]) == child + side;
                *mine = *other = row;
                mine += stays;
                other += !stays;
            }
            const auto n_mine = static_cast<std::size_t>(mine - kept);
            waiting_.push_back({child + side, span.first + static_cast<std::size_t>(kept - rows), n_mine});
            n_left -= n_mine;
            std::copy(others_.data(), others_.data() + n_left, mine);
            kept = mine;
        }
        waiting_.push_back({child + n_sides - 1, span.first + static_cast<std::size_t>(kept - rows), n_left});
    }

    TreeView tree_;
    CodeView<Code> view_;
    Places asked_;
    std::vector<std::uint8_t> wanted_;  // whether the node, or one below it, is wanted
    std::vector<std::vector<std::uint32_t>> of_place_;
    std::vector<std::uint32_t> others_;
    std::vector<Span> waiting_;
};

// The part begins with row `first_row` of the table; rows that are not in the bag are included only with `outside`.
template <class Code>
Arrived find_arrived(const TreeView& tree, const CodeColumns<Code>& codes, const Places& asked, const Bag& bag, std::size_t first_row,
                     bool outside) {
    constexpr std::size_t block = 16384;
    const std::size_t n_rows = codes.n_rows;
    Arrival<Code> arrival(tree, codes.view(), asked);
    std::vector<std::uint32_t> rows(std::min(block, n_rows) + 1);
    for (std::size_t first = 0; first < n_rows; first += block) {
        const std::size_t last = std::min(first + block, n_rows);
        std::size_t n_inside = 0;
        for (std::size_t row = first; row < last; ++row) {
            rows[n_inside] = static_cast<std::uint32_t>(row);
            n_inside += outside || bag.multiplicity(first_row + row) > 0;
        }
        arrival.take(rows, n_inside);
    }
    Arrived found = arrival.found();
    found.times.resize(found.rows.size());
    for (std::size_t i = 0; i < found.rows.size(); ++i) found.times[i] = bag.multiplicity(first_row + found.rows[i]);
    return found;
}

}  // namespace hedgerow
