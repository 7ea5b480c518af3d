// Split: the rows of a node and a feature -> the best (or a random) way to send them left and right.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "codes.hpp"
#include "occupancy.hpp"
#include "random.hpp"
#include "target.hpp"
#include "tree.hpp"

namespace hedgerow {

struct Split {
    double quality = -1e300;
    NodeKind kind = NodeKind::threshold;
    std::uint32_t feature = 0;
    std::uint32_t threshold = 0;               // last code that goes left
    bool missing_left = false;
    bool missing_seen = false;                 // otherwise missing values follow the larger side
    std::vector<std::uint16_t> left_codes;     // of a subset: the categories that go left …
    std::vector<std::uint16_t> right_codes;    // … and right; the others were not in the node

    bool found() const { return quality > -1e300; }
};

template <class Code, class Target>
class SplitSearch {
public:
    using Row = typename Target::Row;
    using Bin = typename Target::Bin;

    SplitSearch(const Target& target, std::size_t n_bins_max)
        : target(target), bins_(std::size_t{missing_code<Code>} + 1), rows_in_bin_(bins_.size(), 0) {
        order_.reserve(n_bins_max + 1);
    }

    // Looks at one feature; keeps the split in `best` if it beats it. False when the feature is constant here.
    bool try_best(const CodeView<Code>& view, const Feature& feature, std::uint32_t number, const Row* rows,
                  std::uint32_t n_rows, const Limits& limits, Split& best) {
        fill(view, number, rows, n_rows, feature.n_bins, limits);
        const bool varies = order_.size() + has_missing_ > 1;
        if (varies) {
            if (feature.nominal) best_subset(number, rows, n_rows, limits, best);
            else best_threshold(feature, number, rows, n_rows, limits, best);
        }
        empty_bins();
        return varies;
    }

    // Extremely randomised: one random threshold or subset per feature, judged like any other.
    bool try_random(const CodeView<Code>& view, const Feature& feature, std::uint32_t number, const Row* rows,
                    std::uint32_t n_rows, const Limits& limits, Draws& draws, Split& best) {
        const bool varies = feature.nominal ? draw_subset(view, feature, number, rows, n_rows, draws)
                                            : draw_threshold(view, feature, number, rows, n_rows, draws);
        if (!varies) return false;
        if (judge_drawn(view, rows, n_rows, limits) && drawn_.quality > best.quality) best = drawn_;
        return true;
    }

    Target target;

private:
    static constexpr Code missing = missing_code<Code>;
    static constexpr std::uint32_t dense_node = 512;  // from here on most bins are occupied: no need for marks

    // Adds up the rows of the node by bin; `order_` becomes the occupied value bins, ascending.
    void fill(const CodeView<Code>& view, std::uint32_t number, const Row* rows, std::uint32_t n_rows,
              std::uint32_t n_bins, const Limits& limits) {
        const Code* column = view.column(number);
        order_.clear();
        has_missing_ = false;
        if (limits.min_samples_leaf > 1)
            for (std::uint32_t i = 0; i < n_rows; ++i) ++rows_in_bin_[column[rows[i].offset * view.row_stride]];
        if (n_rows < dense_node) {
            for (std::uint32_t i = 0; i < n_rows; ++i) {
                const Code code = column[rows[i].offset * view.row_stride];
                occupied_.mark(code);
                target.add(bins_[code], rows[i], i);
            }
            occupied_.drain([this](Code code) {
                if (code == missing) has_missing_ = true; else order_.push_back(code);
            });
        } else {
            for (std::uint32_t i = 0; i < n_rows; ++i)
                target.add(bins_[column[rows[i].offset * view.row_stride]], rows[i], i);
            for (std::uint32_t code = 0; code < n_bins; ++code)
                if (!target.is_empty(bins_[code])) order_.push_back(static_cast<std::uint16_t>(code));
            has_missing_ = !target.is_empty(bins_[missing]);
        }
    }

    void empty_bins() {
        for (std::uint16_t code : order_) target.clear(bins_[code]), rows_in_bin_[code] = 0;
        target.clear(bins_[missing]);
        rows_in_bin_[missing] = 0;
    }

    void best_threshold(const Feature& feature, std::uint32_t number, const Row* rows, std::uint32_t n_rows,
                        const Limits& limits, Split& best) {
        for (int missing_left = 0; missing_left <= has_missing_; ++missing_left) {
            // With missing values on the right, "all values left" is a place too.
            const auto n_places = static_cast<std::int64_t>(order_.size()) - !(has_missing_ && !missing_left);
            const Place place = scan(missing_left, n_places, rows, n_rows, limits);
            if (!(place.quality > best.quality)) continue;
            const std::uint32_t low = order_[place.position];
            best.quality = place.quality;
            best.kind = NodeKind::threshold;
            best.feature = number;
            best.missing_left = missing_left;
            best.missing_seen = has_missing_;
            best.threshold = static_cast<std::size_t>(place.position) + 1 == order_.size()
                                 ? feature.n_bins - 1
                                 : code_between(feature.centers, low, order_[place.position + 1], 0.5);
        }
    }

    // Orders the categories by the share of a class and cuts that order. For two classes the best of all
    // subsets is among the cuts; for more, every common class gets its own order and the best cut wins.
    void best_subset(std::uint32_t number, const Row* rows, std::uint32_t n_rows, const Limits& limits, Split& best) {
        const bool missing_here = has_missing_;
        if (missing_here) order_.push_back(missing);  // missing is one more category
        target.ordering_classes([&](std::uint32_t label) {
            ranked_.clear();
            for (std::uint16_t code : order_) ranked_.push_back({target.share(bins_[code], label), code});
            std::sort(ranked_.begin(), ranked_.end());
            for (std::size_t i = 0; i < ranked_.size(); ++i) order_[i] = ranked_[i].second;
            const Place place = scan(false, static_cast<std::int64_t>(order_.size()) - 1, rows, n_rows, limits);
            if (place.quality > best.quality) keep_subset(number, place, missing_here, best);
        });
        if (missing_here) order_.erase(std::find(order_.begin(), order_.end(), missing));
    }

    void keep_subset(std::uint32_t number, const Place& place, bool missing_here, Split& best) {
        best.quality = place.quality;
        best.kind = NodeKind::subset;
        best.feature = number;
        best.missing_seen = missing_here;
        best.missing_left = false;
        best.left_codes.clear();
        best.right_codes.clear();
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const bool left = static_cast<std::int64_t>(i) <= place.position;
            if (order_[i] == missing && missing_here) best.missing_left = left;
            else (left ? best.left_codes : best.right_codes).push_back(order_[i]);
        }
    }

    Place scan(bool missing_left, std::int64_t n_places, const Row* rows, std::uint32_t n_rows, const Limits& limits) {
        target.begin_scan();
        if (missing_left) target.move(bins_[missing]);
        const Place place = limits.restricted() ? scan_restricted(missing_left, n_places, n_rows, limits)
                                                : target.scan(bins_.data(), order_.data(), n_places);
        target.end_scan(rows, n_rows);
        return place;
    }

    Place scan_restricted(bool missing_left, std::int64_t n_places, std::uint32_t n_rows, const Limits& limits) {
        Place best;
        std::uint32_t rows_left = missing_left ? rows_in_bin_[missing] : 0;
        for (std::int64_t i = 0; i < n_places; ++i) {
            target.move(bins_[order_[i]]);
            rows_left += rows_in_bin_[order_[i]];
            if (limits.min_samples_leaf > 1 && !limits.allow_rows(rows_left, n_rows - rows_left)) continue;
            if (!allowed_by_weight(limits)) continue;
            const double value = target.quality();
            if (value > best.quality) best = {value, i};
        }
        return best;
    }

    bool allowed_by_weight(const Limits& limits) const {
        return limits.allow_amounts(target.left_amount(), target.node_amount() - target.left_amount()) &&
               limits.allow_shares(target.left_share(), target.right_share());
    }

    bool draw_threshold(const CodeView<Code>& view, const Feature& feature, std::uint32_t number, const Row* rows,
                        std::uint32_t n_rows, Draws& draws) {
        const Code* column = view.column(number);
        std::uint32_t low = missing, high = 0, n_missing = 0;
        for (std::uint32_t i = 0; i < n_rows; ++i) {
            const std::uint32_t code = column[rows[i].offset * view.row_stride];
            if (code == missing) { ++n_missing; continue; }
            low = std::min(low, code);
            high = std::max(high, code);
        }
        if (n_missing == n_rows || (low == high && n_missing == 0)) return false;
        drawn_.kind = NodeKind::threshold;
        drawn_.feature = number;
        drawn_.missing_seen = n_missing > 0;
        drawn_.missing_left = n_missing > 0 && low != high && draws.coin();
        drawn_.threshold = low == high ? feature.n_bins - 1 : code_between(feature.centers, low, high, draws.unit());
        return true;
    }

    bool draw_subset(const CodeView<Code>& view, const Feature&, std::uint32_t number, const Row* rows,
                     std::uint32_t n_rows, Draws& draws) {
        const Code* column = view.column(number);
        for (std::uint32_t i = 0; i < n_rows; ++i) occupied_.mark(column[rows[i].offset * view.row_stride]);
        order_.clear();
        occupied_.drain([this](Code code) { order_.push_back(code); });
        if (order_.size() < 2) return false;
        const std::size_t always_left = draws.below(static_cast<std::uint32_t>(order_.size()));
        const std::size_t always_right =
            (always_left + 1 + draws.below(static_cast<std::uint32_t>(order_.size() - 1))) % order_.size();
        drawn_.kind = NodeKind::subset;
        drawn_.feature = number;
        drawn_.missing_seen = drawn_.missing_left = false;
        drawn_.left_codes.clear();
        drawn_.right_codes.clear();
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const bool coin = draws.coin(), left = i == always_left || (i != always_right && coin);
            if (order_[i] == missing) drawn_.missing_seen = true, drawn_.missing_left = left;
            else (left ? drawn_.left_codes : drawn_.right_codes).push_back(order_[i]);
        }
        return true;
    }

    // The quality of the drawn split; false when the limits forbid it.
    bool judge_drawn(const CodeView<Code>& view, const Row* rows, std::uint32_t n_rows, const Limits& limits) {
        const Code* column = view.column(drawn_.feature);
        is_left_.resize(bins_.size(), 0);
        if (drawn_.kind == NodeKind::subset)
            for (std::uint16_t code : drawn_.left_codes) is_left_[code] = 1;
        target.begin_scan();
        std::uint32_t rows_left = 0;
        for (std::uint32_t i = 0; i < n_rows; ++i) {
            const Code code = column[rows[i].offset * view.row_stride];
            const bool left = code == missing                        ? drawn_.missing_left
                              : drawn_.kind == NodeKind::threshold ? code <= drawn_.threshold
                                                                   : is_left_[code] != 0;
            if (left) target.move_row(rows[i]), ++rows_left;
        }
        if (drawn_.kind == NodeKind::subset)
            for (std::uint16_t code : drawn_.left_codes) is_left_[code] = 0;
        drawn_.quality = target.quality();
        const bool allowed =
            rows_left > 0 && rows_left < n_rows &&
            (!limits.restricted() || (limits.allow_rows(rows_left, n_rows - rows_left) && allowed_by_weight(limits)));
        target.end_scan(rows, n_rows);
        return allowed;
    }

    std::vector<Bin> bins_;
    std::vector<std::uint32_t> rows_in_bin_;
    Occupancy<Code> occupied_;
    std::vector<std::uint16_t> order_;
    std::vector<std::pair<double, std::uint16_t>> ranked_;
    std::vector<std::uint8_t> is_left_;
    bool has_missing_ = false;
    Split drawn_;
};

}  // namespace hedgerow
