// Exact sums of squares of 64-bit numbers in 128 bits.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace hedgerow {

#if defined(__SIZEOF_INT128__) && !defined(HEDGEROW_PORTABLE)

__extension__ using WideInteger = __int128;
inline WideInteger wide_square(std::int64_t value) { return static_cast<WideInteger>(value) * value; }

#else

// For MSVC and 32-bit processors, which have no 128-bit integer: two words with carry.
class WideInteger {
public:
    WideInteger(std::uint64_t low = 0, std::uint64_t high = 0) : low_(low), high_(high) {}
    WideInteger& operator+=(const WideInteger& other) {
        low_ += other.low_;
        high_ += other.high_ + (low_ < other.low_);
        return *this;
    }
    WideInteger& operator-=(const WideInteger& other) {
        high_ -= other.high_ + (low_ < other.low_);
        low_ -= other.low_;
        return *this;
    }
    friend WideInteger operator-(WideInteger one, const WideInteger& other) { return one -= other; }
    // The nearest double of a non-negative number, ties to even.
    explicit operator double() const {
        if (high_ == 0) return static_cast<double>(low_);
        const int empty = std::countl_zero(high_);
        const std::uint64_t shifted = empty == 0 ? high_ : high_ << empty | low_ >> (64 - empty);
        return std::ldexp(static_cast<double>(shifted | (low_ << empty != 0)), 64 - empty);
    }

private:
    std::uint64_t low_, high_;
};

inline WideInteger wide_square(std::int64_t value) {
    const std::uint64_t size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const std::uint64_t high = size >> 32, low = size & 0xffffffff, cross = high * low;  // (2³² high + low)²
    WideInteger sum(low * low, high * high);
    sum += WideInteger(cross << 33, cross >> 31);
    return sum;
}

#endif

}  // namespace hedgerow
