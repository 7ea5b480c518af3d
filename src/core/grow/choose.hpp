// Choose: what a node's rows add up to in the bins of some features -> its split, or the features it must see first.
//
// The same search, by the same draws, as where the rows themselves lie in one place (grow.hpp): for tables that lie in
// many. A node is taken to have more than a handful of rows; small ones are grown where their rows are gathered.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/grow/grow.hpp"
#include "core/grow/order.hpp"
#include "core/grow/split.hpp"
#include "core/rows/codes.hpp"
#include "core/targets/numbers.hpp"
#include "core/targets/classes.hpp"

namespace hedgerow {

// A node that waits for its split.
struct Question {
    std::uint64_t key = 0;
    std::int64_t total_amount = 0;        // of its tree
    double lower = 0, upper = 1;          // as in Start
    std::vector<std::uint32_t> used;
    std::vector<double> totals;           // of its rows, cell by cell as in histogram.hpp; their number is the last
    std::vector<double> first;            // in a regression, the amount and sum of the first of its rows
    // For each feature its bins, the missing one last, of as many cells as `totals`; null where nobody has summed them.
    std::vector<const double*> bins;
    std::uint32_t n_rows() const { return static_cast<std::uint32_t>(totals.back()); }
    std::int64_t amount() const {
        double sum = 0;
        for (std::size_t i = 0; i + 1 < totals.size(); ++i) sum += totals[i];
        return static_cast<std::int64_t>(sum);
    }
};

struct Answer {
    enum class What { leaf, split, needs } what = What::leaf;
    std::vector<std::uint32_t> needed;    // features to be summed before the question is asked again
    NodeKind kind = NodeKind::threshold;
    std::uint32_t feature = 0, code = 0;  // as a node keeps them
    bool missing_left = false;
    std::vector<std::uint64_t> words;     // of a subset
};

class AnyChooser {
public:
    virtual ~AnyChooser() = default;
    // `spare`: how many features to ask for beyond those the node will look at if all of them vary.
    virtual Answer choose(const Question& question, std::uint32_t spare) = 0;
};

// Rows that go left, and the rest of what a node keeps of its split.
inline Answer answer_from(const Split& split, const Feature& feature, const Question& question) {
    const std::size_t width = question.totals.size();
    const auto rows_in = [&](std::uint32_t bin) { return question.bins[split.feature][bin * width + width - 1]; };
    double left = split.missing_left ? rows_in(feature.n_bins) : 0;
    if (split.kind == NodeKind::threshold)
        for (std::uint32_t code = 0; code <= split.threshold && code < feature.n_bins; ++code) left += rows_in(code);
    else
        for (const std::uint16_t code : split.left_codes) left += rows_in(code);
    const bool larger_left = 2 * left > question.totals.back();
    Answer answer{Answer::What::split, {}, split.kind, split.feature, 0, split.missing_seen ? split.missing_left : larger_left, {}};
    if (split.kind == NodeKind::threshold) {
        answer.code = split.threshold;
    } else {
        answer.words.resize((feature.n_bins + 63) / 64);
        write_subset(split, larger_left, answer.words.data(), answer.words.size());
    }
    return answer;
}

// The best, or the best random, split by a criterion.
template <class Target>
class Chooser final : public AnyChooser {
public:
    Chooser(const std::vector<Feature>& features, const GrowOptions& options, const Target& target)
        : features_(features), options_(options), search_(target), order_(static_cast<std::uint32_t>(features.size())) {}

    Answer choose(const Question& question, std::uint32_t spare) override {
        min_amount_ = min_amount_leaf(options_, question.total_amount);
        Split best;
        search(question, options_.max_features, best);
        if (!needed_.empty() && spare > 0) {
            search_.target.leave_node(nullptr, 0);
            search(question, options_.max_features + spare, best);
        }
        const double gain = needed_.empty() && best.found() ? search_.target.gain_from(best.score) : 0;
        search_.target.leave_node(nullptr, 0);
        if (!needed_.empty()) return {Answer::What::needs, needed_, {}, 0, 0, false, {}};
        if (best.found()) best.settle_threshold(features_[best.feature]);
        if (!gains_enough<typename Target::Criterion>(best, gain, question.total_amount, options_.min_impurity_decrease)) return {};
        return answer_from(best, features_[best.feature], question);
    }

private:
    using Code = std::uint16_t;
    using Search = SplitSearch<Code, Target>;
    using Bin = typename Target::Bin;
    using Row = typename Target::Row;
    static constexpr bool numeric = std::is_same_v<Row, NumberRow>;
    // What a feature that nobody has summed is taken to find: something that anything beats.
    static constexpr double some_score = no_score / 2;

    void search(const Question& question, std::uint32_t max_features, Split& best) {
        needed_.clear();
        enter(question);
        Draws draws(question.key);
        search_features(search_.target, order_, max_features, best, [&](std::uint32_t wanted) {
            return options_.splitter == Splitter::best ? try_best(question, draws, wanted, best) : try_random(question, draws, best);
        });
    }

    // A feature that must be summed first is taken to vary, so the features after it are the likely ones.
    std::uint32_t try_best(const Question& question, Draws& draws, std::uint32_t wanted, Split& best) {
        const std::uint32_t n_numbers = std::min({wanted, order_.n_left(), std::uint32_t{Search::lanes}});
        std::uint32_t numbers[Search::lanes] = {}, n_varying = 0;
        for (std::uint32_t i = 0; i < n_numbers; ++i) {
            numbers[i] = order_.draw(draws);
            if (question.bins[numbers[i]] == nullptr) needed_.push_back(numbers[i]);
        }
        if (!needed_.empty()) best.score = std::max(best.score, some_score);
        for (std::uint32_t i = 0; i < n_numbers; ++i) {
            const Feature& feature = features_[numbers[i]];
            if (question.bins[numbers[i]] == nullptr) { ++n_varying; continue; }
            search_.load(0, summed(question, numbers[i]), feature, restricted(), options_.min_samples_leaf > 1);
            n_varying += search_.try_best(0, feature, numbers[i], nullptr, question.n_rows(), limits_for(question, numbers[i]), best);
            search_.empty(1);
        }
        return n_varying;
    }

    std::uint32_t try_random(const Question& question, Draws& draws, Split& best) {
        const std::uint32_t number = order_.draw(draws);
        if (question.bins[number] == nullptr) {
            needed_.push_back(number);
            Search::pass_over(features_[number], draws);
            best.score = std::max(best.score, some_score);
            return 1;
        }
        const typename Search::Summed sums = summed(question, number);
        return search_.try_random(sums, features_[number], number, nullptr, question.n_rows(), limits_for(question, number), draws, best);
    }

    bool restricted() const { return options_.min_samples_leaf > 1 || min_amount_ > 0 || !options_.monotonic.empty(); }
    Limits limits_for(const Question& question, std::uint32_t number) const {
        const int sign = options_.monotonic.empty() ? 0 : options_.monotonic[number];
        return {options_.min_samples_leaf, min_amount_, sign, question.lower, question.upper};
    }

    void enter(const Question& question) {
        if constexpr (numeric) {
            search_.target.enter_sum(bin_from(question.totals.data()), bin_from(question.first.data()));
        } else if constexpr (Target::sums_up) {
            search_.target.enter_sum(bin_from(question.totals.data()));
        } else {
            rows_.clear();
            add_rows(question.totals.data(), 0);
            search_.target.enter_node(rows_.data(), static_cast<std::uint32_t>(rows_.size()));
        }
    }

    // A feature's bins in the words of the target.
    typename Search::Summed summed(const Question& question, std::uint32_t number) {
        const std::size_t width = question.totals.size(), n_bins = features_[number].n_bins + 1;
        const double* cells = question.bins[number];
        bins_.assign(n_bins, Bin{});
        n_rows_.resize(n_bins);
        for (std::size_t bin = 0; bin < n_bins; ++bin) n_rows_[bin] = static_cast<std::uint32_t>(cells[bin * width + width - 1]);
        if constexpr (Target::sums_up) {
            for (std::size_t bin = 0; bin < n_bins; ++bin) bins_[bin] = bin_from(cells + bin * width);
        } else {
            search_.target.leave_node(nullptr, 0);
            rows_.clear();
            for (std::size_t bin = 0; bin < n_bins; ++bin) add_rows(cells + bin * width, static_cast<std::uint32_t>(bin));
            search_.target.enter_node(rows_.data(), static_cast<std::uint32_t>(rows_.size()));
            for (std::uint32_t i = 0; i < rows_.size(); ++i) search_.target.add(bins_[rows_[i].offset], rows_[i], i);
        }
        return {bins_.data(), n_rows_.data()};
    }

    Bin bin_from(const double* cells) const {
        if constexpr (numeric) {
            return {cells[0], cells[1]};
        } else if constexpr (std::is_same_v<Bin, std::uint64_t>) {
            const std::uint64_t second = options_.n_classes > 1 ? static_cast<std::uint64_t>(cells[1]) : 0;
            return static_cast<std::uint64_t>(cells[0]) | second << 32;
        } else {
            Bin bin{};
            for (std::uint32_t k = 0; k < options_.n_classes; ++k)
                bin.amounts[k] = static_cast<std::remove_reference_t<decltype(bin.amounts[0])>>(cells[k]);
            return bin;
        }
    }

    // For targets whose bins are lists of rows: rows that stand for all of their class in a bin.
    void add_rows(const double* cells, std::uint32_t bin) {
        for (std::uint32_t k = 0; k < options_.n_classes; ++k) {
            Row row{};
            row.offset = bin;
            row.label = static_cast<std::uint16_t>(k);
            if constexpr (std::is_same_v<Row, WeightedRow>) {
                row.weight = static_cast<std::int64_t>(cells[k]);
                if (row.weight > 0) rows_.push_back(row);
            } else {
                for (auto left = static_cast<std::uint64_t>(cells[k]); left > 0; left -= row.multiplicity) {
                    row.multiplicity = static_cast<std::uint16_t>(std::min<std::uint64_t>(left, 0xffff));
                    rows_.push_back(row);
                }
            }
        }
    }

    std::vector<Feature> features_;
    GrowOptions options_;
    Search search_;
    FeatureOrder order_;
    std::int64_t min_amount_ = 0;
    std::vector<std::uint32_t> needed_;
    std::vector<Bin> bins_;
    std::vector<std::uint32_t> n_rows_;
    std::vector<Row> rows_;
};

// The split of a random decision tree; cells are an amount and rows.
class RandomChooser final : public AnyChooser {
public:
    RandomChooser(const std::vector<Feature>& features, const GrowOptions& options) : features_(features), options_(options) {}

    Answer choose(const Question& question, std::uint32_t spare) override {
        Answer answer;
        Draws draws(question.key);
        const auto n_features = static_cast<std::uint32_t>(features_.size());
        for (std::uint32_t attempt = 0; attempt < n_features && answer.needed.size() <= spare; ++attempt) {
            const std::uint32_t number = draws.below(n_features);
            const bool known = question.bins[number] != nullptr, waits = !answer.needed.empty();
            if (features_[number].nominal) {
                if (std::find(question.used.begin(), question.used.end(), number) != question.used.end()) continue;
                if (known && !waits && divides(question, number)) return {Answer::What::split, {}, NodeKind::multiway, number, features_[number].n_bins, false, {}};
            } else {
                DrawnValue drawn(draws, static_cast<std::uint64_t>(question.amount()));
                Split split;
                if (known && !waits && accepts(question, number, drawn, split)) return answer_from(split, features_[number], question);
            }
            const bool listed = std::find(answer.needed.begin(), answer.needed.end(), number) != answer.needed.end();
            if (!known && !listed) answer.needed.push_back(number);
        }
        if (!answer.needed.empty()) answer.what = Answer::What::needs;
        return answer;
    }

private:
    bool divides(const Question& question, std::uint32_t number) const {
        std::vector<std::uint32_t> child_rows;
        for (std::uint32_t bin = 0; bin <= features_[number].n_bins; ++bin)
            child_rows.push_back(static_cast<std::uint32_t>(question.bins[number][2 * bin + 1]));
        return hedgerow::divides(child_rows, options_.min_samples_leaf);
    }
    bool accepts(const Question& question, std::uint32_t number, DrawnValue& drawn, Split& split) const {
        const std::uint32_t n_bins = features_[number].n_bins;
        const auto cell = [&](std::uint32_t bin, int which) { return static_cast<std::uint64_t>(question.bins[number][2 * bin + which]); };
        for (std::uint32_t bin = 0; bin < n_bins; ++bin)
            if (cell(bin, 1) > 0) drawn.pass(bin, cell(bin, 0), static_cast<std::uint32_t>(cell(bin, 1)));
        drawn.miss(cell(n_bins, 0), static_cast<std::uint32_t>(cell(n_bins, 1)));
        const Limits limits{std::max(1U, options_.min_samples_leaf), min_amount_leaf(options_, question.total_amount)};
        return drawn.settle(number, question.n_rows(), limits, split);
    }

    std::vector<Feature> features_;
    GrowOptions options_;
};

}  // namespace hedgerow
