// Sums of the rows of nodes in the bins of features.
//
// Sums are whole numbers, so the parts of a table can be added in any order.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/rows/codes.hpp"

namespace hedgerow {

// Features of nodes: those of node i are features[start[i]] … features[start[i + 1] - 1].
struct Requests {
    std::span<const std::int64_t> start;
    std::span<const std::uint32_t> features;

    std::span<const std::uint32_t> of(std::size_t node) const {
        const auto first = static_cast<std::size_t>(start[node]), last = static_cast<std::size_t>(start[node + 1]);
        return features.subspan(first, last - first);
    }
};

// Layout of sums: one feature after the other; each has n_bins + 1 bins, the last for missing values, and each bin has
// n_cells.
struct BinLayout {
    std::span<const std::int64_t> n_bins;
    std::size_t n_cells = 2;

    std::size_t size(std::uint32_t feature) const {
        if (feature >= n_bins.size())
            throw std::invalid_argument("features must be below " + std::to_string(n_bins.size()) + ", got " +
                                        std::to_string(feature));
        return static_cast<std::size_t>(n_bins[feature] + 1) * n_cells;
    }
    std::size_t size(std::span<const std::uint32_t> features) const {
        std::size_t sum = 0;
        for (const std::uint32_t feature : features) sum += size(feature);
        return sum;
    }
};

// Contributions of rows to their bins. A row adds its amount to the cell of its class (or to the only one); in a
// regression it adds its amount and its sum; and it adds 1 to the last cell. The rows of node i are rows[start[i]] …
// rows[start[i + 1] - 1].
template <class Cell>
struct RowAmounts {
    std::span<const std::int64_t> start;
    std::span<const std::uint32_t> rows;
    std::span<const Cell> amounts;                         // in the order of `rows`
    std::optional<std::span<const Cell>> sums;             // in a regression, in the same order
    std::optional<std::span<const std::uint16_t>> labels;  // of all rows of the part; absent in a regression
    std::uint32_t n_cells = 2;                             // per bin

    void check(std::size_t n_rows) const {
        if (labels && labels->size() != n_rows) throw std::invalid_argument("labels must have one entry per row");
        if (amounts.size() != rows.size() || (sums && sums->size() != rows.size()))
            throw std::invalid_argument("amounts must have one entry per row that reaches a node");
    }
};

// Sums the rows of one node in the bins of one feature after another.
template <class Code, class Cell>
class BinSums {
public:
    BinSums(const CodeView<Code>& view, std::span<const std::int64_t> n_bins, const RowAmounts<Cell>& given)
        : view_(view), layout_{n_bins, given.n_cells}, given_(given) {}

    std::size_t size(std::span<const std::uint32_t> features) const { return layout_.size(features); }
    // Returns the end of the cells.
    Cell* add(std::size_t node, std::span<const std::uint32_t> features, Cell* cells) const {
        const auto first = static_cast<std::size_t>(given_.start[node]),
                   end = static_cast<std::size_t>(given_.start[node + 1]);
        std::size_t n_cells = 0;
        for (std::size_t block = first; block < end; block += together, n_cells = 0)
            for (const std::uint32_t feature : features) {
                add_block(block, std::min(block + together, end), feature, cells + n_cells);
                n_cells += layout_.size(feature);
            }
        return cells + size(features);
    }

private:
    static constexpr std::size_t together = 512;  // rows read for all features while their codes are in the cache

    std::size_t bin_of(Code code, std::uint32_t feature) const {
        return code == missing_code<Code> ? static_cast<std::size_t>(layout_.n_bins[feature]) : std::size_t{code};
    }
    void add_block(std::size_t first, std::size_t last, std::uint32_t feature, Cell* cells) const {
        const Code* column = view_.column(feature);
        const std::size_t width = layout_.n_cells;
        const std::uint16_t* labels = given_.labels ? given_.labels->data() : nullptr;
        for (std::size_t i = first; i < last; ++i) {
            const std::uint32_t row = given_.rows[i];
            Cell* bin = cells + bin_of(column[row * view_.row_stride], feature) * width;
            bin[labels ? labels[row] : 0] += given_.amounts[i];
            if (given_.sums) bin[1] += (*given_.sums)[i];
            bin[width - 1] += 1;
        }
    }

    const CodeView<Code> view_;
    const BinLayout layout_;
    const RowAmounts<Cell>& given_;
};

// Sums of all nodes, one after another, in the layout of `BinLayout`. The part has `n_rows`.
template <class Code, class Cell>
std::vector<Cell> sum_bins(const CodeView<Code>& view, std::size_t n_rows, std::span<const std::int64_t> n_bins,
                           const RowAmounts<Cell>& given, const Requests& requests) {
    given.check(n_rows);
    BinSums<Code, Cell> sums(view, n_bins, given);
    std::vector<Cell> cells(sums.size(requests.features), 0);
    Cell* out = cells.data();
    for (std::size_t node = 0; node + 1 < requests.start.size(); ++node) out = sums.add(node, requests.of(node), out);
    return cells;
}

}  // namespace hedgerow
