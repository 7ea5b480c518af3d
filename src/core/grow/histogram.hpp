// Histogram: rows of some nodes -> what they add up to in the bins of some features.
//
// Sums are whole numbers, so the parts of a table can be added in any order.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/rows/codes.hpp"

namespace hedgerow {

// Which features of which nodes: those of node i are features[start[i]] … features[start[i + 1] - 1].
struct Requests {
    const std::int64_t* start = nullptr;
    const std::uint32_t* features = nullptr;
    std::size_t n_nodes = 0;
};

// What rows add to their bins: to the cell of its class (or the only one) a row's amount; in a regression its amount and
// its sum; and to the last cell always one row. Those of node i are rows[start[i]] … rows[start[i + 1] - 1].
template <class Cell>
struct RowAmounts {
    const std::int64_t* start = nullptr;
    const std::uint32_t* rows = nullptr;
    const Cell* amounts = nullptr;          // in the order of `rows`
    const Cell* sums = nullptr;             // of a regression, likewise
    const std::uint16_t* labels = nullptr;  // of all rows of the part; null: all rows alike
    std::uint32_t n_cells = 2;              // of a bin
};

// One feature after the other: n_bins + 1 bins, the last for missing values, of n_cells each; `out` is zeroed.
template <class Code, class Cell>
inline void sum_bins(const CodeView<Code>& view, const std::int64_t* n_bins, const RowAmounts<Cell>& given, const Requests& requests,
                     Cell* out) {
    const std::size_t width = given.n_cells;
    for (std::size_t node = 0; node < requests.n_nodes; ++node)
        for (std::int64_t request = requests.start[node]; request < requests.start[node + 1]; ++request) {
            const std::uint32_t feature = requests.features[request];
            const auto last = static_cast<std::size_t>(n_bins[feature]);
            const Code* column = view.column(feature);
            for (std::int64_t i = given.start[node]; i < given.start[node + 1]; ++i) {
                const std::uint32_t row = given.rows[i];
                const Code code = column[row * view.row_stride];
                Cell* bin = out + (code == missing_code<Code> ? last : std::size_t{code}) * width;
                bin[given.labels ? given.labels[row] : 0] += given.amounts[i];
                if (given.sums) bin[1] += given.sums[i];
                bin[width - 1] += 1;
            }
            out += (last + 1) * width;
        }
}

}  // namespace hedgerow
