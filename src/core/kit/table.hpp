// Table: rows and columns of numbers, as a view or with memory of its own.
#pragma once
#include <array>
#include <cstddef>
#include <memory>

namespace hedgerow {

template <class T>
struct Table {
    T* data = nullptr;
    std::size_t n_rows = 0, n_columns = 0;
};

// The same with more axes than two.
template <class T, std::size_t n_axes>
struct Box {
    T* data = nullptr;
    std::array<std::size_t, n_axes> shape{};
};

// Memory that is not initialised.
template <class T>
struct OwnTable {
    std::unique_ptr<T[]> data;
    std::size_t n_rows = 0, n_columns = 0;

    OwnTable(std::size_t rows, std::size_t columns)
        : data(std::make_unique_for_overwrite<T[]>(rows * columns)), n_rows(rows), n_columns(columns) {}
};

}  // namespace hedgerow
