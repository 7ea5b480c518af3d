// Histogram: rows of some nodes -> their sums in the bins of some features.
//
// Sums are whole numbers, so the parts of a table can be added in any order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/rows/codes.hpp"

namespace hedgerow {

// Which features of which nodes: those of node i are features[start[i]] … features[start[i + 1] - 1].
struct Requests {
    std::span<const std::int64_t> start;
    std::span<const std::uint32_t> features;
};

// What rows add to their bins. A row adds its amount to the cell of its class (or to the only one); in a regression it adds
// its amount and its sum; and it adds 1 to the last cell. The rows of node i are rows[start[i]] … rows[start[i + 1] - 1].
template <class Cell>
struct RowAmounts {
    std::span<const std::int64_t> start;
    std::span<const std::uint32_t> rows;
    std::span<const Cell> amounts;                               // in the order of `rows`
    std::optional<std::span<const Cell>> sums;                   // in a regression, in the same order
    std::optional<std::span<const std::uint16_t>> labels;        // of all rows of the part; absent if rows have no classes
    std::uint32_t n_cells = 2;                                   // of a bin

    void check(std::size_t n_rows) const {
        if (labels && labels->size() != n_rows) throw std::invalid_argument("labels must have one entry for each row");
        if (amounts.size() != rows.size() || (sums && sums->size() != rows.size()))
            throw std::invalid_argument("amounts must have one entry for each row that reaches a node");
    }
};

// One feature after the other; each has n_bins + 1 bins, the last for missing values, and a bin has n_cells.
template <class Code, class Cell>
std::vector<Cell> sum_bins(const CodeColumns<Code>& codes, std::span<const std::int64_t> n_bins, const RowAmounts<Cell>& given,
                           const Requests& requests) {
    const std::size_t width = given.n_cells;
    const CodeView<Code> view = codes.view();
    given.check(codes.n_rows);
    const std::uint16_t* labels = given.labels ? given.labels->data() : nullptr;
    const Cell *amounts = given.amounts.data(), *sums = given.sums ? given.sums->data() : nullptr;
    const std::uint32_t* rows = given.rows.data();
    if (n_bins.size() != codes.n_features) throw std::invalid_argument("n_bins must have one entry for each feature");
    std::size_t size = 0;
    for (const std::uint32_t feature : requests.features) size += static_cast<std::size_t>(n_bins[feature] + 1) * width;
    std::vector<Cell> cells(size, 0);
    Cell* out = cells.data();
    for (std::size_t node = 0; node + 1 < requests.start.size(); ++node)
        for (std::int64_t request = requests.start[node]; request < requests.start[node + 1]; ++request) {
            const std::uint32_t feature = requests.features[static_cast<std::size_t>(request)];
            const auto last = static_cast<std::size_t>(n_bins[feature]);
            const Code* column = view.column(feature);
            for (std::int64_t i = given.start[node], end = given.start[node + 1]; i < end; ++i) {
                const std::uint32_t row = rows[i];
                const Code code = column[row * view.row_stride];
                Cell* bin = out + (code == missing_code<Code> ? last : std::size_t{code}) * width;
                bin[labels ? labels[row] : 0] += amounts[i];
                if (sums) bin[1] += sums[i];
                bin[width - 1] += 1;
            }
            out += (last + 1) * width;
        }
    return cells;
}

}  // namespace hedgerow
