// Split: the rows of a node and a feature -> the best (or a random) way to send them left and right.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/grow/occupancy.hpp"
#include "core/kit/apart.hpp"
#include "core/kit/zeroed.hpp"
#include "core/read/tree.hpp"
#include "core/rows/codes.hpp"
#include "core/rows/random.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

struct Split {
    double score = no_score;
    NodeKind kind = NodeKind::threshold;
    std::uint32_t feature = 0;
    std::uint32_t threshold = 0;               // last code that goes left
    std::uint32_t next_code = 0;               // the next code that occurs in the node; above the threshold until that is settled
    std::int64_t left_amount = 0;              // of the rows that go left; known only if features compete by ratios
    bool missing_left = false;
    bool missing_seen = false;                 // otherwise missing values go to the larger side
    std::vector<std::uint16_t> left_codes;     // for a subset: the categories that go left …
    std::vector<std::uint16_t> right_codes;    // … and right; the others do not occur in the node

    // Puts the threshold half way between the two codes around it; once for each node, not for each feature.
    void settle_threshold(const Feature& feature) {
        if (kind == NodeKind::threshold && next_code > threshold)
            threshold = code_between(feature.centers, threshold, next_code, 0.5);
    }
    bool found() const { return score > no_score; }
};

template <class Code, class Target>
class SplitSearch {
public:
    using Row = typename Target::Row;
    using Bin = typename Target::Bin;

    static constexpr int lanes = Target::lanes;

    explicit SplitSearch(const Target& target) : target(target), lanes_(lanes) {}

    // Sums the rows of a node by bin for up to `lanes` features in one pass.
    void fill(const CodeView<Code>& view, const std::vector<Feature>& features, const std::uint32_t* numbers,
              int n_numbers, const Row* rows, std::uint32_t n_rows, bool restricted, bool counts_rows) {
        switch (n_numbers) {
            case 1: fill_lanes<1>(view, numbers, rows, n_rows); break;
            case 2: fill_lanes<2>(view, numbers, rows, n_rows); break;
            case 3: fill_lanes<3>(view, numbers, rows, n_rows); break;
            default: fill_lanes<4>(view, numbers, rows, n_rows); break;
        }
        for (int i = 0; i < n_numbers; ++i) {
            const Feature& feature = features[numbers[i]];
            Lane& lane = lanes_[i];
            lane.summed = Target::sums_up && !feature.nominal && !restricted;
            if (lane.summed) lane.sum_up(feature.n_bins, n_rows >= dense_node);
            else lane.list_occupied(target, feature.n_bins, n_rows >= dense_node);
            if (counts_rows) lane.count_rows(view, numbers[i], rows, n_rows);
        }
    }

    // Looks at a filled feature; stores its split in `best` if it is better. False if the feature is constant in the node.
    bool try_best(int filled, const Feature& feature, std::uint32_t number, const Row* rows, std::uint32_t n_rows,
                  const Limits& limits, Split& best) {
        Lane& lane = lanes_[filled];
        const bool varies = lane.n_occupied + lane.has_missing > 1;
        if (varies)
            of_feature(best, [&](Split& own) {
                if (feature.nominal) best_subset(lane, number, rows, n_rows, limits, own);
                else best_threshold(lane, feature, number, rows, n_rows, limits, own);
            });
        return varies;
    }

    // If features compete by ratios: of the best splits of all features, those that gain at least the average of all that gain
    // something are compared by gain divided by split information, the entropy of left and right (Quinlan's C4.5).
    void compare_ratios(Split& best) {
        if constexpr (has_ratios) {
            double sum = 0, highest = 0;
            std::size_t n_gaining = 0;
            for (const Split& rival : rivals_)
                if (const double gain = target.gain_from(rival.score); gain > 0) sum += gain, ++n_gaining;
            for (const Split& rival : rivals_) {
                const double gain = target.gain_from(rival.score);
                if (!(gain > 0) || gain < sum / static_cast<double>(n_gaining) * (1 - 1e-12)) continue;
                const double left = static_cast<double>(rival.left_amount) / static_cast<double>(target.node_amount());
                const double ratio = -gain / (left * std::log2(left) + (1 - left) * std::log2(1 - left));
                if (ratio > highest) highest = ratio, best = rival;
            }
            rivals_.clear();
        }
    }

    void empty(int n_filled) {
        for (int i = 0; i < n_filled; ++i) lanes_[i].empty(target);
    }

    // Sums of the rows of a node in each bin of a feature, that of missing values last; computed elsewhere.
    struct Summed {
        const Bin* bins = nullptr;
        const std::uint32_t* rows = nullptr;
    };

    // The same as `fill`, for one feature.
    void load(int filled, const Summed& summed, const Feature& feature, bool restricted, bool counts_rows) {
        Lane& lane = lanes_[filled];
        std::copy_n(summed.bins, feature.n_bins, lane.bins.data());
        lane.bins[missing] = summed.bins[feature.n_bins];
        lane.summed = Target::sums_up && !feature.nominal && !restricted;
        if (lane.summed) lane.sum_up(feature.n_bins, true);
        else lane.list_occupied(target, feature.n_bins, true);
        if (!counts_rows) return;
        lane.rows_counted = true;
        std::copy_n(summed.rows, feature.n_bins, lane.rows_in_bin.data());
        lane.rows_in_bin[missing] = summed.rows[feature.n_bins];
    }

    // Extremely randomised trees: one random threshold or subset for each feature, scored like any other.
    HEDGEROW_APART bool try_random(const CodeView<Code>& view, const Feature& feature, std::uint32_t number, const Row* rows,
                    std::uint32_t n_rows, const Limits& limits, Draws& draws, Split& best) {
        const Code* column = view.column(number);
        const auto for_each_code = [&](auto&& visit) {
            for (std::uint32_t i = 0; i < n_rows; ++i) visit(column[rows[i].offset * view.row_stride]);
        };
        if (!draw(feature, number, for_each_code, draws)) return false;
        const bool allowed = judge_drawn(rows, n_rows, limits, [&](auto&& is_left) {
            std::uint32_t rows_left = 0;
            for (std::uint32_t i = 0; i < n_rows; ++i)
                if (is_left(column[rows[i].offset * view.row_stride])) target.move_row(rows[i]), ++rows_left;
            return rows_left;
        });
        if (allowed)
            of_feature(best, [&](Split& own) {
                if (drawn_.score > own.score) own = drawn_;
            });
        return true;
    }

    // The same from sums.
    HEDGEROW_APART bool try_random(const Summed& summed, const Feature& feature, std::uint32_t number, const Row* rows,
                    std::uint32_t n_rows, const Limits& limits, Draws& draws, Split& best) {
        const auto for_each_code = [&](auto&& visit) {
            for (std::uint32_t at = 0; at <= feature.n_bins; ++at)
                if (summed.rows[at] > 0) visit(at == feature.n_bins ? missing : static_cast<Code>(at));
        };
        if (!draw(feature, number, for_each_code, draws)) return false;
        const bool allowed = judge_drawn(rows, n_rows, limits, [&](auto&& is_left) {
            std::uint32_t rows_left = 0;
            for (std::uint32_t at = 0; at <= feature.n_bins; ++at)
                if (summed.rows[at] > 0 && is_left(at == feature.n_bins ? missing : static_cast<Code>(at)))
                    target.move(summed.bins[at]), rows_left += summed.rows[at];
            return rows_left;
        });
        if (allowed)
            of_feature(best, [&](Split& own) {
                if (drawn_.score > own.score) own = drawn_;
            });
        return true;
    }

    // Draws as many numbers as `draw` would for a feature whose bins are all occupied, none of them by missing values.
    static void pass_over(const Feature& feature, Draws& draws) {
        const std::uint32_t n_draws = feature.nominal ? 2 + feature.n_bins : feature.n_bins > 1;
        for (std::uint32_t i = 0; i < n_draws; ++i) draws.next();
    }

    Target target;

private:
    static constexpr bool has_ratios = requires(const Target& each) { each.by_ratio(); };

    // Lets a feature look for its best split, which then competes with those of the others: at once by its score, or later
    // by its ratio.
    template <class Look>
    void of_feature(Split& best, Look&& look) {
        if constexpr (has_ratios)
            if (target.by_ratio()) {
                Split own;
                look(own);
                if (own.score > best.score) best = own;
                if (own.found()) rivals_.push_back(std::move(own));
                return;
            }
        look(best);
    }
    static constexpr Code missing = missing_code<Code>;
    static constexpr std::size_t n_codes = std::size_t{missing} + 1;
    static constexpr std::uint32_t dense_node = 512;  // from this many rows on most bins are occupied, so marks do not pay

    // The sums of one feature over the rows of a node.
    struct Lane {
        Zeroed<Bin> bins{n_codes};
        Zeroed<std::uint32_t> rows_in_bin{n_codes};
        Zeroed<std::uint16_t> order{n_codes};  // occupied value bins, ascending
        Occupancy<Code> marks;
        std::uint32_t n_occupied = 0;
        Zeroed<Bin> sums{Target::sums_up ? n_codes + 3 : 0};  // running sums of the occupied bins, in place of the bins themselves
        bool has_missing = false, rows_counted = false, summed = false;

        // Lists the occupied bins, sums them and clears them, all in one pass.
        void sum_up(std::uint32_t n_bins, bool dense) {
            if constexpr (Target::sums_up) {
                Bin sum{};
                std::uint32_t n = 0;
                const auto take = [&](std::uint32_t code) {
                    order[n] = static_cast<std::uint16_t>(code);
                    Target::add_to(sum, bins[code]);
                    sums[n] = sum;
                };
                if (dense) {
                    for (std::uint32_t code = 0; code < n_bins; ++code) {
                        take(code);
                        n += !Target::is_empty(bins[code]);
                        Target::clear(bins[code]);
                    }
                    has_missing = !Target::is_empty(bins[missing]);
                } else {
                    marks.drain(n_bins, [&](Code code) {
                        take(code);
                        if (code != missing) Target::clear(bins[code]);
                        ++n;
                    });
                    has_missing = n > 0 && order[n - 1] == missing;
                    n -= has_missing;
                }
                n_occupied = n;
            }
        }

        void list_occupied(const Target& target, std::uint32_t n_bins, bool dense) {
            std::uint16_t* next = order.data();
            has_missing = false;
            if (dense) {
                for (std::uint32_t code = 0; code < n_bins; ++code) {
                    *next = static_cast<std::uint16_t>(code);
                    next += !target.is_empty(bins[code]);
                }
                has_missing = !target.is_empty(bins[missing]);
            } else {
                marks.drain(n_bins, [&](Code code) { *next++ = code; });
                has_missing = next != order.data() && next[-1] == missing;
                next -= has_missing;
            }
            n_occupied = static_cast<std::uint32_t>(next - order.data());
        }
        void count_rows(const CodeView<Code>& view, std::uint32_t number, const Row* rows, std::uint32_t n_rows) {
            const Code* column = view.column(number);
            rows_counted = true;
            for (std::uint32_t i = 0; i < n_rows; ++i) ++rows_in_bin[column[rows[i].offset * view.row_stride]];
        }
        void empty(const Target& target) {
            if (!summed)
                for (std::uint32_t i = 0; i < n_occupied; ++i) target.clear(bins[order[i]]);
            target.clear(bins[missing]);
            if (!rows_counted) return;
            for (std::uint32_t i = 0; i < n_occupied; ++i) rows_in_bin[order[i]] = 0;
            rows_in_bin[missing] = 0;
            rows_counted = false;
        }
    };

    // Several features in one pass: while one sum waits for memory, the others go on.
    template <int n_lanes>
    void fill_lanes(const CodeView<Code>& view, const std::uint32_t* numbers, const Row* rows, std::uint32_t n_rows) {
        if constexpr (n_lanes <= lanes) {
            const Code* columns[n_lanes];
            Bin* bins[n_lanes];
            for (int lane = 0; lane < n_lanes; ++lane) {
                columns[lane] = view.column(numbers[lane]);
                bins[lane] = lanes_[lane].bins.data();
            }
            const std::size_t stride = view.row_stride;
            if (n_rows < dense_node) {
                for (std::uint32_t i = 0; i < n_rows; ++i)
                    for (int lane = 0; lane < n_lanes; ++lane) {
                        const Code code = columns[lane][rows[i].offset * stride];
                        lanes_[lane].marks.mark(code);
                        target.add(bins[lane][code], rows[i], i);
                    }
            } else {
                for (std::uint32_t i = 0; i < n_rows; ++i)
                    for (int lane = 0; lane < n_lanes; ++lane)
                        target.add(bins[lane][columns[lane][rows[i].offset * stride]], rows[i], i);
            }
        }
    }

    void best_threshold(Lane& lane, const Feature& feature, std::uint32_t number, const Row* rows,
                        std::uint32_t n_rows, const Limits& limits, Split& best) {
        for (int missing_left = 0; missing_left <= lane.has_missing; ++missing_left) {
            // If missing values go right, "all values go left" is a place too.
            const std::int64_t n_places = std::int64_t{lane.n_occupied} - !(lane.has_missing && !missing_left);
            const Place place = scan(lane, missing_left, n_places, rows, n_rows, limits);
            if (!(place.score > best.score)) continue;
            best.score = place.score;
            best.kind = NodeKind::threshold;
            best.feature = number;
            keep_amount(lane, missing_left, place, rows, n_rows, best);
            best.missing_left = missing_left;
            best.missing_seen = lane.has_missing;
            const bool last = place.position + 1 == std::int64_t{lane.n_occupied};  // values left, missing right
            best.threshold = last ? feature.n_bins - 1 : lane.order[place.position];
            best.next_code = last ? 0 : lane.order[place.position + 1];
        }
    }

    // Orders the categories by the share of a class and cuts that order. With two classes the best of all subsets is
    // among the cuts; with more, every common class gives an order, and the best cut of all orders wins.
    HEDGEROW_APART void best_subset(Lane& lane, std::uint32_t number, const Row* rows, std::uint32_t n_rows, const Limits& limits,
                     Split& best) {
        const std::uint32_t n_values = lane.n_occupied;
        if (lane.has_missing) lane.order[lane.n_occupied++] = missing;  // missing values are one more category
        target.ordering_classes([&](std::uint32_t label) {
            ranked_.clear();
            for (std::uint32_t i = 0; i < lane.n_occupied; ++i)
                ranked_.push_back({target.share(lane.bins[lane.order[i]], label), lane.order[i]});
            std::sort(ranked_.begin(), ranked_.end());
            for (std::size_t i = 0; i < ranked_.size(); ++i) lane.order[i] = ranked_[i].second;
            const Place place = scan(lane, false, std::int64_t{lane.n_occupied} - 1, rows, n_rows, limits);
            if (!(place.score > best.score)) return;
            keep_subset(lane, number, place, best);
            keep_amount(lane, false, place, rows, n_rows, best);
        });
        std::sort(lane.order.data(), lane.order.data() + lane.n_occupied);
        lane.n_occupied = n_values;
    }

    void keep_subset(const Lane& lane, std::uint32_t number, const Place& place, Split& best) {
        best.score = place.score;
        best.kind = NodeKind::subset;
        best.feature = number;
        best.missing_seen = lane.has_missing;
        best.missing_left = false;
        best.left_codes.clear();
        best.right_codes.clear();
        for (std::uint32_t i = 0; i < lane.n_occupied; ++i) {
            const bool left = std::int64_t{i} <= place.position;
            if (lane.order[i] == missing) best.missing_left = left;
            else (left ? best.left_codes : best.right_codes).push_back(lane.order[i]);
        }
    }

    HEDGEROW_APART Place scan(Lane& lane, bool missing_left, std::int64_t n_places, const Row* rows, std::uint32_t n_rows,
               const Limits& limits) {
        target.begin_scan();
        if (missing_left) target.move(lane.bins[missing]);
        Place place;
        if constexpr (Target::sums_up) {
            place = lane.summed ? target.scan(lane.sums.data(), n_places)
                                : scan_bins(lane, missing_left, n_places, n_rows, limits);
        } else {
            place = scan_bins(lane, missing_left, n_places, n_rows, limits);
        }
        target.end_scan(rows, n_rows);
        return place;
    }

    // Stores the amount left of a place, if features compete by ratios.
    void keep_amount(const Lane& lane, bool missing_left, const Place& place, const Row* rows, std::uint32_t n_rows, Split& best) {
        if constexpr (has_ratios) {
            if (!target.by_ratio()) return;
            target.begin_scan();
            if (missing_left) target.move(lane.bins[missing]);
            for (std::int64_t i = 0; i <= place.position; ++i) target.move(lane.bins[lane.order[i]]);
            best.left_amount = target.left_amount();
            target.end_scan(rows, n_rows);
        }
    }

    // Moves bin after bin to the left and checks each time whether the limits allow the split.
    Place scan_bins(const Lane& lane, bool missing_left, std::int64_t n_places, std::uint32_t n_rows,
                    const Limits& limits) {
        const bool restricted = limits.restricted();
        Place best;
        std::uint32_t rows_left = missing_left ? lane.rows_in_bin[missing] : 0;
        for (std::int64_t i = 0; i < n_places; ++i) {
            target.move(lane.bins[lane.order[i]]);
            rows_left += lane.rows_in_bin[lane.order[i]];
            if (limits.min_samples_leaf > 1 && !limits.allow_rows(rows_left, n_rows - rows_left)) continue;
            if (restricted && !allowed_by_weight(limits)) continue;
            const double value = target.score();
            if (value > best.score) best = {value, i};
        }
        return best;
    }

    bool allowed_by_weight(const Limits& limits) const {
        return limits.allow_amounts(target.left_amount(), target.node_amount() - target.left_amount()) &&
               limits.allow_shares(target.left_share(), target.right_share());
    }

    // A random split of the codes that occur; false if there is only one.
    template <class ForEachCode>
    bool draw(const Feature& feature, std::uint32_t number, ForEachCode&& for_each_code, Draws& draws) {
        return feature.nominal ? draw_subset(feature, number, for_each_code, draws)
                               : draw_threshold(feature, number, for_each_code, draws);
    }

    template <class ForEachCode>
    bool draw_threshold(const Feature& feature, std::uint32_t number, ForEachCode&& for_each_code, Draws& draws) {
        std::uint32_t low = missing, high = 0;
        bool has_missing = false;
        for_each_code([&](std::uint32_t code) {
            if (code == missing) { has_missing = true; return; }
            low = std::min(low, code);
            high = std::max(high, code);
        });
        if (low == missing || (low == high && !has_missing)) return false;
        drawn_.kind = NodeKind::threshold;
        drawn_.feature = number;
        drawn_.missing_seen = has_missing;
        drawn_.missing_left = has_missing && low != high && draws.coin();
        drawn_.next_code = 0;
        drawn_.threshold = low == high ? feature.n_bins - 1 : code_between(feature.centers, low, high, draws.unit());
        return true;
    }

    template <class ForEachCode>
    bool draw_subset(const Feature& feature, std::uint32_t number, ForEachCode&& for_each_code, Draws& draws) {
        for_each_code([this](Code code) { marks_.mark(code); });
        order_.clear();
        marks_.drain(feature.n_bins, [this](Code code) { order_.push_back(code); });
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

    // The score of the drawn split, whose left side `move_left` moves; false if the limits forbid it.
    template <class MoveLeft>
    bool judge_drawn(const Row* rows, std::uint32_t n_rows, const Limits& limits, MoveLeft&& move_left) {
        if (drawn_.kind == NodeKind::subset)
            for (std::uint16_t code : drawn_.left_codes) is_left_[code] = 1;
        target.begin_scan();
        const std::uint32_t rows_left = move_left([this](Code code) {
            return code == missing                        ? drawn_.missing_left
                   : drawn_.kind == NodeKind::threshold ? code <= drawn_.threshold
                                                        : is_left_[code] != 0;
        });
        if (drawn_.kind == NodeKind::subset)
            for (std::uint16_t code : drawn_.left_codes) is_left_[code] = 0;
        drawn_.score = target.score();
        if constexpr (has_ratios) drawn_.left_amount = target.left_amount();
        const bool allowed =
            rows_left > 0 && rows_left < n_rows &&
            (!limits.restricted() || (limits.allow_rows(rows_left, n_rows - rows_left) && allowed_by_weight(limits)));
        target.end_scan(rows, n_rows);
        return allowed;
    }

    std::vector<Lane> lanes_;
    std::vector<std::pair<double, std::uint16_t>> ranked_;
    Occupancy<Code> marks_;
    std::vector<std::uint16_t> order_;
    Zeroed<std::uint8_t> is_left_{n_codes};
    Split drawn_;
    std::vector<Split> rivals_;  // the best split of each feature of a node, if they compete by ratios
};

}  // namespace hedgerow
