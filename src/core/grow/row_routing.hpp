// Routing of the rows of a part of the table to the nodes of a growing top.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/grow/histogram.hpp"
#include "core/kit/vectors.hpp"
#include "core/read/tree.hpp"
#include "core/read/walk.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

// The top of a tree, as far as it has grown.
struct TopView {
    TreeView tree;
    std::size_t n_nodes = 0;
};

// The rows of place i are rows[start[i]] … rows[start[i + 1] - 1], ascending; `times` are their multiplicities.
struct RoutedRows {
    std::vector<std::uint32_t> rows, times;
    std::vector<std::int64_t> start;
};

// Rows of a part, node by node: in-bag rows (`inside`), out-of-bag rows, or both. They are one list, in which splitting
// a node permutes only its own rows, as in a grower.
class RowsInNodes {
public:
    // The part begins with row `first_row` of the table and has `n_rows`, all in the root.
    RowsInNodes(const Bag& bag, std::size_t first_row, std::size_t n_rows, bool inside, bool outside)
        : bag_(bag),
          first_row_(first_row),
          n_rows_(n_rows),
          n_bits_(static_cast<std::uint32_t>(std::bit_width(n_rows))),
          is_divided_(1),
          spans_(1) {
        if (n_bits_ > 31) throw std::invalid_argument("a part must have fewer than 2^31 rows");
        entries_.resize(n_rows + 1);
        std::size_t n_taken = 0;
        for (std::size_t row = 0; row < n_rows; ++row) {
            const std::uint32_t times = bag.multiplicity(first_row + row);
            entries_[n_taken] = static_cast<std::uint32_t>(row) | std::min(times, most()) << n_bits_;
            n_taken += times > 0 ? inside : outside;
        }
        entries_.resize(n_taken);
        entries_.shrink_to_fit();
        spans_[0] = {0, n_taken};
    }

    void check(std::size_t n_rows) const {
        if (n_rows != n_rows_)
            throw std::invalid_argument("codes must have " + std::to_string(n_rows_) + " rows, got " +
                                        std::to_string(n_rows));
    }
    std::size_t n_nodes() const { return spans_.size(); }
    std::size_t n_bytes() const { return entries_.capacity() * sizeof(std::uint32_t); }

    // The rows of some nodes of the top; with `keeps`, all rows move to the ends of the top, where a later call can
    // begin.
    template <class Code>
    RoutedRows rows(const TopView& top, const CodeView<Code>& codes, std::span<const std::uint32_t> nodes, bool keeps) {
        advance(top, codes, nodes, keeps, [](std::uint32_t, const std::uint32_t*, std::size_t) {});
        RoutedRows found;
        found.start.push_back(0);
        for (const std::uint32_t node : nodes)
            found.start.push_back(found.start.back() + static_cast<std::int64_t>(spans_[node].size()));
        found.rows.reserve(static_cast<std::size_t>(found.start.back()));
        found.times.reserve(found.rows.capacity());
        for (const std::uint32_t node : nodes)
            for (std::size_t i = spans_[node].begin; i < spans_[node].end; ++i) {
                found.rows.push_back(row_of(entries_[i]));
                found.times.push_back(times_of(entries_[i]));
            }
        return found;
    }

    // Sums of these rows in the bins of some features, in the layout of `sum_bins` (histogram.hpp): a row adds its
    // multiplicity to the cell of its label. Rows are summed while a block of them is in the cache because it was just
    // divided.
    template <class Code>
    std::vector<std::uint32_t> sums(const TopView& top, const CodeView<Code>& codes,
                                    std::span<const std::uint32_t> nodes, bool keeps,
                                    std::span<const std::int64_t> n_bins,
                                    const std::optional<std::span<const std::uint16_t>>& labels, std::size_t n_cells,
                                    const Requests& asked) {
        const BinLayout layout{n_bins, n_cells};
        std::vector<std::int32_t> place(top.n_nodes, -1);
        std::vector<std::size_t> first{0};
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i] >= top.n_nodes)
                throw std::invalid_argument("nodes must be below " + std::to_string(top.n_nodes) + ", got " +
                                            std::to_string(nodes[i]));
            place[nodes[i]] = static_cast<std::int32_t>(i);
            first.push_back(first.back() + layout.size(asked.of(i)));
        }
        std::vector<std::uint32_t> cells(first.back(), 0);
        std::vector<std::uint8_t> is_summed(nodes.size(), 0);
        const auto add = [&](std::uint32_t node, const std::uint32_t* entries, std::size_t n) {
            if (place[node] < 0) return;
            const auto i = static_cast<std::size_t>(place[node]);
            is_summed[i] = 1;
            add_entries(codes, entries, n, asked.of(i), layout, labels ? labels->data() : nullptr,
                        cells.data() + first[i]);
        };
        advance(top, codes, nodes, keeps, add);
        for (const std::uint32_t node : nodes)
            if (!is_summed[static_cast<std::size_t>(place[node])])
                add(node, entries_.data() + spans_[node].begin, spans_[node].size());
        return cells;
    }

private:
    struct Span {
        std::size_t begin = 0, end = 0;
        std::size_t size() const { return end - begin; }
    };
    static constexpr std::size_t block = 2048;  // rows that are divided, and then summed
    static constexpr std::size_t ahead =
        24;  // rows whose codes are prefetched: tops of trees take two thirds of the time
    static constexpr std::size_t together = 512;  // rows that are summed for one feature after another

    // An entry is the number of a row and, in the bits above it, its multiplicity. There is room for at least one bit;
    // the highest value means that the bag must be looked up.
    std::uint32_t most() const { return std::min(7U, 0xffffffff >> n_bits_); }
    std::uint32_t row_of(std::uint32_t entry) const { return entry & ((std::uint32_t{1} << n_bits_) - 1); }
    std::uint32_t times_of(std::uint32_t entry) const {
        const std::uint32_t times = entry >> n_bits_;
        return times < most() ? times : bag_.multiplicity(first_row_ + row_of(entry));
    }

    // Divides the nodes that the top has split since; without `keeps`, only ancestors of `nodes`. add(child, entries,
    // their number) is called for each block of rows that has reached a node which is not divided again.
    template <class Code, class Add>
    void advance(const TopView& top, const CodeView<Code>& codes, std::span<const std::uint32_t> nodes, bool keeps,
                 const Add& add) {
        if (top.n_nodes < n_nodes()) throw std::invalid_argument("a top must not have fewer nodes than before");
        spans_.resize(top.n_nodes);
        is_divided_.resize(top.n_nodes);
        const std::vector<std::uint8_t> wanted = wanted_in(top, nodes, keeps);
        std::vector<std::uint32_t> others;
        for (std::uint32_t at = 0; at < top.n_nodes; ++at) {  // children come after their parents
            const std::uint32_t n = n_children(top.tree, at);
            if (n == 0 || is_divided_[at] || !wanted[at]) continue;
            const std::uint32_t first = first_child(top.tree, at);
            if (first <= at || first + n > top.n_nodes)
                throw std::invalid_argument("children must be nodes of the top, after their parents");
            divide(top.tree, at, n, codes, others, add);
            is_divided_[at] = 1;
        }
    }
    static std::vector<std::uint8_t> wanted_in(const TopView& top, std::span<const std::uint32_t> nodes, bool keeps) {
        std::vector<std::uint8_t> wanted(top.n_nodes, keeps);
        for (const std::uint32_t node : nodes) wanted.at(node) = 1;
        for (std::size_t at = top.n_nodes; at-- > 0;) {
            const auto node = static_cast<std::uint32_t>(at);
            for (std::uint32_t side = 0; side < n_children(top.tree, node); ++side)
                wanted[at] |= wanted.at(first_child(top.tree, node) + side);
        }
        return wanted;
    }
    template <class Code, class Add>
    void divide(const TreeView& tree, std::uint32_t at, std::uint32_t n, const CodeView<Code>& codes,
                std::vector<std::uint32_t>& others, const Add& add) {
        const Node node = tree.nodes[at];
        Span rest = spans_[at];
        if (others.size() <= rest.size()) others.resize(rest.size() + 1);
        const std::uint32_t first = node.child(), last = first + n - 1;
        if (node.kind() == NodeKind::threshold) {  // a separate loop that does not load the node for each row
            const std::uint32_t missing_left = node.missing_left(), bound = node.code() + missing_left;
            rest = part(rest, first, true, codes, node.feature(), others.data(), add,
                        [=](Code code) { return static_cast<Code>(code + missing_left) <= bound; });
        } else {
            for (std::uint32_t child = first; child < last; ++child)
                rest = part(rest, child, child + 1 == last, codes, node.feature(), others.data(), add,
                            [&](Code code) { return child_for<Ready::for_all>(tree, at, code) == child; });
        }
        spans_[last] = rest;
    }
    // Moves the rows of a child, which stay, to the front, and returns the others.
    template <class Code, class Add, class Stays>
    Span part(const Span& span, std::uint32_t child, bool is_last, const CodeView<Code>& codes, std::uint32_t feature,
              std::uint32_t* others, const Add& add, const Stays& stays) {
        const Code* column = codes.column(feature);
        std::uint32_t *mine = entries_.data() + span.begin, *other = others;
        for (std::size_t first = span.begin; first < span.end; first += block) {
            const std::uint32_t *old_mine = mine, *old_other = other;
            // Both lists are written, and only one of them advances, so there is no branch to mispredict.
            for (std::size_t i = first; i < std::min(first + block, span.end); ++i) {
                const std::uint32_t entry = entries_[i];
                fetch(column + row_of(entries_[std::min(i + ahead, span.end - 1)]) * codes.row_stride);
                const bool kept = stays(column[row_of(entry) * codes.row_stride]);
                *mine = *other = entry;
                mine += kept;
                other += !kept;
            }
            add(child, old_mine, static_cast<std::size_t>(mine - old_mine));
            if (is_last) add(child + 1, old_other, static_cast<std::size_t>(other - old_other));
        }
        std::copy(others, other, mine);
        const auto middle = static_cast<std::size_t>(mine - entries_.data());
        spans_[child] = {span.begin, middle};
        return {middle, span.end};
    }

    template <class Code>
    void add_entries(const CodeView<Code>& codes, const std::uint32_t* entries, std::size_t n,
                     std::span<const std::uint32_t> features, const BinLayout& layout, const std::uint16_t* labels,
                     std::uint32_t* all_cells) const {
        std::size_t offset[together];
        std::uint32_t label[together], times[together];
        const std::size_t width = layout.n_cells;
        for (std::size_t first = 0; first < n; first += together) {
            const std::size_t size = std::min(together, n - first);
            for (std::size_t i = 0; i < size; ++i) {
                const std::uint32_t row = row_of(entries[first + i]);
                offset[i] = row * codes.row_stride;
                label[i] = labels ? labels[row] : 0;
                times[i] = times_of(entries[first + i]);
            }
            std::uint32_t* cells = all_cells;
            for (const std::uint32_t feature : features) {
                const Code* column = codes.column(feature);
                const auto missing = static_cast<std::size_t>(layout.n_bins[feature]);
                for (std::size_t i = 0; i < size; ++i) {
                    const Code code = column[offset[i]];
                    std::uint32_t* bin = cells + (code == missing_code<Code> ? missing : std::size_t{code}) * width;
                    bin[label[i]] += times[i];
                    bin[width - 1] += 1;
                }
                cells += layout.size(feature);
            }
        }
    }

    Bag bag_;
    std::size_t first_row_, n_rows_;
    std::uint32_t n_bits_;
    std::vector<std::uint32_t> entries_;
    std::vector<std::uint8_t> is_divided_;
    std::vector<Span> spans_;  // of undivided nodes, and of their parents before the split
};

// Finds the rows of a part that reach some nodes from the root, in blocks whose codes stay in the cache on their way.
template <class Code>
RoutedRows find_routed_rows(const TopView& top, const CodeView<Code>& codes, std::size_t n_rows,
                            std::span<const std::uint32_t> nodes, const Bag& bag, std::size_t first_row, bool inside,
                            bool outside) {
    constexpr std::size_t block = 16384;
    std::vector<std::vector<std::uint32_t>> rows(nodes.size()), times(nodes.size());
    for (std::size_t first = 0; first < n_rows; first += block) {
        const CodeView<Code> here{codes.codes + first * codes.row_stride, codes.row_stride, codes.feature_stride};
        const RoutedRows some = RowsInNodes(bag, first_row + first, std::min(block, n_rows - first), inside, outside)
                                    .rows(top, here, nodes, false);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            for (auto row = some.rows.begin() + some.start[i]; row != some.rows.begin() + some.start[i + 1]; ++row)
                rows[i].push_back(static_cast<std::uint32_t>(first) + *row);
            times[i].insert(times[i].end(), some.times.begin() + some.start[i], some.times.begin() + some.start[i + 1]);
        }
    }
    RoutedRows all;
    all.start.push_back(0);
    for (const auto& mine : rows) all.start.push_back(all.start.back() + static_cast<std::int64_t>(mine.size()));
    for (const auto& mine : rows) all.rows.insert(all.rows.end(), mine.begin(), mine.end());
    for (const auto& mine : times) all.times.insert(all.times.end(), mine.begin(), mine.end());
    return all;
}

}  // namespace hedgerow
