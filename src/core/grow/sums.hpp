// Split of a node from sums of its rows in bins, or the features to sum first.
//
// For tables whose rows are on several machines. It is the same search, with the same draws, as for rows on one machine
// (search.hpp). Small nodes are not supported: their rows are gathered and grown on one machine.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/grow/frame.hpp"
#include "core/grow/options.hpp"
#include "core/grow/order.hpp"
#include "core/grow/question.hpp"
#include "core/grow/search.hpp"
#include "core/grow/split.hpp"
#include "core/read/subset.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/multi_output.hpp"

namespace hedgerow {

// Converts a split to the answer: rows that go left, and the parts that a node stores.
inline Answer answer_from(const Split& split, const Feature& feature, const Question& question) {
    const std::size_t width = question.totals.size();
    const auto rows_in = [&](std::uint32_t bin) { return question.bins[split.feature][bin * width + width - 1]; };
    double left = split.missing_left ? rows_in(feature.n_bins) : 0;
    if (split.kind == NodeKind::threshold)
        for (std::uint32_t code = 0; code <= split.threshold && code < feature.n_bins; ++code) left += rows_in(code);
    else
        for (const std::uint16_t code : split.left_codes) left += rows_in(code);
    const bool larger_left = 2 * left > question.totals.back();
    NodeSplit made{split.kind, split.feature, 0, split.missing_seen ? split.missing_left : larger_left, {}};
    if (split.kind == NodeKind::threshold) {
        made.code = split.threshold;
    } else {
        std::vector<std::uint64_t> bits;
        write_subset(split, larger_left, feature.n_bins, bits);
        made.code = store_subset(bits, feature.n_bins, made.words);
    }
    return {std::move(made), {}};
}

// The best split by a criterion, or the best random one.
template <class Target>
class SumSearch final : public AnySumSearch {
public:
    using Source = typename Target::Source;

    SumSearch(const std::vector<Feature>& features, const GrowOptions& options, const Target& target,
              const Source& source)
        : features_(features),
          options_(options),
          source_(source),
          search_(target, true),
          order_(static_cast<std::uint32_t>(features.size()), options.feature_weights) {}

    std::size_t n_cells() const override { return source_.n_cells(); }
    std::int64_t amount_of(const std::vector<double>& cells) const override { return source_.amount_of(cells.data()); }
    bool is_pure(const std::vector<double>& cells) const override { return source_.is_pure(cells.data()); }
    double share_of(const std::vector<double>& cells) const override { return source_.share_of(cells.data()); }

    HEDGEROW_COLD Answer choose(const Question& question, std::uint32_t spare) override {
        Split best;
        bool found = find(question, options_.max_features, best);
        if (!needed_.empty() && spare > 0) found = find(question, options_.max_features + spare, best);
        if (!needed_.empty()) return {std::nullopt, needed_};
        return found ? answer_from(best, features_[best.feature], question) : Answer{};
    }

private:
    using Search = SplitSearch<Target>;
    using Bin = typename Target::Bin;
    using Row = typename Target::Row;
    // The score assumed for a feature that is not summed yet; any other score beats it.
    static constexpr double some_score = no_score / 2;

    HEDGEROW_COLD bool find(const Question& question, std::uint32_t max_features, Split& best) {
        needed_.clear();
        enter(question);
        double gain = 0;
        const auto look = [&](Draws& draws, std::uint32_t wanted) {
            return options_.splitter == Splitter::best ? try_best(question, draws, wanted, best)
                                                       : try_random(question, draws, best);
        };
        const bool found = find_split(search_, order_, features_, options_, question.rules, question.node.key,
                                      max_features, best, gain, look);
        search_.target.leave_node(nullptr, 0);
        return found;
    }

    // A feature that is not summed yet is assumed to vary, so the features after it are those that will likely be
    // needed.
    HEDGEROW_COLD std::uint32_t try_best(const Question& question, Draws& draws, std::uint32_t wanted, Split& best) {
        const std::uint32_t n_numbers = std::min({wanted, order_.n_left(), std::uint32_t{Search::lanes}});
        std::uint32_t numbers[Search::lanes] = {}, n_varying = 0;
        for (std::uint32_t i = 0; i < n_numbers; ++i) {
            numbers[i] = order_.draw(draws);
            if (question.bins[numbers[i]] == nullptr) needed_.push_back(numbers[i]);
        }
        if (!needed_.empty()) best.score = std::max(best.score, some_score);
        for (std::uint32_t i = 0; i < n_numbers; ++i) {
            const Feature& feature = features_[numbers[i]];
            if (question.bins[numbers[i]] == nullptr) {
                ++n_varying;
                continue;
            }
            search_.load(0, summed(question, numbers[i]), feature, question.rules.restricted(),
                         question.rules.counts_rows());
            n_varying += search_.try_best(0, feature, numbers[i], nullptr, question.n_rows(), question.node.key,
                                          limits(question, numbers[i]), best);
            search_.empty(1);
        }
        return n_varying;
    }

    HEDGEROW_COLD std::uint32_t try_random(const Question& question, Draws& draws, Split& best) {
        const std::uint32_t number = order_.draw(draws);
        if (question.bins[number] == nullptr) {
            needed_.push_back(number);
            Search::pass_over(features_[number], draws);
            best.score = std::max(best.score, some_score);
            return 1;
        }
        const typename Search::Summed sums = summed(question, number);
        return search_.try_random(sums, features_[number], number, nullptr, question.n_rows(), limits(question, number),
                                  draws, best);
    }

    Limits limits(const Question& question, std::uint32_t number) const {
        return question.node.limits(options_, question.rules, number);
    }

    void enter(const Question& question) {
        if constexpr (Target::sums_up) {
            search_.target.enter_sum(question.totals.data(), question.first.data());
        } else {
            rows_.clear();
            source_.add_rows(question.totals.data(), 0, rows_);
            search_.target.enter_node(rows_.data(), static_cast<std::uint32_t>(rows_.size()));
        }
    }

    // The bins of a feature, as the target takes them. If its bins are lists of rows, one row stands for all rows of a
    // class in a bin.
    HEDGEROW_COLD typename Search::Summed summed(const Question& question, std::uint32_t number) {
        const std::size_t width = question.totals.size(), n_bins = features_[number].n_bins + 1;
        const double* cells = question.bins[number];
        bins_.assign(n_bins, Bin{});
        n_rows_.resize(n_bins);
        for (std::size_t bin = 0; bin < n_bins; ++bin)
            n_rows_[bin] = static_cast<std::uint32_t>(cells[bin * width + width - 1]);
        if constexpr (Target::sums_up) {
            for (std::size_t bin = 0; bin < n_bins; ++bin) bins_[bin] = search_.target.bin_from(cells + bin * width);
        } else {
            search_.target.leave_node(nullptr, 0);
            rows_.clear();
            for (std::size_t bin = 0; bin < n_bins; ++bin)
                source_.add_rows(cells + bin * width, static_cast<std::uint32_t>(bin), rows_);
            search_.target.enter_node(rows_.data(), static_cast<std::uint32_t>(rows_.size()));
            for (std::uint32_t i = 0; i < rows_.size(); ++i) search_.target.add(bins_[rows_[i].offset], rows_[i], i);
        }
        return {bins_.data(), n_rows_.data()};
    }

    std::vector<Feature> features_;
    GrowOptions options_;
    Source source_;
    Search search_;
    FeatureOrder order_;
    std::vector<std::uint32_t> needed_;
    std::vector<Bin> bins_;
    std::vector<std::uint32_t> n_rows_;
    std::vector<Row> rows_;
};

// The split of a random decision tree; cells are an amount and rows.
class BlindSumSearch final : public AnySumSearch {
public:
    BlindSumSearch(const std::vector<Feature>& features, const GrowOptions& options)
        : features_(features), options_(options) {}

    std::size_t n_cells() const override { return 2; }
    std::int64_t amount_of(const std::vector<double>& cells) const override {
        return static_cast<std::int64_t>(cells[0]);
    }
    bool is_pure(const std::vector<double>&) const override { return false; }
    double share_of(const std::vector<double>&) const override { return 0; }

    HEDGEROW_COLD Answer choose(const Question& question, std::uint32_t spare) override {
        Answer answer;
        Draws draws(question.node.key);
        const auto n_features = static_cast<std::uint32_t>(features_.size());
        for (std::uint32_t attempt = 0; attempt < n_features && answer.needed.size() <= spare; ++attempt) {
            const std::uint32_t number = draws.below(n_features);
            const bool known = question.bins[number] != nullptr, waits = !answer.needed.empty();
            if (features_[number].nominal) {
                if (question.used->has(question.node.used, number)) continue;
                if (known && !waits && divides_rows(question, number))
                    return {NodeSplit{NodeKind::multiway, number, features_[number].n_bins, false, {}}, {}};
            } else {
                DrawnValue drawn(draws, static_cast<std::uint64_t>(question.totals[0]));
                Split split;
                if (known && !waits && accepts(question, number, drawn, split))
                    return answer_from(split, features_[number], question);
            }
            const bool listed = std::find(answer.needed.begin(), answer.needed.end(), number) != answer.needed.end();
            if (!known && !listed) answer.needed.push_back(number);
        }
        return answer;
    }

private:
    bool divides_rows(const Question& question, std::uint32_t number) const {
        std::vector<std::uint32_t> child_rows;
        for (std::uint32_t bin = 0; bin <= features_[number].n_bins; ++bin)
            child_rows.push_back(static_cast<std::uint32_t>(question.bins[number][2 * bin + 1]));
        return divides(child_rows, options_.min_samples_leaf);
    }
    bool accepts(const Question& question, std::uint32_t number, DrawnValue& drawn, Split& split) const {
        const std::uint32_t n_bins = features_[number].n_bins;
        const auto cell = [&](std::uint32_t bin, int which) {
            return static_cast<std::uint64_t>(question.bins[number][2 * bin + which]);
        };
        for (std::uint32_t bin = 0; bin < n_bins; ++bin)
            if (cell(bin, 1) > 0) drawn.pass(bin, cell(bin, 0), static_cast<std::uint32_t>(cell(bin, 1)));
        drawn.miss(cell(n_bins, 0), static_cast<std::uint32_t>(cell(n_bins, 1)));
        return drawn.settle(number, question.n_rows(),
                            {std::max(1U, options_.min_samples_leaf), question.rules.min_amount_leaf}, split);
    }

    std::vector<Feature> features_;
    GrowOptions options_;
};

// The search for a source and a criterion; compiled in growers.cpp.
template <class Source>
std::unique_ptr<AnySumSearch> sum_search_on(const Source& source, const NamedValues& given,
                                            const std::vector<Feature>& features, const GrowOptions& options,
                                            std::size_t n_rows) {
    return with_criterion(source, given, n_rows,
                          [&]<class Target>(const Target& target, const Source&) -> std::unique_ptr<AnySumSearch> {
        if constexpr (Target::adds_up) return std::make_unique<SumSearch<Target>>(features, options, target, source);
        else throw std::invalid_argument("criterion must add up over the parts of a table");
    });
}

}  // namespace hedgerow
