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

// Rows that are known to be in some nodes: those of nodes[i] are rows[start[i]] … rows[start[i + 1] - 1], in ascending order.
struct Begun {
    std::span<const std::uint32_t> nodes, rows;
    std::span<const std::int64_t> start;
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

    // Takes the rows of one block, which are in a node: the first n_rows of the vector, which has room for one more.
    void take(std::uint32_t node, std::vector<std::uint32_t>& rows, std::size_t n_rows) {
        others_.resize(rows.size());
        waiting_.push_back({node, 0, n_rows});
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

    // Puts the rows of one child after those of the other, and all children on the list.
    void divide(const Span& span, std::uint32_t* rows) {
        const Node node = tree_.nodes[span.node];
        Span left = span;
        left.node = node.child();
        if (node.kind() == NodeKind::threshold) {  // in a loop of its own, without a look at the node for each row
            const std::uint32_t missing_left = node.missing_left(), bound = node.code() + missing_left;
            left = part(left, rows, node.feature(), [=](Code code) { return static_cast<Code>(code + missing_left) <= bound; });
        } else {
            for (const std::uint32_t last = left.node + n_children(tree_, span.node) - 1; left.node < last;)
                left = part(left, rows, node.feature(), [&](Code code) { return child_for<Ready::for_all>(tree_, span.node, code) == left.node; });
        }
        waiting_.push_back(left);
    }
    // Puts the rows first that stay, and their node on the list. -> the next node, with the others
    template <class Stays>
    Span part(const Span& span, std::uint32_t* all_rows, std::uint32_t feature, Stays&& stays) {
        const Code* column = view_.column(feature);
        std::uint32_t *rows = all_rows + span.first, *mine = rows, *other = others_.data();
        // Both lists are written to, and only one of them advances, so there is no branch that could be mispredicted.
        for (std::size_t i = 0; i < span.n_rows; ++i) {
            const std::uint32_t row = rows[i];
            const bool kept = stays(column[row * view_.row_stride]);
            *mine = *other = row;
            mine += kept;
            other += !kept;
        }
        std::copy(others_.data(), other, mine);
        const auto n_mine = static_cast<std::size_t>(mine - rows);
        waiting_.push_back({span.node, span.first, n_mine});
        return {span.node + 1, span.first + n_mine, span.n_rows - n_mine};
    }

    TreeView tree_;
    CodeView<Code> view_;
    Places asked_;
    std::vector<std::uint8_t> wanted_;  // whether the node, or one below it, is wanted
    std::vector<std::vector<std::uint32_t>> of_place_;
    std::vector<std::uint32_t> others_;
    std::vector<Span> waiting_;
};

// The part begins with row `first_row` of the table and has `n_rows`; those that are not in the bag are included only with
// `outside`. With `begun`, rows start where they are known to be instead of at the root; all asked nodes must be below these.
template <class Code>
Arrived find_arrived(const TreeView& tree, const CodeView<Code>& codes, std::size_t n_rows, const Places& asked, const Bag& bag,
                     std::size_t first_row, bool outside, const Begun* begun = nullptr) {
    constexpr std::size_t block = 16384;
    Arrival<Code> arrival(tree, codes, asked);
    std::vector<std::uint32_t> rows(std::min(block, n_rows) + 1);
    for (std::size_t i = 0; begun != nullptr && i < begun->nodes.size(); ++i)
        for (auto first = static_cast<std::size_t>(begun->start[i]), end = static_cast<std::size_t>(begun->start[i + 1]); first < end;) {
            const std::size_t size = std::min(rows.size() - 1, end - first);
            std::copy_n(begun->rows.data() + first, size, rows.data());
            arrival.take(begun->nodes[i], rows, size);
            first += size;
        }
    for (std::size_t first = 0; begun == nullptr && first < n_rows; first += block) {
        const std::size_t last = std::min(first + block, n_rows);
        std::size_t n_inside = 0;
        for (std::size_t row = first; row < last; ++row) {
            rows[n_inside] = static_cast<std::uint32_t>(row);
            n_inside += outside || bag.holds(first_row + row);
        }
        arrival.take(0, rows, n_inside);
    }
    Arrived found = arrival.found();
    found.times.resize(found.rows.size());
    for (std::size_t i = 0; i < found.rows.size(); ++i) found.times[i] = bag.multiplicity(first_row + found.rows[i]);
    return found;
}

}  // namespace hedgerow
