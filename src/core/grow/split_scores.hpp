// Approximate Gini scores of all thresholds of up to four features, for rows of two classes.
//
// A place puts the rows with codes up to some code on the left. Its score (see score_gini_pairs) is in single precision
// and accurate to a millionth, because the difference is exact, which leaves few places to be scored exactly. A place
// with an empty side has the score NaN. Loops are compiled for vectors of 16 and of 32 bytes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/kit/attributes.hpp"
#include "core/kit/vectors.hpp"

namespace hedgerow {

#ifdef HEDGEROW_VECTORS

inline constexpr std::uint32_t score_lanes = 4;  // features scored together

// Number of rows of both classes in a node.
struct PairTotal {
    float zero, one;
};

// Scores from the counts on the left.
template <class FloatsOf>
HEDGEROW_FORCE_INLINE void score_roughly(const PairTotal& all, const FloatsOf& zero, const FloatsOf& one,
                                         FloatsOf& score) {
    const FloatsOf difference = all.zero * one - all.one * zero;
    score = difference * difference / ((zero + one) * ((all.zero - zero) + (all.one - one)));
}

// ---- few rows: every row is a place, and is compared with every other ------------------------------------

// left[i] = counts of the rows whose code is at most that of row i, as the two bytes of a number. Returns whether codes
// differ.
template <class ShortsOf, int n_registers>
HEDGEROW_FORCE_INLINE bool count_left(const std::int16_t* codes, const std::int16_t* amounts, std::uint32_t n_rows,
                                      std::int16_t* left) {
    ShortsOf own[n_registers], sums[n_registers] = {}, differs{};
    std::memcpy(own, codes, sizeof own);
    for (const ShortsOf& part : own) differs |= part ^ codes[0];
    for (std::uint32_t j = 0; j < n_rows; ++j)
        for (int part = 0; part < n_registers; ++part) sums[part] += (own[part] >= codes[j]) & amounts[j];
    std::memcpy(left, sums, sizeof sums);
    return any(differs);
}

// Scores of places whose left counts are the two bytes of a number. Returns the highest, -1 if all are NaN.
template <class HalfOf, class IntegersOf, class FloatsOf>
HEDGEROW_FORCE_INLINE float score_left(const std::int16_t* left, std::uint32_t n_places, const PairTotal& total,
                                       float* scores) {
    constexpr std::uint32_t width = sizeof(FloatsOf) / sizeof(float);
    FloatsOf highest = FloatsOf{} - 1;
    for (std::uint32_t first = 0; first < n_places; first += width) {
        HalfOf pairs;
        std::memcpy(&pairs, left + first, sizeof pairs);
        const IntegersOf counts = __builtin_convertvector(pairs, IntegersOf);
        FloatsOf score;
        score_roughly(total, __builtin_convertvector(counts & 0xff, FloatsOf),
                      __builtin_convertvector((counts >> 8) & 0xff, FloatsOf), score);
        highest = score > highest ? score : highest;
        std::memcpy(scores + first, &score, sizeof score);
    }
    float most = highest[0];
    for (std::uint32_t i = 1; i < width; ++i) most = std::max(most, highest[i]);
    return most;
}

// Codes and amounts of up to `width` rows, [feature][row] and [row]; rows may be repeated behind the first n_rows.
struct SmallPairRows {
    const std::int16_t *codes, *amounts;
    std::uint32_t n_rows, n_features;
    std::int16_t* left;  // [feature][row], filled
    float* scores;       // the same, filled if `scored`
};

// Returns how many of the features vary.
template <class ShortsOf, class HalfOf, class IntegersOf, class FloatsOf, int n_registers, bool scored>
HEDGEROW_FORCE_INLINE std::uint32_t compare_rows(const SmallPairRows& given, const PairTotal& total, float& highest) {
    constexpr std::uint32_t width = n_registers * sizeof(ShortsOf) / sizeof(std::int16_t);
    std::uint32_t n_varying = 0;
    for (std::uint32_t f = 0; f < given.n_features; ++f)
        n_varying += count_left<ShortsOf, n_registers>(given.codes + f * width, given.amounts, given.n_rows,
                                                       given.left + f * width);
    if constexpr (scored)
        highest = score_left<HalfOf, IntegersOf, FloatsOf>(given.left, given.n_features * width, total, given.scores);
    return n_varying;
}
template <int width, bool scored>
inline std::uint32_t compare_rows_plain(const SmallPairRows& given, const PairTotal& total, float& highest) {
    return compare_rows<Shorts, HalfShorts, Integers, Floats, width / 8, scored>(given, total, highest);
}
template <int width, bool scored>
HEDGEROW_WIDE inline std::uint32_t compare_rows_wide(const SmallPairRows& given, const PairTotal& total,
                                                     float& highest) {
    if constexpr (width == 8)
        return compare_rows<Shorts, Shorts, WideIntegers, WideFloats, 1, scored>(given, total, highest);
    else return compare_rows<WideShorts, Shorts, WideIntegers, WideFloats, width / 16, scored>(given, total, highest);
}

// The same for sums of both classes, the two halves of a word.
inline float score_sums(const std::uint64_t* sums, std::uint32_t n_places, const PairTotal& total, float* scores) {
    Floats highest = Floats{} - 1;
    for (std::uint32_t first = 0; first < n_places; first += 4) {
        Integers pairs[2];
        std::memcpy(pairs, sums + first, sizeof pairs);
        Floats score;
        score_roughly(total, __builtin_convertvector(firsts(pairs[0], pairs[1]), Floats),
                      __builtin_convertvector(seconds(pairs[0], pairs[1]), Floats), score);
        highest = score > highest ? score : highest;
        std::memcpy(scores + first, &score, sizeof score);
    }
    return std::max(std::max(highest[0], highest[1]), std::max(highest[2], highest[3]));
}

// ---- more rows: a bin per code ----------------------------------------------------------------------------

// Bins of four features, side by side, each with the counts of both classes as the two halves of a number.
struct PairBinsOfFour {
    std::uint32_t* bins;   // [code][feature]; cleared
    std::uint32_t* sums;   // [code][feature]: counts up to the code
    float* scores;         // [code][feature]
    float* block_highest;  // [block][feature], or several per feature: the highest scores of a block of codes
};
inline constexpr std::uint32_t score_block = 8;  // codes

// Adds the bins of the next code, or of the next two, to `sum`.
HEDGEROW_FORCE_INLINE void add_bins(const std::uint32_t* bins, Integers& sum, Integers& sums) {
    Integers next;
    std::memcpy(&next, bins, sizeof next);
    sums = sum += next;
}
HEDGEROW_FORCE_INLINE void add_bins(const std::uint32_t* bins, Integers& sum, WideIntegers& sums) {
    Integers first, second;
    add_bins(bins, sum, first);
    add_bins(bins + score_lanes, sum, second);
    join(first, second, sums);
}

// n_codes is a multiple of a block. highest[f] = the highest score of a feature, -1 if it does not vary.
template <class IntegersOf, class FloatsOf>
HEDGEROW_FORCE_INLINE void score_bins(const PairBinsOfFour& given, std::uint32_t n_codes, const PairTotal total,
                                      float* highest) {
    constexpr std::uint32_t lanes = score_lanes, block = score_block * lanes;
    constexpr std::uint32_t together = sizeof(FloatsOf) / sizeof(float) / lanes;
    std::uint32_t* __restrict bins = given.bins, * __restrict all_sums = given.sums;
    float* __restrict scores = given.scores, * __restrict block_highest = given.block_highest;
    const IntegersOf nothing{};
    Integers sum{};
    FloatsOf most = FloatsOf{} - 1;
    for (std::uint32_t start = 0; start < n_codes * lanes; start += block) {
        FloatsOf here = FloatsOf{} - 1;
        for (std::uint32_t at = start; at < start + block; at += together * lanes) {
            IntegersOf sums;
            add_bins(bins + at, sum, sums);
            std::memcpy(bins + at, &nothing, sizeof nothing);
            FloatsOf score;
            score_roughly(total, __builtin_convertvector(sums & 0xffff, FloatsOf),
                          __builtin_convertvector(sums >> 16, FloatsOf), score);
            here = score > here ? score : here;
            std::memcpy(all_sums + at, &sums, sizeof sums);
            std::memcpy(scores + at, &score, sizeof score);
        }
        std::memcpy(block_highest, &here, sizeof here);
        block_highest += lanes * together;
        most = here > most ? here : most;
    }
    for (std::uint32_t f = 0; f < lanes; ++f) {
        highest[f] = most[f];
        for (std::uint32_t i = 1; i < together; ++i) highest[f] = std::max(highest[f], most[i * lanes + f]);
    }
}

inline void score_bins_plain(const PairBinsOfFour& given, std::uint32_t n_codes, const PairTotal& total,
                             float* highest) {
    score_bins<Integers, Floats>(given, n_codes, total, highest);
}
HEDGEROW_WIDE inline void score_bins_wide(const PairBinsOfFour& given, std::uint32_t n_codes, const PairTotal& total,
                                          float* highest) {
    score_bins<WideIntegers, WideFloats>(given, n_codes, total, highest);
}

#endif

}  // namespace hedgerow
