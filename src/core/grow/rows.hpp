// Rows of a tree, and of each of its nodes from the root down.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/kit/attributes.hpp"
#include "core/rows/bag.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

// The rows of a node: a range of in-bag rows, and one of out-of-bag rows, which are only counted in leaves.
struct RowSpan {
    std::uint32_t begin = 0, end = 0, outside_begin = 0, outside_end = 0;
    int level = 0;  // 0: rows point into the table; above: into codes copied side by side

    std::uint32_t size() const { return end - begin; }
    std::uint32_t outside_size() const { return outside_end - outside_begin; }
};

// Each grower has one, whose memory is used for one tree after another.
template <class Row>
class TreeRows {
public:
    explicit TreeRows(const AnyTable& table) : table_(table) {
        // A row-major table that fits the cache is read directly; a larger one column by column until compacted.
        views_[0] = table.by_row.codes && table.n_rows <= level_rows[1] ? table.by_row : table.by_column;
    }

    // Every entry is written to both lists and kept in one of them, so there is no branch to mispredict.
    template <class Source>
    RowSpan take(const Source& source, const Bag& bag, bool counts_outside) {
        const std::uint32_t* row_of = Row::rows_of(source);
        const std::size_t n_entries = row_of ? source.n_entries : table_.n_rows;
        std::size_t n_inside = 0, n_outside = 0;
        // The bag of a large table is drawn twice: two lists with room for all rows would take twice the memory.
        for (std::size_t entry = 0; n_entries > level_rows[1] && entry < n_entries; ++entry)
            n_inside += bag.multiplicity(row_of ? row_of[entry] : entry) > 0;
        inside_.resize(n_inside > 0 ? n_inside + 1 : n_entries);
        outside_.resize(n_inside > 0 ? n_entries - n_inside + 1 : n_entries);
        n_inside = 0;
        for (std::size_t entry = 0; entry < n_entries; ++entry) {
            const std::size_t row = row_of ? row_of[entry] : entry;
            const bool follows = row_of && entry > 0 && row_of[entry - 1] == row;
            const std::uint32_t times = bag.multiplicity(row);
            inside_[n_inside] = outside_[n_outside] =
                Row::make(source, {entry, static_cast<std::uint32_t>(row), times, follows});
            n_inside += times > 0;
            n_outside += times == 0;
        }
        const RowSpan all = keep(n_inside, counts_outside ? n_outside : 0);
        Row::balance(source, inside_, outside_);
        return all;
    }
    // Rows begin, …, end - 1 of the table, with given multiplicities, which their weights include.
    template <class Source>
    RowSpan take(const Source& source, const std::uint16_t* times, std::uint32_t begin, std::uint32_t end,
                 bool counts_outside) {
        inside_.resize(end - begin);
        outside_.resize(inside_.size());
        std::size_t n_inside = 0, n_outside = 0;
        for (std::uint32_t row = begin; row < end; ++row)
            (times[row] > 0 ? inside_[n_inside++] : outside_[n_outside++]) =
                Row::make_inside(source, {row, row, times[row], false});
        return keep(n_inside, counts_outside ? n_outside : 0);
    }

    const Row* inside(const RowSpan& span) const { return inside_.data() + span.begin; }
    const Row* outside(const RowSpan& span) const { return outside_.data() + span.outside_begin; }
    const AnyView& view(const RowSpan& span) const { return views_[span.level]; }
    std::int64_t amount(const RowSpan& span) const {
        std::int64_t sum = 0;
        for (std::uint32_t i = span.begin; i < span.end; ++i) sum += inside_[i].amount();
        return sum;
    }

    // Copies the codes of the rows of a node side by side once it is small enough, and points the rows there, so that
    // the whole subtree works in the cache.
    void compact(RowSpan& span) {
        int level = span.level;
        while (level + 1 < n_levels && span.size() <= level_rows[level + 1]) ++level;
        // It does not pay for a handful of rows, or if most of the surrounding rows would be copied.
        const std::uint64_t around = span.level == 0 ? table_.n_rows : level_rows[span.level];
        if (level == span.level || !table_.by_row.codes || span.size() < 32 || 4 * std::uint64_t{span.size()} > around)
            return;
        const AnyView source = span.level == 0 ? table_.by_row : views_[span.level];
        const std::size_t n_bytes = table_.by_row.row_stride * source.code_size();  // a multiple of 8
        const std::size_t n_rows = std::size_t{span.size()} + span.outside_size();
        std::vector<std::byte>& buffer = copies_[level];
        if (buffer.size() < n_rows * n_bytes) buffer.resize(n_rows * n_bytes);
        copy_codes(source, inside_.data() + span.begin, span.size(), 0, buffer.data(), n_bytes);
        copy_codes(source, outside_.data() + span.outside_begin, span.outside_size(), span.size(), buffer.data(),
                   n_bytes);
        views_[level] = table_.by_row;
        views_[level].codes = buffer.data();
        span.level = level;
    }

    // Moves the rows that go left to the front, keeping the order on each side. Returns where the right side begins.
    template <class GoesRight>
    std::uint32_t divide_inside(const RowSpan& span, std::uint32_t feature, GoesRight goes_right) {
        return divide(inside_, span.begin, span.end, view(span), feature, goes_right);
    }
    template <class GoesRight>
    std::uint32_t divide_outside(const RowSpan& span, std::uint32_t feature, GoesRight goes_right) {
        return divide(outside_, span.outside_begin, span.outside_end, view(span), feature, goes_right);
    }
    // Sorts the in-bag rows by child, given the sizes of the children. Returns where each child begins.
    template <class ChildOf>
    std::vector<std::uint32_t> deal_inside(const RowSpan& span, const std::vector<std::uint32_t>& child_rows,
                                           ChildOf&& child_of) {
        std::vector<std::uint32_t> start(child_rows.size() + 1, 0);
        for (std::size_t child = 0; child < child_rows.size(); ++child)
            start[child + 1] = start[child] + child_rows[child];
        std::vector<std::uint32_t> next = start;
        for (std::uint32_t i = span.begin; i < span.end; ++i) scratch_[next[child_of(inside_[i])]++] = inside_[i];
        std::copy_n(scratch_.data(), span.size(), inside_.data() + span.begin);
        return start;
    }

private:
    static constexpr int n_levels = 4;
    static constexpr std::uint32_t level_rows[n_levels] = {0xffffffff, 65536, 8192, 1024};

    RowSpan keep(std::size_t n_inside, std::size_t n_outside) {
        inside_.resize(n_inside);
        outside_.resize(n_outside);
        scratch_.resize(std::max(n_inside, n_outside));
        return {0, static_cast<std::uint32_t>(n_inside), 0, static_cast<std::uint32_t>(n_outside), 0};
    }

    // Copies the codes of `rows` to rows first, first + 1, … of the buffer, and points the rows there.
    static void copy_codes(const AnyView& source, Row* rows, std::uint32_t n_rows, std::uint32_t first,
                           std::byte* buffer, std::size_t n_bytes) {
        const std::size_t stride = source.row_stride * source.code_size();
        for (std::uint32_t i = 0; i < n_rows; ++i) {
            const std::byte* from = source.codes + rows[i].offset * stride;
            std::byte* to = buffer + (first + i) * n_bytes;
            for (std::size_t at = 0; at < n_bytes; at += 8) std::memcpy(to + at, from + at, 8);
        }
        for (std::uint32_t i = 0; i < n_rows; ++i) rows[i].offset = first + i;
    }

    // A row is moved as one to three words, not member by member.
    using Bits = std::conditional_t<sizeof(Row) == 8, std::uint64_t, std::array<std::uint64_t, sizeof(Row) / 8>>;
    static std::uint32_t offset_in(const Bits& bits) {
        if constexpr (sizeof(Row) > 8) return static_cast<std::uint32_t>(bits[0]);
        else return static_cast<std::uint32_t>(bits);
    }

    template <class GoesRight>
    HEDGEROW_NOINLINE std::uint32_t divide(std::vector<Row>& all, std::uint32_t begin, std::uint32_t end,
                                           const AnyView& any, std::uint32_t feature, GoesRight goes_right) {
        return any.visit([&](const auto& view) {
            return divide_by(all.data(), begin, end, view.column(feature), view.row_stride, goes_right);
        });
    }

    // Stable and without branches; rows that go right are kept in scratch memory meanwhile.
    template <class Code, class GoesRight>
    std::uint32_t divide_by(Row* rows, std::uint32_t begin, std::uint32_t end, const Code* column, std::size_t stride,
                            GoesRight goes_right) {
        Row* waiting = scratch_.data();
        std::uint32_t n_left = begin, n_right = 0;
        for (std::uint32_t i = begin; i < end; ++i) {
            const auto row = std::bit_cast<Bits>(rows[i]);
            const bool right = goes_right(column[offset_in(row) * stride]);
            std::memcpy(static_cast<void*>(rows + n_left), &row, sizeof row);
            std::memcpy(static_cast<void*>(waiting + n_right), &row, sizeof row);
            n_left += !right;
            n_right += right;
        }
        std::copy_n(waiting, n_right, rows + n_left);
        return n_left;
    }

    const AnyTable table_;
    std::vector<Row> inside_, outside_, scratch_;
    std::vector<std::byte> copies_[n_levels];
    AnyView views_[n_levels];
};

}  // namespace hedgerow
