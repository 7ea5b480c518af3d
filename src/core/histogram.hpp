// Histogram: rows of a part of the table, and the node each is in -> what they add up to in the bins of some features.
//
// Sums are whole numbers, so the parts of a table can be added in any order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes.hpp"

namespace hedgerow {

// Which features of which nodes: those of node i are features[start[i]] … features[start[i + 1] - 1].
struct Requests {
    const std::int64_t* start = nullptr;
    const std::uint32_t* features = nullptr;
    std::size_t n_nodes = 0;
};

// What a row adds to its bin: to the cell of its class (or the only one) its amount; in a regression its amount and its
// sum; and to the last cell always one row.
template <class Cell>
struct RowAmounts {
    const std::int32_t* node = nullptr;     // -1: in none of the nodes
    const std::uint16_t* labels = nullptr;  // null: all rows alike
    const Cell* amounts = nullptr;
    const Cell* sums = nullptr;             // of a regression
    std::uint32_t n_cells = 2;              // of a bin
};

// Rows by node, ascending within each.
inline std::vector<std::uint32_t> rows_by_node(const std::int32_t* node, std::size_t n_rows, std::size_t n_nodes,
                                               std::vector<std::size_t>& start) {
    start.assign(n_nodes + 1, 0);
    for (std::size_t row = 0; row < n_rows; ++row)
        if (node[row] >= 0) ++start[node[row] + 1];
    for (std::size_t i = 0; i < n_nodes; ++i) start[i + 1] += start[i];
    std::vector<std::uint32_t> rows(start[n_nodes]);
    std::vector<std::size_t> fill(start.begin(), start.end() - 1);
    for (std::size_t row = 0; row < n_rows; ++row)
        if (node[row] >= 0) rows[fill[node[row]]++] = static_cast<std::uint32_t>(row);
    return rows;
}

// One feature after the other: n_bins + 1 bins, the last for missing values, of n_cells each; `out` is zeroed.
template <class Code, class Cell>
inline void sum_bins(const CodeView<Code>& view, std::size_t n_rows, const std::int64_t* n_bins, const RowAmounts<Cell>& amounts,
                     const Requests& requests, Cell* out) {
    std::vector<std::size_t> start;
    const std::vector<std::uint32_t> rows = rows_by_node(amounts.node, n_rows, requests.n_nodes, start);
    const std::size_t width = amounts.n_cells;
    for (std::size_t node = 0; node < requests.n_nodes; ++node)
        for (std::int64_t request = requests.start[node]; request < requests.start[node + 1]; ++request) {
            const std::uint32_t feature = requests.features[request];
            const auto last = static_cast<std::size_t>(n_bins[feature]);
            const Code* column = view.column(feature);
            for (std::size_t i = start[node]; i < start[node + 1]; ++i) {
                const std::uint32_t row = rows[i];
                const Code code = column[row * view.row_stride];
                Cell* bin = out + (code == missing_code<Code> ? last : std::size_t{code}) * width;
                bin[amounts.labels ? amounts.labels[row] : 0] += amounts.amounts[row];
                if (amounts.sums) bin[1] += amounts.sums[row];
                bin[width - 1] += 1;
            }
            out += (last + 1) * width;
        }
}

}  // namespace hedgerow
