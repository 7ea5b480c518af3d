// Marks: the codes of the rows of a leaf -> 16 bits that say which values the leaf has seen.
//
// Of a numeric feature: the level of the smallest value, that of the largest, whether there is any value, and whether one is
// missing. Of a nominal feature: a bit for categories modulo 15, and whether a value is missing.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/rows/codes.hpp"

namespace hedgerow {

using Mark = std::uint16_t;
inline constexpr Mark mark_present = 1 << 14, mark_missing = 1 << 15;
inline constexpr std::uint32_t mark_levels = 127, mark_categories = 15;

inline std::size_t low_level(Mark mark) { return mark & 127; }
inline std::size_t high_level(Mark mark) { return (mark >> 7) & 127; }
// The level of a code of a numeric feature: its bin or, of a feature with more than 127 bins, a run of neighbouring bins.
inline std::uint32_t level_of(std::uint32_t code, std::uint32_t n_bins) { return n_bins <= mark_levels ? code : code * mark_levels / n_bins; }

// The mark of two sets of rows together.
inline Mark joined(Mark a, Mark b, bool nominal) {
    const Mark both = a | b;
    if (nominal || !(a & mark_present) || !(b & mark_present)) return both;
    const std::size_t low = std::min(low_level(a), low_level(b)), high = std::max(high_level(a), high_level(b));
    return static_cast<Mark>(low | high << 7 | mark_present | (both & mark_missing));
}

// The codes of one feature in some rows.
template <class Code>
class Seen {
public:
    // The code of missing values is the highest, so it is never the lowest one of several.
    void add_number(Code code) {
        low_ = std::min(low_, code);
        high_ = std::max(high_, code == missing_code<Code> ? Code{0} : code);
        bits_ |= code == missing_code<Code> ? mark_missing : Mark{0};
    }
    void add_category(Code code) {
        bits_ |= code == missing_code<Code> ? mark_missing : static_cast<Mark>(1 << code % mark_categories);
    }
    // Of a nominal feature without `n_bins`.
    Mark mark() const { return bits_; }
    Mark mark(std::uint32_t n_bins) const {
        if (low_ == missing_code<Code>) return bits_;
        return static_cast<Mark>(bits_ | level_of(low_, n_bins) | level_of(high_, n_bins) << 7 | mark_present);
    }

private:
    Code low_ = missing_code<Code>, high_ = 0;
    Mark bits_ = 0;
};

}  // namespace hedgerow
