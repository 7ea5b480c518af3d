// Search for the best, or a random, split of a node on a feature.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/grow/drawn.hpp"
#include "core/grow/lane.hpp"
#include "core/kit/attributes.hpp"
#include "core/kit/zeroed.hpp"
#include "core/rows/codes.hpp"
#include "core/rows/random.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

inline constexpr std::uint32_t dense_node = 512;  // from this many rows on, most bins are occupied: marks do not pay

// The sums of one feature over the rows of a node.
template <class Bins>
struct Lane : LaneOrder {
    using Bin = typename Bins::Bin;

    Zeroed<Bin> bins;
    Zeroed<Bin> sums;  // running sums of the occupied bins, in place of the bins themselves

    HEDGEROW_NOINLINE explicit Lane(bool wide)
        : LaneOrder(wide), bins(n_codes()), sums(Bins::sums_up ? n_codes() + 3 : 0) {}

    // Lists the occupied bins, sums them and clears them, all in one pass.
    HEDGEROW_NOINLINE void sum_up(std::uint32_t n_bins, bool dense) {
        if constexpr (Bins::sums_up) {
            Bin sum{};
            std::uint32_t n = 0;
            const auto take = [&](std::uint32_t code) {
                order[n] = static_cast<std::uint16_t>(code);
                Bins::add_to(sum, bins[code]);
                sums[n] = sum;
            };
            if (dense) {
                for (std::uint32_t code = 0; code < n_bins; ++code) {
                    take(code);
                    n += !Bins::is_empty(bins[code]);
                    Bins::clear(bins[code]);
                }
                has_missing = !Bins::is_empty(bins[missing]);
            } else {
                marks.drain(n_bins, [&](std::uint32_t code) {
                    take(code);
                    if (code != missing) Bins::clear(bins[code]);
                    ++n;
                });
                has_missing = n > 0 && order[n - 1] == missing;
                n -= has_missing;
            }
            n_occupied = n;
        }
    }

    // Lists the occupied bins of a filled feature and, unless limits need the bins, sums them.
    void list(const Feature& feature, bool dense, bool restricted) {
        summed = Bins::sums_up && !feature.nominal && !restricted;
        if (summed) sum_up(feature.n_bins, dense);
        else list_occupied(feature.n_bins, dense);
    }
    void list_occupied(std::uint32_t n_bins, bool dense) {
        if (!dense) return list_marked(n_bins);
        std::uint16_t* next = order.data();
        for (std::uint32_t code = 0; code < n_bins; ++code) {
            *next = static_cast<std::uint16_t>(code);
            next += !Bins::is_empty(bins[code]);
        }
        has_missing = !Bins::is_empty(bins[missing]);
        n_occupied = static_cast<std::uint32_t>(next - order.data());
    }
    void empty() {
        if (!summed)
            for (std::uint32_t i = 0; i < n_occupied; ++i) Bins::clear(bins[order[i]]);
        Bins::clear(bins[missing]);
        if (rows_counted) forget_rows();
    }
};

// Several features in one pass: while one sum waits for memory, the others proceed.
template <int n_lanes, class Code, class Bins>
void fill_lanes(Bins& kind, Lane<Bins>* all, const CodeView<Code>& view, const std::uint32_t* numbers,
                const typename Bins::Row* rows, std::uint32_t n_rows) {
    if constexpr (n_lanes <= Bins::lanes) {
        const Code* columns[n_lanes];
        typename Bins::Bin* bins[n_lanes];
        for (int lane = 0; lane < n_lanes; ++lane) {
            columns[lane] = view.column(numbers[lane]);
            bins[lane] = all[lane].bins.data();
        }
        const std::size_t stride = view.row_stride;
        if (n_rows < dense_node) {
            for (std::uint32_t i = 0; i < n_rows; ++i)
                for (int lane = 0; lane < n_lanes; ++lane) {
                    const Code code = columns[lane][rows[i].offset * stride];
                    all[lane].marks.mark(code);
                    kind.add(bins[lane][code], rows[i], i);
                }
        } else {
            for (std::uint32_t i = 0; i < n_rows; ++i)
                for (int lane = 0; lane < n_lanes; ++lane)
                    kind.add(bins[lane][columns[lane][rows[i].offset * stride]], rows[i], i);
        }
    }
}

// Sums the rows of a node by bin for several features in one pass. Independent of the criterion, and so compiled once.
template <class Bins>
HEDGEROW_NOINLINE void fill(Bins& kind, Lane<Bins>* all, const AnyView& any, const std::vector<Feature>& features,
                            const std::uint32_t* numbers, int n_numbers, const typename Bins::Row* rows,
                            std::uint32_t n_rows, bool restricted, bool counts_rows) {
    any.visit([&](const auto& view) {
        switch (n_numbers) {
            case 1: fill_lanes<1>(kind, all, view, numbers, rows, n_rows); break;
            case 2: fill_lanes<2>(kind, all, view, numbers, rows, n_rows); break;
            case 3: fill_lanes<3>(kind, all, view, numbers, rows, n_rows); break;
            default: fill_lanes<4>(kind, all, view, numbers, rows, n_rows); break;
        }
    });
    for (int i = 0; i < n_numbers; ++i) {
        const Feature& feature = features[numbers[i]];
        all[i].list(feature, n_rows >= dense_node, restricted);
        if (counts_rows || feature.has_many_categories()) all[i].count_rows(any, numbers[i], rows, n_rows);
    }
}

template <class Target>
class SplitSearch {
public:
    using Row = typename Target::Row;
    using Bins = typename Target::Bins;
    using Bin = typename Bins::Bin;
    using Lane = hedgerow::Lane<Bins>;

    static constexpr int lanes = Target::lanes;

    // wide: whether codes have two bytes.
    SplitSearch(const Target& target, bool wide) : SplitSearch(target, wide, std::make_index_sequence<lanes>{}) {}

    // Sums the rows of a node by bin for up to `lanes` features in one pass.
    void fill(const AnyView& view, const std::vector<Feature>& features, const std::uint32_t* numbers, int n_numbers,
              const Row* rows, std::uint32_t n_rows, bool restricted, bool counts_rows) {
        hedgerow::fill(static_cast<Bins&>(target), lanes_, view, features, numbers, n_numbers, rows, n_rows, restricted,
                       counts_rows);
    }

    // Looks at a filled feature, and stores its split in `best` if it is better. False if the feature is constant in
    // the node. `key` is that of the node.
    bool try_best(int filled, const Feature& feature, std::uint32_t number, const Row* rows, std::uint32_t n_rows,
                  std::uint64_t key, const Limits& limits, Split& best) {
        Lane& lane = lanes_[filled];
        const bool varies = lane.n_occupied + lane.has_missing > 1;
        if (varies)
            of_feature(best, [&](Split& own) {
                if (feature.nominal) best_subset(lane, feature, number, rows, n_rows, key, limits, own);
                else best_threshold(lane, feature, number, rows, n_rows, limits, own);
            });
        return varies;
    }

    // For gain ratios: of the best splits of all features, those whose gain is at least the mean of the positive gains
    // are compared by gain divided by split information, the entropy of left and right (Quinlan's C4.5).
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
        for (int i = 0; i < n_filled; ++i) lanes_[i].empty();
    }

    // Sums of the rows of a node in each bin of a feature, missing values last, computed elsewhere.
    struct Summed {
        const Bin* bins = nullptr;
        const std::uint32_t* rows = nullptr;
    };

    // `fill` for one feature, from sums.
    HEDGEROW_COLD void load(int filled, const Summed& summed, const Feature& feature, bool restricted,
                            bool counts_rows) {
        Lane& lane = lanes_[filled];
        std::copy_n(summed.bins, feature.n_bins, lane.bins.data());
        lane.bins[lane.missing] = summed.bins[feature.n_bins];
        lane.list(feature, true, restricted);
        if (!counts_rows && !feature.has_many_categories()) return;
        lane.rows_counted = true;
        std::copy_n(summed.rows, feature.n_bins, lane.rows_in_bin.data());
        lane.rows_in_bin[lane.missing] = summed.rows[feature.n_bins];
    }

    // Extremely randomised trees: one random threshold or subset per feature, scored like any other.
    HEDGEROW_NOINLINE bool try_random(const AnyView& any, const Feature& feature, std::uint32_t number, const Row* rows,
                                      std::uint32_t n_rows, const Limits& limits, Draws& draws, Split& best) {
        random_.pass_rows(feature.nominal, any, number, rows, n_rows);
        if (!random_.draw(feature, number, draws)) return false;
        score_drawn(rows, n_rows, limits, best, [&] {
            std::uint32_t rows_left = 0;
            any.visit([&](const auto& view) {
                const auto* column = view.column(number);
                for (std::uint32_t i = 0; i < n_rows; ++i)
                    if (random_.is_left(column[rows[i].offset * view.row_stride]))
                        target.move_row(rows[i]), ++rows_left;
            });
            return rows_left;
        });
        return true;
    }

    // The same from sums.
    HEDGEROW_COLD bool try_random(const Summed& summed, const Feature& feature, std::uint32_t number, const Row* rows,
                                  std::uint32_t n_rows, const Limits& limits, Draws& draws, Split& best) {
        const auto for_each_code = [&](auto&& visit) {
            for (std::uint32_t at = 0; at <= feature.n_bins; ++at)
                if (summed.rows[at] > 0)
                    visit(at, static_cast<std::uint16_t>(at == feature.n_bins ? lanes_[0].missing : at));
        };
        random_.pass(feature.nominal,
                     [&](auto&& visit) { for_each_code([&](std::uint32_t, std::uint16_t code) { visit(code); }); });
        if (!random_.draw(feature, number, draws)) return false;
        score_drawn(rows, n_rows, limits, best, [&] {
            std::uint32_t rows_left = 0;
            for_each_code([&](std::uint32_t at, std::uint16_t code) {
                if (random_.is_left(code)) target.move(summed.bins[at]), rows_left += summed.rows[at];
            });
            return rows_left;
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
    template <std::size_t... number>
    SplitSearch(const Target& target, bool wide, std::index_sequence<number...>)
        : target(target), lanes_{(static_cast<void>(number), Lane(wide))...}, random_(wide) {}

    static constexpr bool has_ratios = requires(const Target& each) { each.by_ratio(); };

    // Searches the best split of a feature, which then competes with those of the others: at once by its score, or
    // later by its gain ratio.
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

    void best_threshold(Lane& lane, const Feature& feature, std::uint32_t number, const Row* rows, std::uint32_t n_rows,
                        const Limits& limits, Split& best) {
        for (int missing_left = 0; missing_left <= lane.has_missing; ++missing_left) {
            // If missing values go right, "all values go left" is a place too.
            const std::int64_t n_places = std::int64_t{lane.n_occupied} - !(lane.has_missing && !missing_left);
            const Place place = scan(lane, missing_left, n_places, rows, n_rows, limits);
            if (!(place.score > best.score)) continue;
            lane.keep_threshold(feature, number, missing_left, place, best);
            keep_amount(lane, missing_left, place, rows, n_rows, best);
        }
    }

    // Orders the categories by the share of a class and cuts that order. With two classes the best of all subsets is
    // among the cuts; with more, every common class gives an order, and the best cut of all orders wins. Many
    // categories are divided into groups at random first, and groups are ordered: else the best of all subsets would
    // mostly follow chance, and win against better features.
    HEDGEROW_NOINLINE void best_subset(Lane& lane, const Feature& feature, std::uint32_t number, const Row* rows,
                                       std::uint32_t n_rows, std::uint64_t key, const Limits& limits, Split& best) {
        const std::uint32_t n_values = lane.n_occupied;
        if (lane.has_missing)
            lane.order[lane.n_occupied++] =
                static_cast<std::uint16_t>(lane.missing);  // missing values are one more category
        if (feature.has_many_categories())
            lane.draw_groups(derive_key(derive_key(key, Purpose::group), number), feature.n_bins, n_rows);
        target.ordering_classes([&](std::uint32_t label) {
            if (lane.is_grouped) lane.order_by_code();
            lane.ranked.resize(lane.n_occupied);
            for (std::uint32_t i = 0; i < lane.n_occupied; ++i)
                lane.ranked[i] = {target.share(lane.bins[lane.order[i]], label), lane.order[i]};
            if (lane.is_grouped) lane.share_within_groups();
            lane.order_by_share();
            const Place place = scan(lane, false, std::int64_t{lane.n_occupied} - 1, rows, n_rows, limits);
            if (!(place.score > best.score)) return;
            lane.keep_subset(number, place, best);
            keep_amount(lane, false, place, rows, n_rows, best);
        });
        lane.is_grouped = false;
        lane.order_by_code();
        lane.n_occupied = n_values;
    }

    HEDGEROW_NOINLINE Place scan(Lane& lane, bool missing_left, std::int64_t n_places, const Row* rows,
                                 std::uint32_t n_rows, const Limits& limits) {
        target.begin_scan();
        if (missing_left) target.move(lane.bins[lane.missing]);
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

    // Stores the amount left of a place, if features compete by gain ratio.
    void keep_amount(const Lane& lane, bool missing_left, const Place& place, const Row* rows, std::uint32_t n_rows,
                     Split& best) {
        if constexpr (has_ratios) {
            if (!target.by_ratio()) return;
            target.begin_scan();
            if (missing_left) target.move(lane.bins[lane.missing]);
            for (std::int64_t i = 0; i <= place.position; ++i) target.move(lane.bins[lane.order[i]]);
            best.left_amount = target.left_amount();
            target.end_scan(rows, n_rows);
        }
    }

    // Moves bin after bin to the left, and checks each time whether the limits allow the split.
    Place scan_bins(const Lane& lane, bool missing_left, std::int64_t n_places, std::uint32_t n_rows,
                    const Limits& limits) {
        const bool restricted = limits.restricted();
        Place best;
        std::uint32_t rows_left = missing_left ? lane.rows_in_bin[lane.missing] : 0;
        for (std::int64_t i = 0; i < n_places; ++i) {
            target.move(lane.bins[lane.order[i]]);
            rows_left += lane.rows_in_bin[lane.order[i]];
            if (limits.min_samples_leaf > 1 && !limits.allow_rows(rows_left, n_rows - rows_left)) continue;
            if (restricted && !allowed_by_weight(limits)) continue;
            if (lane.is_inside_group(i)) continue;
            const double value = target.score();
            if (value > best.score) best = {value, i};
        }
        return best;
    }

    bool allowed_by_weight(const Limits& limits) const {
        return limits.allow_amounts(target.left_amount(), target.node_amount() - target.left_amount()) &&
               limits.allow_shares(target.left_share(), target.right_share());
    }

    // Scores the drawn split, whose left side `move_left` moves, and lets it compete if the limits allow it.
    template <class MoveLeft>
    void score_drawn(const Row* rows, std::uint32_t n_rows, const Limits& limits, Split& best, MoveLeft&& move_left) {
        random_.begin_asking();
        target.begin_scan();
        const std::uint32_t rows_left = move_left();
        random_.end_asking();
        Split& drawn = random_.split;
        drawn.score = target.score();
        if constexpr (has_ratios) drawn.left_amount = target.left_amount();
        const bool allowed =
            rows_left > 0 && rows_left < n_rows &&
            (!limits.restricted() || (limits.allow_rows(rows_left, n_rows - rows_left) && allowed_by_weight(limits)));
        target.end_scan(rows, n_rows);
        if (allowed)
            of_feature(best, [&](Split& own) {
                if (drawn.score > own.score) own = drawn;
            });
    }

    Lane lanes_[lanes];
    RandomSplit random_;
    std::vector<Split> rivals_;  // the best split of each feature of a node, if they compete by gain ratio
};

}  // namespace hedgerow
