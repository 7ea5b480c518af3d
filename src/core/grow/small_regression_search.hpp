// Search for the best threshold of several numeric features at once, for up to 32 rows with real targets.
//
// Most nodes of a full tree are that small, and there every pair of rows can be compared in registers: each row is a
// candidate, "codes up to mine go left", four or eight to a register, in single precision with a bound on the error.
// Candidates that may be the best are then scored exactly, so the result is that of the general search (split.hpp).
// Measured: 0.89 of its time for a tree of 10k × 20.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/grow/split.hpp"
#include "core/kit/attributes.hpp"
#include "core/kit/vectors.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/real_targets.hpp"

namespace hedgerow {

#ifdef HEDGEROW_VECTORS

// The rows of a node: weights, and contributions to the difference of a side from the mean, none of them above 1.
struct SmallRealRows {
    static constexpr std::uint32_t most = 32;
    std::uint32_t n_rows = 0;
    float all = 0;  // the sum of the weights
    float weights[most] = {}, parts[most] = {};
};

// Bound on the rounding error of a sum of up to 32 terms, none above 1.
inline constexpr float error_of_small_sums = SmallRealRows::most * SmallRealRows::most * 0x1.0p-24f;

// The sums of the rows to the right of each candidate, and bounds of its score. Returns whether the feature varies.
template <class IntegersOf, class FloatsOf, int n_registers>
HEDGEROW_FORCE_INLINE bool bound_scores(const SmallRealRows& rows, const std::int32_t* codes, float* highest,
                                        FloatsOf& lowest) {
    constexpr std::uint32_t width = sizeof(FloatsOf) / sizeof(float);
    IntegersOf own[n_registers], differs{};
    FloatsOf weight[n_registers] = {}, part[n_registers] = {};
    std::memcpy(own, codes, sizeof own);
    for (const IntegersOf& some : own) differs |= some ^ codes[0];
    for (std::uint32_t j = 0; j < rows.n_rows; ++j) {
        const FloatsOf its_weight = FloatsOf{} + rows.weights[j], its_part = FloatsOf{} + rows.parts[j];
        for (int r = 0; r < n_registers; ++r) {
            const IntegersOf right = codes[j] > own[r];
            weight[r] += reinterpret_cast<FloatsOf>(right & reinterpret_cast<IntegersOf>(its_weight));
            part[r] += reinterpret_cast<FloatsOf>(right & reinterpret_cast<IntegersOf>(its_part));
        }
    }
    for (int r = 0; r < n_registers; ++r) {
        const FloatsOf size = part[r] < 0 ? -part[r] : part[r];
        const FloatsOf both = weight[r] * (rows.all - weight[r]), share = (1.0f + 0x1.0p-18f) / both;
        const FloatsOf least = size > error_of_small_sums ? size - error_of_small_sums : FloatsOf{};
        const FloatsOf low = least * least * share * (1.0f - 0x1.0p-16f),
                       high = (size + error_of_small_sums) * (size + error_of_small_sums) * share;
        const FloatsOf nothing = FloatsOf{} - 1;  // no rows on the right, so not a candidate
        const FloatsOf most = weight[r] > 0 ? high : nothing;
        lowest = ((weight[r] > 0) & (low > lowest)) ? low : lowest;
        std::memcpy(highest + width * r, &most, sizeof most);
    }
    return any(differs);
}

// The same for several features, [feature][row]. `near` is a score that must be beaten, then also a lower bound of the
// best one. Returns how many of the features vary.
template <class IntegersOf, class FloatsOf, int n_registers>
HEDGEROW_FORCE_INLINE std::uint32_t bound_features(const SmallRealRows& rows, const std::int32_t* codes,
                                                   std::uint32_t n_features, float* highest, float& near) {
    constexpr std::uint32_t width = sizeof(FloatsOf) / sizeof(float), together = n_registers * width;
    FloatsOf lowest = FloatsOf{} + near;
    std::uint32_t n_varying = 0;
    for (std::uint32_t f = 0; f < n_features; ++f)
        n_varying +=
            bound_scores<IntegersOf, FloatsOf, n_registers>(rows, codes + f * together, highest + f * together, lowest);
    for (std::uint32_t i = 0; i < width; ++i) near = std::max(near, lowest[i]);
    return n_varying;
}
template <int width>
inline std::uint32_t bound_plain(const SmallRealRows& rows, const std::int32_t* codes, std::uint32_t n_features,
                                 float* highest, float& near) {
    return bound_features<Integers, Floats, width / 4>(rows, codes, n_features, highest, near);
}
template <int width>
HEDGEROW_WIDE inline std::uint32_t bound_wide(const SmallRealRows& rows, const std::int32_t* codes,
                                              std::uint32_t n_features, float* highest, float& near) {
    if constexpr (width == 4) return bound_features<Integers, Floats, 1>(rows, codes, n_features, highest, near);
    else return bound_features<WideIntegers, WideFloats, width / 8>(rows, codes, n_features, highest, near);
}

class SmallRegressionSearch {
public:
    using Row = RealRow;
    using Target = Moments<SquaredError>;
    static constexpr std::uint32_t lanes = 4, declined = 0xffffffff;

    // Stores the rows of a node that the target has entered.
    void enter(const Row* rows, std::uint32_t n_rows, const Target& target) {
        rows_.n_rows = n_rows <= most_rows_ ? n_rows : 0;
        double parts[SmallRealRows::most], largest = 0;
        for (std::uint32_t i = 0; i < rows_.n_rows; ++i) {
            parts[i] = target.loss().difference(Target::of(rows[i]));
            largest = std::max(largest, std::abs(parts[i]));
        }
        scale_ = largest > 0 ? 1 / largest : 1;
        for (std::uint32_t i = 0; i < rows_.n_rows; ++i) {
            rows_.weights[i] = static_cast<float>(rows[i].weight);
            rows_.parts[i] = static_cast<float>(parts[i] * scale_);
        }
        rows_.all = static_cast<float>(target.total().weight);
    }

    // Looks at up to four plain features of that node, and stores the best threshold in `best` if it is better. Returns
    // how many of the features vary, or `declined`, with nothing stored, if this search does not support the node.
    std::uint32_t look(const AnyView& view, const std::vector<Feature>&, const std::uint32_t* numbers,
                       std::uint32_t n_numbers, const Row* rows, std::uint32_t, const Target& target, Split& best) {
        if (rows_.n_rows == 0) return declined;
        if (rows_.n_rows <= 4) return look_at<4>(view, numbers, n_numbers, rows, target, best);
        switch ((rows_.n_rows + 7) / 8) {
            case 1: return look_at<8>(view, numbers, n_numbers, rows, target, best);
            case 2: return look_at<16>(view, numbers, n_numbers, rows, target, best);
            case 3: return look_at<24>(view, numbers, n_numbers, rows, target, best);
            default: return look_at<32>(view, numbers, n_numbers, rows, target, best);
        }
    }

private:
    template <std::uint32_t width>
    HEDGEROW_NOINLINE std::uint32_t look_at(const AnyView& either, const std::uint32_t* numbers,
                                            std::uint32_t n_numbers, const Row* rows, const Target& target,
                                            Split& best) {
        std::int32_t codes[lanes * width];
        float highest[lanes * width];  // an upper bound of the score of each candidate
        either.visit([&](const auto& view) {
            for (std::uint32_t i = 0; i < width; ++i) {
                const auto* row =
                    view.codes + rows[i < rows_.n_rows ? i : 0].offset * view.row_stride;  // a row may come twice
                for (std::uint32_t f = 0; f < n_numbers; ++f)
                    codes[f * width + i] = row[numbers[f] * view.feature_stride];
            }
        });
        float near = static_cast<float>(best.score * scale_ * scale_) * (1 - 0x1.0p-16f);
        const std::uint32_t n_varying = wide_ ? bound_wide<width>(rows_, codes, n_numbers, highest, near)
                                              : bound_plain<width>(rows_, codes, n_numbers, highest, near);
        std::int64_t at = -1;
        for (std::uint32_t first = 0; first < n_numbers * width; first += 4) {
            Floats four;
            std::memcpy(&four, highest + first, sizeof four);
            if (!any(four >= near)) continue;
            for (std::uint32_t i = first; i < first + 4; ++i)
                if (highest[i] >= near) score_exactly(i, width, codes, rows, target, best, at);
        }
        if (at >= 0) {
            const std::int32_t next = code_above(codes[at], codes + at / width * width, width);
            best.cut(numbers[at / width], static_cast<std::uint32_t>(codes[at]), static_cast<std::uint32_t>(next));
        }
        return n_varying;
    }

    // Scores a candidate exactly; the earliest feature, then the smallest code wins ties.
    void score_exactly(std::int64_t i, std::uint32_t width, const std::int32_t* codes, const Row* rows,
                       const Target& target, Split& best, std::int64_t& at) const {
        const std::int32_t* own = codes + i / width * width;
        Sums left;
        for (std::uint32_t j = 0; j < rows_.n_rows; ++j)
            if (own[j] <= codes[i]) left += Target::of(rows[j]);
        const double score = target.score_of(left);
        const bool tie_won = score == best.score && at >= 0 && at / width == i / width && codes[i] < codes[at];
        if (score > best.score || tie_won) best.score = score, at = i;
    }

    const bool wide_ = has_wide_vectors();
    const std::uint32_t most_rows_ = wide_ ? SmallRealRows::most : 16;
    double scale_ = 1;
    SmallRealRows rows_;
};

#else

class SmallRegressionSearch;

#endif

}  // namespace hedgerow
