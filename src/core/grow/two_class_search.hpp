// Search for the best threshold of several numeric features at once, for rows of two classes.
//
// Most forests spend most of their time here: in nodes of two to a few hundred rows, where a mispredicted branch costs
// as much as ten rows. So there are almost no branches on data: few rows are compared with each other, more rows are
// summed in bins of four features side by side, and all places are scored in one pass (split_scores.hpp). Where most
// bins would be empty, occupied ones are listed first. The general search (split.hpp) finds the same split. Measured
// for a tree of 10k × 20: 0.80 of its time without wide vectors and bins side by side, and with them 0.89 of that.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/grow/occupancy.hpp"
#include "core/grow/split.hpp"
#include "core/grow/split_scores.hpp"
#include "core/kit/attributes.hpp"
#include "core/kit/vectors.hpp"
#include "core/kit/zeroed.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/class_splits.hpp"

namespace hedgerow {

#ifdef HEDGEROW_VECTORS

template <class Criterion>
class TwoClassSearch {
public:
    using Row = CountedRow;
    using Target = ClassPair<Criterion>;
    static constexpr std::uint32_t declined = 0xffffffff;

    // wide: whether codes have two bytes.
    HEDGEROW_NOINLINE explicit TwoClassSearch(bool wide)
        : n_codes_(wide ? n_codes<std::uint16_t> : n_codes<std::uint8_t>),
          bins_(lanes * n_codes_),
          sums_(lanes * (n_codes_ + 4)),
          order_(lanes * (n_codes_ + 4) + 1),
          counts_(2 * lanes * n_codes_),
          marks_{Occupancy(wide), Occupancy(wide), Occupancy(wide), Occupancy(wide)} {}
    HEDGEROW_NOINLINE ~TwoClassSearch() = default;

    void enter(const Row*, std::uint32_t, const Target&) {}

    // Looks at up to four plain features of a node that the target has entered, and stores the best threshold in `best`
    // if it is better. Returns how many of the features vary.
    std::uint32_t look(const AnyView& view, const std::vector<Feature>& features, const std::uint32_t* numbers,
                       std::uint32_t n_numbers, const Row* rows, std::uint32_t n_rows, Target& target, Split& best) {
        const Node node{view, features, numbers, rows, n_rows, target};
        if (n_rows > few_rows_ || target.node_amount() > few_amount)
            return is_dense(node, n_numbers) ? sum_side_by_side(node, n_numbers, best)
                                             : sum_bins(node, n_numbers, best);
        if (n_rows <= 8) return search_few<8>(node, n_numbers, best);
        if (n_rows <= 16) return search_few<16>(node, n_numbers, best);
        return n_rows <= 32 ? search_few<32>(node, n_numbers, best) : search_few<48>(node, n_numbers, best);
    }

private:
    template <class Code>
    static constexpr std::size_t n_codes = std::size_t{missing_code<Code>} + 1;
    static constexpr std::uint32_t lanes = score_lanes;
    static constexpr std::uint32_t most_few_rows = 48;  // with wide vectors
    static constexpr std::int64_t few_amount = 255;     // class counts fit one byte
    static constexpr std::uint32_t dense_node =
        256;  // from this many rows on, most bins are occupied: marks do not pay
    static constexpr std::int64_t exact_in_float = 4096;  // the product of two counts up to this is exact in a float

    struct Node {
        const AnyView& any;
        const std::vector<Feature>& features;
        const std::uint32_t* numbers;
        const Row* rows;
        std::uint32_t n_rows;
        Target& target;
    };

    // Loops over rows are compiled for each number of features and both sizes of codes: visit(number of features,
    // view).
    template <class Visit>
    static void for_rows(const Node& node, std::uint32_t n_numbers, Visit&& visit) {
        node.any.visit([&](const auto& view) {
            switch (n_numbers) {
                case 1: visit(std::integral_constant<int, 1>{}, view); break;
                case 2: visit(std::integral_constant<int, 2>{}, view); break;
                case 3: visit(std::integral_constant<int, 3>{}, view); break;
                default: visit(std::integral_constant<int, 4>{}, view); break;
            }
        });
    }

    // ---- few rows: every pair is compared ------------------------------------------------------------------

    // Every row is a candidate: "codes up to mine go left". The counts of both classes are the two bytes of a number.
    template <int width>
    HEDGEROW_NOINLINE std::uint32_t search_few(const Node& node, std::uint32_t n_numbers, Split& best) {
        std::int16_t codes[lanes * width], left[lanes * width], amounts[width];
        float rough[lanes * width];
        for_rows(node, n_numbers, [&]<class Code>(auto n, const CodeView<Code>& view) {
            const Code* columns[n];
            for (int f = 0; f < n; ++f) columns[f] = view.column(node.numbers[f]);
            for (std::uint32_t i = 0; i < width; ++i) {
                const Row& row = node.rows[i < node.n_rows ? i : 0];  // a candidate may occur more than once
                amounts[i] = static_cast<std::int16_t>(row.multiplicity << (8 * row.label));
                for (int f = 0; f < n; ++f)
                    codes[f * width + i] = static_cast<std::int16_t>(columns[f][row.offset * view.row_stride]);
            }
        });
        const SmallPairRows few{codes, amounts, node.n_rows, n_numbers, left, rough};
        float highest = 0;
        const std::uint32_t n_varying =
            wide_ ? compare_rows_wide<width, Target::is_gini>(few, total_of(node.target), highest)
                  : compare_rows_plain<width, Target::is_gini>(few, total_of(node.target), highest);
        const std::int64_t at = best_candidate(few, width, highest, node.target, best);
        if (at < 0) return n_varying;
        const std::int16_t next = code_above(codes[at], codes + at / width * width, width);
        best.cut(node.numbers[at / width], static_cast<std::uint32_t>(codes[at]), static_cast<std::uint32_t>(next));
        return n_varying;
    }

    // Returns the best candidate; the earliest feature, then the smallest code wins ties. -1 if none beats `best`.
    static std::int64_t best_candidate(const SmallPairRows& few, std::uint32_t width, float highest,
                                       const Target& target, Split& best) {
        const std::int16_t *left = few.left, *codes = few.codes;
        const std::uint32_t n_candidates = few.n_features * width;
        std::int64_t at = -1;
        const auto score_exactly = [&](std::int64_t i) {
            const auto both = static_cast<std::uint16_t>(left[i]);
            const double score = target.score_of((both & 0xffU) | std::uint64_t{both} >> 8 << 32);
            const bool tie_won = score == best.score && at >= 0 && at / width == i / width && codes[i] < codes[at];
            if (score > best.score || tie_won) best.score = score, at = i;
        };
        if constexpr (Target::is_gini) {
            for_each_near(few.scores, n_candidates, highest, score_exactly);
        } else {
            const auto [total0, total1] = halves(target.total());
            for (std::uint32_t i = 0; i < n_candidates; ++i)
                if ((left[i] & 0xffU) != total0 || (left[i] >> 8 & 0xffU) != total1) score_exactly(i);
        }
        return at;
    }

    // ---- as many rows as bins: a histogram of four features side by side ----------------------------------

    // Empty bins are scored too, which costs less than listing the occupied ones unless most are empty.
    bool is_dense(const Node& node, std::uint32_t n_numbers) const {
        if (!Target::is_gini || node.target.node_amount() > exact_in_float) return false;
        const std::uint32_t most_bins = (wide_ ? 6 : 4) * node.n_rows;
        for (std::uint32_t f = 0; f < n_numbers; ++f)
            if (node.features[node.numbers[f]].n_bins > most_bins) return false;
        return true;
    }

    HEDGEROW_NOINLINE std::uint32_t sum_side_by_side(const Node& node, std::uint32_t n_numbers, Split& best) {
        std::uint32_t n_bins = 0;
        for (std::uint32_t f = 0; f < n_numbers; ++f) n_bins = std::max(n_bins, node.features[node.numbers[f]].n_bins);
        n_bins = (n_bins + score_block - 1) / score_block * score_block;
        for_rows(node, n_numbers, [&](auto n, const auto& view) { fill_side_by_side<n>(node, view); });
        if (rough_.size() < 2 * lanes * n_bins) rough_.resize(2 * lanes * n_bins);
        const PairBinsOfFour four{counts_.data(), counts_.data() + lanes * n_codes_, rough_.data(),
                                  rough_.data() + lanes * n_bins};
        float highest[lanes];
        if (wide_) score_bins_wide(four, n_bins, total_of(node.target), highest);
        else score_bins_plain(four, n_bins, total_of(node.target), highest);
        std::uint32_t n_varying = 0;
        for (std::uint32_t f = 0; f < n_numbers; ++f) n_varying += highest[f] >= 0;
        const std::int64_t at =
            best_of_four(four, n_bins, *std::max_element(highest, highest + lanes), node.target, best);
        if (at < 0) return n_varying;
        std::int64_t next = at + lanes;
        while (four.sums[next] == four.sums[at]) next += lanes;
        best.cut(node.numbers[at % lanes], static_cast<std::uint32_t>(at / lanes),
                 static_cast<std::uint32_t>(next / lanes));
        return n_varying;
    }

    template <int n_numbers, class Code>
    void fill_side_by_side(const Node& node, const CodeView<Code>& view) {
        const Code* columns[n_numbers];
        for (int f = 0; f < n_numbers; ++f) columns[f] = view.column(node.numbers[f]);
        const std::size_t stride = view.row_stride;
        std::uint32_t* bins = counts_.data();
        for (std::uint32_t i = 0; i < node.n_rows; ++i) {
            const Row row = node.rows[i];
            const std::uint32_t amount = std::uint32_t{row.multiplicity} << (16 * row.label);
            for (int f = 0; f < n_numbers; ++f)
                bins[lanes * std::size_t{columns[f][row.offset * stride]} + f] += amount;
        }
    }

    // Returns the best place; the earliest feature, then the smallest code wins ties. -1 if none beats `best`.
    std::int64_t best_of_four(const PairBinsOfFour& four, std::uint32_t n_bins, float highest, const Target& target,
                              Split& best) const {
        const float near = near_to(highest);
        const std::uint32_t n_highest = wide_ ? 2 * lanes : lanes, n_scores = score_block * lanes;
        std::int64_t at = -1;
        for (std::uint32_t block = 0; block < n_bins / score_block; ++block) {
            const float* of_block = four.block_highest + block * n_highest;
            if (*std::max_element(of_block, of_block + n_highest) < near) continue;
            for (std::int64_t i = block * n_scores; i < (block + 1) * n_scores; ++i) {
                if (!(four.scores[i] >= near)) continue;
                const double score =
                    target.score_of((four.sums[i] & 0xffffU) | std::uint64_t{four.sums[i]} >> 16 << 32);
                const bool tie_won = score == best.score && at >= 0 && i % lanes < at % lanes;
                if (score > best.score || tie_won) best.score = score, at = i;
            }
        }
        return at;
    }

    // ---- more rows: a histogram per feature ---------------------------------------------------------------

    HEDGEROW_NOINLINE std::uint32_t sum_bins(const Node& node, std::uint32_t n_numbers, Split& best) {
        for_rows(node, n_numbers, [&](auto n, const auto& view) { fill<n>(node, view); });
        std::uint32_t ends[lanes], n_places = 0, n_varying = 0;
        for (std::uint32_t f = 0; f < n_numbers; ++f) {
            const std::uint32_t n_occupied = list(f, node.features[node.numbers[f]].n_bins, node.n_rows, n_places);
            n_varying += n_occupied > 1;
            // The register is padded with places that leave nothing on the right, which never win.
            for (int i = 0; i < 3; ++i) sums_[n_places + n_occupied + i] = node.target.total();
            ends[f] = n_places += (n_occupied + 3) & ~3U;
        }
        const std::int64_t at = best_place(n_places, node.target, best);
        if (at < 0) return n_varying;
        int f = 0;
        while (at >= ends[f]) ++f;
        best.cut(node.numbers[f], order_[at], order_[at + 1]);
        return n_varying;
    }

    // Several features in one pass: while one sum waits for memory, the others proceed.
    template <int n_numbers, class Code>
    void fill(const Node& node, const CodeView<Code>& view) {
        const Code* columns[n_numbers];
        for (int f = 0; f < n_numbers; ++f) columns[f] = view.column(node.numbers[f]);
        const std::size_t stride = view.row_stride;
        std::uint64_t* bins = bins_.data();
        const auto add_rows = [&](auto&& mark) {
            for (std::uint32_t i = 0; i < node.n_rows; ++i) {
                const Row row = node.rows[i];
                const std::uint64_t amount = Target::of(row);
                for (int f = 0; f < n_numbers; ++f) {
                    const Code code = columns[f][row.offset * stride];
                    mark(f, code);
                    bins[f * n_codes<Code> + code] += amount;
                }
            }
        };
        if (node.n_rows < dense_node) add_rows([&](int f, Code code) { marks_[f].mark(code); });
        else add_rows([](int, Code) {});
    }

    // Lists the occupied bins of a lane from `start` on, with their running sums, and clears them. Returns their
    // number.
    std::uint32_t list(std::uint32_t lane, std::uint32_t n_bins, std::uint32_t n_rows, std::uint32_t start) {
        std::uint64_t* bins = bins_.data() + lane * n_codes_;
        std::uint64_t* sums = sums_.data() + start;
        std::uint16_t* order = order_.data() + start;
        std::uint64_t sum = 0;
        std::uint32_t n = 0;
        const auto take = [&](std::uint32_t code) {
            order[n] = static_cast<std::uint16_t>(code);
            sums[n] = sum += bins[code];
        };
        if (n_rows < dense_node) {
            marks_[lane].drain(n_bins, [&](std::uint32_t code) {
                take(code);
                bins[code] = 0;
                ++n;
            });
        } else {
            for (std::uint32_t code = 0; code < n_bins; ++code) {
                take(code);
                n += bins[code] != 0;
                bins[code] = 0;
            }
        }
        return n;
    }

    // Returns the best place, the first of equal ones. -1 if none beats `best`.
    std::int64_t best_place(std::uint32_t n_places, Target& target, Split& best) {
        std::int64_t at = -1;
        const auto score_exactly = [&](std::int64_t i) {
            const double score = target.score_of(sums_[i]);
            if (score > best.score) best.score = score, at = i;
        };
        if (!Target::is_gini) {
            for (std::uint32_t i = 0; i < n_places; ++i)
                if (sums_[i] != target.total()) score_exactly(i);
        } else if (target.node_amount() <= exact_in_float) {
            if (rough_.size() < n_places) rough_.resize(n_places);
            const float highest = score_sums(sums_.data(), n_places, total_of(target), rough_.data());
            for_each_near(rough_.data(), n_places, highest, score_exactly);
        } else {
            target.begin_scan();
            const Place place = target.scan(sums_.data(), n_places);
            if (place.score > best.score) best.score = place.score, at = place.position;
        }
        return at;
    }

    // ---- rough scores -------------------------------------------------------------------------------------

    // Visits the few places that may be the best, which are then scored exactly.
    template <class Visit>
    static void for_each_near(const float* scores, std::uint32_t n_scores, float highest, Visit&& visit) {
        const float near = near_to(highest);
        for (std::uint32_t first = 0; first < n_scores; first += 4) {
            Floats four;
            std::memcpy(&four, scores + first, sizeof four);
            if (!any(four >= near)) continue;
            for (std::uint32_t i = first; i < first + 4; ++i)
                if (scores[i] >= near) visit(i);
        }
    }

    static float near_to(float highest) { return highest * (1 - 0x1.0p-20f); }
    static PairTotal total_of(const Target& target) {
        const auto [zero, one] = halves(target.total());
        return {static_cast<float>(zero), static_cast<float>(one)};
    }
    static std::pair<std::uint32_t, std::uint32_t> halves(std::uint64_t counts) {
        return {static_cast<std::uint32_t>(counts), static_cast<std::uint32_t>(counts >> 32)};
    }

    const bool wide_ = has_wide_vectors();
    const std::uint32_t few_rows_ = wide_ ? most_few_rows : 32;
    std::size_t n_codes_;
    Zeroed<std::uint64_t> bins_, sums_;
    Zeroed<std::uint16_t> order_;
    Zeroed<std::uint32_t> counts_;  // bins and sums of four features side by side
    Occupancy marks_[lanes];
    std::vector<float> rough_;
};

#else

template <class Criterion>
class TwoClassSearch;

#endif

}  // namespace hedgerow
