// Search for the best threshold of several numeric features at once, for up to 128 rows of up to eight classes.
//
// Most nodes of a full tree are that small. Every row is a candidate ("codes up to mine go left") and is compared with
// every other row in vectors, one class after another, which gives the class counts on the left. All candidates are
// scored in single precision, and those that may be the best exactly, so the result is that of the general search
// (split.hpp). Measured: 0.82 of the time for 10k × 20 with seven classes, 0.80 with three and 50 features.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/grow/split.hpp"
#include "core/kit/attributes.hpp"
#include "core/kit/vectors.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/class_splits.hpp"

namespace hedgerow {

#ifdef HEDGEROW_VECTORS

inline constexpr std::uint32_t most_small_rows = 128, most_small_classes = 8;

// The rows of a node, one class after another.
struct SmallClassRows {
    std::uint32_t n_rows = 0, n_classes = 0;  // classes that occur
    std::int16_t amounts[most_small_rows];
    std::int16_t ends[most_small_classes],
        totals[most_small_classes];  // of each class: where its rows end, and how many there are
};
// Left sides of the places of one feature. All numbers are below 2^16.
struct SmallClassScores {
    std::int16_t codes[most_small_rows], amount[most_small_rows];
    std::int16_t squares[most_small_rows];   // Σ l² of the class counts
    std::int16_t products[most_small_rows];  // Σ l·t, with those of the node
    float scores[most_small_rows];
};

// Fills the places from `first` on, as many as the registers hold.
template <class ShortsOf, int n_registers>
HEDGEROW_FORCE_INLINE void count_left(const SmallClassRows& rows, SmallClassScores& places, std::uint32_t first) {
    ShortsOf own[n_registers], amount[n_registers] = {}, squares[n_registers] = {}, products[n_registers] = {};
    std::memcpy(own, places.codes + first, sizeof own);
    std::int32_t j = 0;
    for (std::uint32_t k = 0; k < rows.n_classes; ++k) {
        ShortsOf left[n_registers] = {};
        for (; j < rows.ends[k]; ++j)
            for (int part = 0; part < n_registers; ++part)
                left[part] += (own[part] >= places.codes[j]) & rows.amounts[j];
        for (int part = 0; part < n_registers; ++part) {
            amount[part] += left[part];
            squares[part] += left[part] * left[part];
            products[part] += left[part] * rows.totals[k];
        }
    }
    std::memcpy(places.amount + first, amount, sizeof amount);
    std::memcpy(places.squares + first, squares, sizeof squares);
    std::memcpy(places.products + first, products, sizeof products);
}

// Scores Σ l²/l + Σ r²/r of each place, rounded; NaN without a right side. Returns the highest.
template <class HalfOf, class IntegersOf, class FloatsOf>
HEDGEROW_FORCE_INLINE float score_left(SmallClassScores& places, std::uint32_t n_places, std::int32_t all,
                                       std::int32_t all_squares) {
    constexpr std::uint32_t width = sizeof(FloatsOf) / sizeof(float);
    const auto read = [](const std::int16_t* from, IntegersOf& numbers) {
        HalfOf half;
        std::memcpy(&half, from, sizeof half);
        numbers = __builtin_convertvector(half, IntegersOf) & 0xffff;
    };
    FloatsOf highest = FloatsOf{} - 1;
    for (std::uint32_t first = 0; first < n_places; first += width) {
        IntegersOf amount, squares, products;
        read(places.amount + first, amount);
        read(places.squares + first, squares);
        read(places.products + first, products);
        const IntegersOf others = all_squares - 2 * products + squares;
        const FloatsOf score =
            __builtin_convertvector(squares, FloatsOf) / __builtin_convertvector(amount, FloatsOf) +
            __builtin_convertvector(others, FloatsOf) / __builtin_convertvector(all - amount, FloatsOf);
        highest = score > highest ? score : highest;
        std::memcpy(places.scores + first, &score, sizeof score);
    }
    float most = highest[0];
    for (std::uint32_t i = 1; i < width; ++i) most = std::max(most, highest[i]);
    return most;
}

// n_places is a multiple of `width`. Returns the highest score, -1 if all are NaN.
template <int width>
inline float count_and_score_plain(const SmallClassRows& rows, SmallClassScores& places, std::uint32_t n_places,
                                   std::int32_t all, std::int32_t all_squares) {
    for (std::uint32_t first = 0; first < n_places; first += width) count_left<Shorts, width / 8>(rows, places, first);
    return score_left<HalfShorts, Integers, Floats>(places, n_places, all, all_squares);
}
template <int width>
HEDGEROW_WIDE inline float count_and_score_wide(const SmallClassRows& rows, SmallClassScores& places,
                                                std::uint32_t n_places, std::int32_t all, std::int32_t all_squares) {
    for (std::uint32_t first = 0; first < n_places; first += width) {
        if constexpr (width == 8) count_left<Shorts, 1>(rows, places, first);
        else count_left<WideShorts, width / 16>(rows, places, first);
    }
    return score_left<Shorts, WideIntegers, WideFloats>(places, n_places, all, all_squares);
}

// Up to eight classes without weights, by the Gini criterion.
class SmallMulticlassSearch {
public:
    using Row = CountedRow;
    using Target = ClassVector<Gini, CountedRow, most_small_classes>;
    static constexpr std::uint32_t declined = 0xffffffff;

    explicit SmallMulticlassSearch(bool) {}

    // Stores the rows of a node that the target has entered.
    void enter(const Row* rows, std::uint32_t n_rows, const Target& target) {
        rows_.n_rows = n_rows <= most_rows_ && target.node_amount() <= most_amount ? n_rows : 0;
        if (rows_.n_rows > 0) sort_by_class(rows, target.total().amounts);
    }

    // Looks at up to four plain features of that node, and stores the best threshold in `best` if it is better. Returns
    // how many of the features vary, or `declined`, with nothing stored, if this search does not support the node.
    std::uint32_t look(const AnyView& view, const std::vector<Feature>&, const std::uint32_t* numbers,
                       std::uint32_t n_numbers, const Row*, std::uint32_t, const Target&, Split& best) {
        if (rows_.n_rows == 0) return declined;
        if (rows_.n_rows <= 8) return look_at<8>(view, numbers, n_numbers, best);
        return rows_.n_rows <= 16 ? look_at<16>(view, numbers, n_numbers, best)
                                  : look_at<32>(view, numbers, n_numbers, best);
    }

private:
    static constexpr std::uint32_t lanes = 4;
    static constexpr std::int64_t most_amount = 255;  // its square is below 2^16

    HEDGEROW_NOINLINE void sort_by_class(const Row* rows, const std::uint32_t* totals) {
        std::int16_t next[most_small_classes] = {}, end = 0;
        for (std::uint32_t i = 0; i < rows_.n_rows; ++i) ++next[rows[i].label];
        rows_.n_classes = 0;
        all_ = all_squares_ = 0;
        for (std::uint32_t k = 0; k < most_small_classes; ++k) {
            const std::int16_t n_rows = next[k];
            const auto total = static_cast<std::int32_t>(totals[k]);
            next[k] = end;
            end = static_cast<std::int16_t>(end + n_rows);
            rows_.ends[rows_.n_classes] = end;
            rows_.totals[rows_.n_classes] = static_cast<std::int16_t>(total);
            rows_.n_classes += n_rows > 0;
            all_ += total;
            all_squares_ += total * total;
        }
        for (std::uint32_t i = 0; i < rows_.n_rows; ++i) {
            const std::int16_t at = next[rows[i].label]++;
            rows_.amounts[at] = static_cast<std::int16_t>(rows[i].multiplicity);
            offsets_[at] = rows[i].offset;
        }
        std::fill_n(offsets_ + rows_.n_rows, 31, offsets_[0]);  // a place may occur more than once
    }

    // width: number of places counted together.
    template <int width>
    HEDGEROW_NOINLINE std::uint32_t look_at(const AnyView& any, const std::uint32_t* numbers, std::uint32_t n_numbers,
                                            Split& best) {
        const std::uint32_t n_places = (rows_.n_rows + width - 1) / width * width;
        float highest = -1, highest_of[lanes];
        for (std::uint32_t f = 0; f < n_numbers; ++f) {
            any.visit([&](const auto& view) {
                const auto* column = view.column(numbers[f]);
                for (std::uint32_t i = 0; i < n_places; ++i)
                    places_[f].codes[i] = static_cast<std::int16_t>(column[offsets_[i] * view.row_stride]);
            });
            highest_of[f] = wide_ ? count_and_score_wide<width>(rows_, places_[f], n_places, all_, all_squares_)
                                  : count_and_score_plain<width>(rows_, places_[f], n_places, all_, all_squares_);
            highest = std::max(highest, highest_of[f]);
        }
        std::uint32_t n_varying = 0;
        const float near = highest * (1 - 0x1.0p-20f);
        for (std::uint32_t f = 0; f < n_numbers; ++f) {
            n_varying += highest_of[f] >= 0;
            if (highest_of[f] >= near) score_exactly(places_[f], n_places, near, numbers[f], best);
        }
        return n_varying;
    }

    // Scores the candidates for the best exactly; the smallest code wins ties.
    void score_exactly(const SmallClassScores& places, std::uint32_t n_places, float near, std::uint32_t number,
                       Split& best) const {
        std::int64_t at = -1;
        for (std::uint32_t i = 0; i < n_places; ++i) {
            if (!(places.scores[i] >= near)) continue;
            const std::int32_t amount = places.amount[i], squares = static_cast<std::uint16_t>(places.squares[i]);
            const std::int32_t others = all_squares_ - 2 * static_cast<std::uint16_t>(places.products[i]) + squares;
            const double score = Gini::quality(squares, amount) + Gini::quality(others, all_ - amount);
            if (score > best.score || (at >= 0 && score == best.score && places.codes[i] < places.codes[at]))
                best.score = score, at = i;
        }
        if (at < 0) return;
        const std::int16_t next = code_above(places.codes[at], places.codes, n_places);
        best.cut(number, static_cast<std::uint32_t>(places.codes[at]), static_cast<std::uint32_t>(next));
    }

    const bool wide_ = has_wide_vectors();
    const std::uint32_t most_rows_ = wide_ ? most_small_rows : 32;
    SmallClassRows rows_;
    std::int32_t all_ = 0, all_squares_ = 0;  // number of rows, and sum of the squares of the class counts
    std::uint32_t offsets_[most_small_rows + 31];
    SmallClassScores places_[lanes];
};

#else

class SmallMulticlassSearch;

#endif

}  // namespace hedgerow
