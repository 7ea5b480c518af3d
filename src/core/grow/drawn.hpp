// Random splits between the codes of some rows.
//
// Independent of the target; only the loops over rows are compiled for each type of row.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/grow/lane.hpp"
#include "core/grow/occupancy.hpp"
#include "core/kit/attributes.hpp"
#include "core/kit/zeroed.hpp"
#include "core/rows/codes.hpp"
#include "core/rows/random.hpp"

namespace hedgerow {

class RandomSplit {
public:
    HEDGEROW_NOINLINE explicit RandomSplit(bool wide)
        : missing_(wide ? missing_code<std::uint16_t> : missing_code<std::uint8_t>),
          marks_(wide),
          is_left_(std::size_t{missing_} + 1) {}
    HEDGEROW_NOINLINE ~RandomSplit() = default;

    // The codes that occur, for `draw`: for_each_code(visit) visits them, possibly several times.
    template <class ForEachCode>
    void pass(bool nominal, ForEachCode&& for_each_code) {
        if (nominal) return for_each_code([this](auto code) { marks_.mark(code); });
        std::uint32_t low = missing_, high = 0;
        bool has_missing = false;
        for_each_code([&]<class Code>(Code code) {
            if (code == missing_code<Code>) {
                has_missing = true;
                return;
            }
            low = std::min<std::uint32_t>(low, code);
            high = std::max<std::uint32_t>(high, code);
        });
        low_ = low, high_ = high, has_missing_ = has_missing;
    }
    template <class Row>
    HEDGEROW_NOINLINE void pass_rows(bool nominal, const AnyView& any, std::uint32_t number, const Row* rows,
                                     std::uint32_t n_rows) {
        any.visit([&](const auto& view) {
            const auto* column = view.column(number);
            pass(nominal, [&](auto&& visit) {
                for (std::uint32_t i = 0; i < n_rows; ++i) visit(column[rows[i].offset * view.row_stride]);
            });
        });
    }

    // False if only one code occurs.
    HEDGEROW_NOINLINE bool draw(const Feature& feature, std::uint32_t number, Draws& draws) {
        split.feature = number;
        return feature.nominal ? draw_subset(feature, draws) : draw_threshold(feature, draws);
    }
    // Between these two calls `is_left` also works for subsets.
    void begin_asking() {
        if (split.kind == NodeKind::subset)
            for (std::uint16_t code : split.left_codes) is_left_[code] = 1;
    }
    void end_asking() {
        if (split.kind == NodeKind::subset)
            for (std::uint16_t code : split.left_codes) is_left_[code] = 0;
    }
    bool is_left(std::uint32_t code) const {
        return code == missing_                    ? split.missing_left
               : split.kind == NodeKind::threshold ? code <= split.threshold
                                                   : is_left_[code] != 0;
    }

    Split split;

private:
    bool draw_threshold(const Feature& feature, Draws& draws) {
        if (low_ == missing_ || (low_ == high_ && !has_missing_)) return false;
        split.kind = NodeKind::threshold;
        split.missing_seen = has_missing_;
        split.missing_left = has_missing_ && low_ != high_ && draws.coin();
        split.next_code = 0;
        split.threshold = low_ == high_ ? feature.n_bins - 1 : code_between(feature.centers, low_, high_, draws.unit());
        return true;
    }

    bool draw_subset(const Feature& feature, Draws& draws) {
        order_.clear();
        marks_.drain(feature.n_bins,
                     [this](std::uint32_t code) { order_.push_back(static_cast<std::uint16_t>(code)); });
        if (order_.size() < 2) return false;
        const std::size_t always_left = draws.below(static_cast<std::uint32_t>(order_.size()));
        const std::size_t always_right =
            (always_left + 1 + draws.below(static_cast<std::uint32_t>(order_.size() - 1))) % order_.size();
        split.kind = NodeKind::subset;
        split.missing_seen = split.missing_left = false;
        split.left_codes.clear();
        split.right_codes.clear();
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const bool coin = draws.coin(), left = i == always_left || (i != always_right && coin);
            if (order_[i] == missing_) split.missing_seen = true, split.missing_left = left;
            else (left ? split.left_codes : split.right_codes).push_back(order_[i]);
        }
        return true;
    }

    std::uint32_t missing_, low_ = 0, high_ = 0;
    bool has_missing_ = false;
    Occupancy marks_;
    std::vector<std::uint16_t> order_;
    Zeroed<std::uint8_t> is_left_;
};

}  // namespace hedgerow
