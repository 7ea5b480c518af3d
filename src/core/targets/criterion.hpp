// Criteria: the quality of one side of a split, given its class counts; purer sides have a higher quality.
//
// A criterion has two functions: the contribution of the count of one class, which is summed over classes in exact
// integers (so the order of rows, bins, threads or machines does not matter), and the quality of that sum and the total
// of the side:
//     quality(Σ_k contribution(n_k), n).
// A criterion that needs all counts of a side is a WholeSide.
// The gain of a split is quality(left) + quality(right) − quality(node), divided by the rows of the tree.
#pragma once
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "core/kit/attributes.hpp"
#include "core/rows/random.hpp"
#include "core/targets/wide.hpp"

namespace hedgerow {

static_assert(FLT_EVAL_METHOD == 0,
              "scores must be rounded to doubles: on 32-bit x86 compile with -msse2 -mfpmath=sse");

// n·(1 − Gini impurity) = Σ n_k² / n.
struct Gini {
    static constexpr bool whole_side = false;
    static bool needs_gain() { return false; }  // a split without gain may enable better ones below

    static std::int64_t contribution(std::uint32_t count) { return std::int64_t{count} * count; }
    static WideInteger contribution(std::int64_t weight) { return wide_square(weight); }

    template <class Sum, class Amount>
    static double quality(Sum sum, Amount total) {
        return total == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(total);
    }
    // The quality of two pure sides; an upper bound for all splits.
    static double perfect(std::int64_t total) { return static_cast<double>(total); }
};

// Two criteria that sum n_k log₂ of something. They are one type, because the core compiles a search per type; the
// branch is the same in a whole forest.
//
// Entropy, −n · entropy in bits = Σ n_k log₂ n_k − n log₂ n.
// Belief, −n · U_λ of the imprecise Dirichlet mass with m({k}) = n_k/(n+s), m(Ω) = s/(n+s), in bits:
//     n/(n+s) · [λ (Σ n_k log₂(K n_k + s) − n log₂(K (n + s))) − (1−λ) s log₂ K].
class Logarithmic {
public:
    static constexpr bool whole_side = false;

    static Logarithmic entropy(std::size_t largest_count) { return {largest_count, 1, 0, 0, false}; }
    static Logarithmic belief(std::size_t largest_count, std::uint32_t n_classes, double lam, double caution) {
        return {largest_count, static_cast<double>(n_classes), lam, caution, true};
    }

    // The stopping rule of belief: splits need a positive gain.
    bool needs_gain() const { return belief_; }
    // n_k log₂(K n_k + s), in units of 2⁻¹⁶ bit; K is 1 and s is 0 for entropy.
    std::int64_t contribution(std::int64_t amount) const {
        return amount < size_ ? contributions_[amount] : contribution_of(static_cast<double>(amount));
    }
    std::int64_t contribution(std::uint32_t count) const { return contribution(std::int64_t{count}); }

    template <class Amount>
    double quality(std::int64_t sum, Amount total) const {
        if (!belief_) return static_cast<double>(sum - contribution(total)) * 0x1.0p-16;
        const auto amount = static_cast<std::int64_t>(total);
        const Line line = amount < size_ ? lines_[amount] : line_of(static_cast<double>(amount));
        return line.scale * static_cast<double>(sum) + line.offset;
    }
    double perfect(std::int64_t) const { return belief_ ? 1e300 : 0.0; }  // no upper bound is known for belief

private:
    struct Line {
        double scale, offset;  // quality = scale · Σ contribution + offset, for n = this count
    };
    struct Tables {
        std::vector<std::int64_t> contributions;
        std::vector<Line> lines;
    };
    static constexpr std::size_t table_limit = std::size_t{1} << 16;

    Logarithmic(std::size_t largest_count, double n_classes, double lam, double caution, bool belief)
        : belief_(belief), n_classes_(n_classes), lam_(lam), caution_(caution) {
        const std::size_t size = std::min(largest_count + 1, table_limit);
        auto tables = std::make_shared<Tables>();
        for (std::size_t count = 0; count < size; ++count) {
            tables->contributions.push_back(contribution_of(static_cast<double>(count)));
            if (belief) tables->lines.push_back(line_of(static_cast<double>(count)));
        }
        owner_ = tables;
        contributions_ = tables->contributions.data();
        lines_ = tables->lines.data();
        size_ = static_cast<std::int64_t>(size);
    }
    HEDGEROW_NOINLINE std::int64_t contribution_of(double amount) const {
        return amount <= 0 ? 0 : std::llround(amount * std::log2(n_classes_ * amount + caution_) * 65536.0);
    }
    HEDGEROW_NOINLINE Line line_of(double amount) const {
        if (amount <= 0) return {0, 0};
        const double share = amount / (amount + caution_);
        const double certain = lam_ * amount * std::log2(n_classes_ * (amount + caution_));
        const double unspecific = (1 - lam_) * caution_ * std::log2(n_classes_);
        return {share * lam_ / 65536.0, -share * (certain + unspecific)};
    }

    bool belief_;
    double n_classes_, lam_, caution_;
    std::shared_ptr<Tables> owner_;
    const std::int64_t* contributions_ = nullptr;
    const Line* lines_ = nullptr;
    std::int64_t size_ = 0;
};

// −n · uncertainty(counts) for any function of the counts of a side. Results are cached by sorted counts, because the
// order of the classes does not matter, unless the classes are ordered.
class WholeSide {
public:
    static constexpr bool whole_side = true;
    static bool needs_gain() { return true; }
    using Counts =
        std::vector<std::int64_t>;  // of the classes that occur, ascending; of all classes if they are ordered
    using Uncertainty = std::function<double(const Counts&)>;

    // ordered: the order of the classes matters. by_ratio: features compete by gain divided by split information.
    // split_caution: rows added to the side of larger uncertainty when the sides of a split are weighted.
    explicit WholeSide(Uncertainty uncertainty, bool ordered = false, bool by_ratio = false, double split_caution = 0)
        : ordered(ordered), by_ratio(by_ratio), split_caution_(split_caution), uncertainty_(std::move(uncertainty)) {}
    bool ordered, by_ratio;

    // The quality of a split, given that of its sides. With s rows of split caution the sides have the probabilities
    // n_i/(n + s), and (n_i + s)/(n + s) for the side of larger uncertainty, instead of n_i/n.
    double quality_of_split(double left, std::int64_t n_left, double right, std::int64_t n_right) const {
        if (split_caution_ == 0) return left + right;
        const double larger = std::max(n_left > 0 ? -left / static_cast<double>(n_left) : 0,
                                       n_right > 0 ? -right / static_cast<double>(n_right) : 0);
        const double total = static_cast<double>(n_left) + static_cast<double>(n_right);
        return total / (total + split_caution_) * (left + right - split_caution_ * larger);
    }

    // `counts` may have zeros; if the order of the classes does not matter, it may be in any order and is sorted here.
    double quality(Counts& counts, std::int64_t total) const {
        if (total == 0) return 0;
        if (!ordered) {
            counts.erase(std::remove(counts.begin(), counts.end(), 0), counts.end());
            std::sort(counts.begin(), counts.end());
        }
        const auto known = remembered_.find(counts);
        if (known != remembered_.end()) return -static_cast<double>(total) * known->second;
        if (remembered_.size() >= memory_limit) remembered_.clear();
        const double uncertainty = uncertainty_(counts);
        remembered_.emplace(counts, uncertainty);
        return -static_cast<double>(total) * uncertainty;
    }
    static std::int64_t contribution(std::int64_t) { return 0; }
    static double perfect(std::int64_t) { return 1e300; }

private:
    static constexpr std::size_t memory_limit = 1 << 18;
    struct Hash {
        std::size_t operator()(const Counts& counts) const {
            std::uint64_t key = counts.size();
            for (const std::int64_t count : counts) key = derive_key(key, static_cast<std::uint64_t>(count));
            return static_cast<std::size_t>(key);
        }
    };
    double split_caution_;
    Uncertainty uncertainty_;
    mutable std::unordered_map<Counts, double, Hash> remembered_;
};

// The upper entropy of the imprecise Dirichlet model, in bits: `caution` rows are added to the smallest classes until
// these are level.
inline double upper_entropy(const WholeSide::Counts& counts, std::size_t n_classes, double caution) {
    const std::size_t n_empty = n_classes - counts.size();
    double total = caution, poured_over = 0;
    for (const std::int64_t count : counts) total += static_cast<double>(count);
    std::size_t n_level = n_empty;
    const auto next_up = [&] { return static_cast<double>(counts[n_level - n_empty]); };
    // The next class joins the level as long as the added rows reach it.
    while (n_level < n_classes && (n_level == 0 || next_up() * static_cast<double>(n_level) - poured_over < caution)) {
        poured_over += next_up();
        ++n_level;
    }
    double entropy = 0;
    const auto add = [&](double amount, double times) {
        if (amount > 0) entropy -= times * amount / total * std::log2(amount / total);
    };
    if (n_level > 0) add((poured_over + caution) / static_cast<double>(n_level), static_cast<double>(n_level));
    for (std::size_t i = n_level - n_empty; i < counts.size(); ++i) add(static_cast<double>(counts[i]), 1);
    return entropy;
}

// The lower entropy of the imprecise Dirichlet model, in bits: `caution` rows are added to the largest class.
inline double lower_entropy(const WholeSide::Counts& counts, double caution) {
    double total = caution, entropy = 0;
    for (const std::int64_t count : counts) total += static_cast<double>(count);
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const double amount = static_cast<double>(counts[i]) + (i + 1 == counts.size() ? caution : 0);
        entropy -= amount / total * std::log2(amount / total);
    }
    return entropy;
}

// U_λ of the extended imprecise Dirichlet mass of rows whose labels are masses over sets of classes, in bits:
// m(A) = c(A)/(n+s), and s/(n+s) more on the set of all classes.
class SetUncertainty {
public:
    // `members`: for each set, whether each class is in it; caution is in rows.
    SetUncertainty(std::span<const std::uint8_t> members, std::size_t n_sets, double lam, double caution)
        : n_classes_(members.size() / n_sets), lam_(lam), caution_(caution), classes_(n_sets) {
        for (std::size_t i = 0; i < members.size(); ++i)
            if (members[i]) classes_[i / n_classes_].push_back(static_cast<std::uint32_t>(i % n_classes_));
        for (const auto& set : classes_)
            if (set.empty()) throw std::invalid_argument("sets of classes must not be empty");
    }

    // Given the mass of each set, in rows.
    double operator()(const std::vector<double>& amounts) const {
        const double of_each = caution_ / static_cast<double>(n_classes_);
        std::vector<double> pignistic(n_classes_, of_each);
        double total = caution_, unspecific = caution_ * std::log2(static_cast<double>(n_classes_)), discord = 0;
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            const auto size = static_cast<double>(classes_[i].size());
            for (const std::uint32_t k : classes_[i]) pignistic[k] += amounts[i] / size;
            total += amounts[i];
            unspecific += amounts[i] * std::log2(size);
        }
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            if (amounts[i] <= 0) continue;
            double believed = 0;
            for (const std::uint32_t k : classes_[i]) believed += pignistic[k];
            discord -= amounts[i] * std::log2(std::min(believed / total, 1.0));
        }
        return ((1 - lam_) * unspecific + lam_ * discord) / total;
    }

private:
    std::size_t n_classes_;
    double lam_, caution_;
    std::vector<std::vector<std::uint32_t>> classes_;  // of each set
};

// U_λ of the multinomial mass of at most three classes: the Möbius inverse of the lower probabilities from Goodman's
// simultaneous intervals; `quantile` is that of their chi-square distribution. Counts are in rows.
inline double multinomial_uncertainty(const std::vector<double>& counts, std::size_t n_classes, double quantile,
                                      double lam) {
    double total = 0, lower[3] = {}, upper[3] = {}, mass[8] = {};
    for (const double count : counts) total += count;
    for (std::size_t k = 0; k < n_classes; ++k) {
        const double count = k < counts.size() ? counts[k] : 0;
        const double root = std::sqrt(quantile * (quantile + 4 * count * (total - count) / total));
        lower[k] = 2 * count * (count / total) / (quantile + 2 * count + root);
        upper[k] = std::min(1.0, (quantile + 2 * count + root) / (2 * (total + quantile)));
    }
    const std::size_t everything = (std::size_t{1} << n_classes) - 1;
    double sum = 0;
    for (std::size_t set = 1; set <= everything; ++set) {
        double within = 0, outside = 0;
        for (std::size_t k = 0; k < n_classes; ++k)
            (set >> k & 1 ? within : outside) += set >> k & 1 ? lower[k] : upper[k];
        double rest = set == everything ? 1 : std::max(within, 1 - outside);
        for (std::size_t part = 1; part < set; ++part)
            if ((part & ~set) == 0) rest -= mass[part];
        mass[set] = std::max(rest, 0.0);
        sum += mass[set];
    }
    double pignistic[3] = {}, uncertainty = 0;
    for (std::size_t set = 1; set <= everything; ++set)
        for (std::size_t k = 0; k < n_classes; ++k)
            if (set >> k & 1) pignistic[k] += mass[set] / sum / static_cast<double>(std::popcount(set));
    for (std::size_t set = 1; set <= everything; ++set) {
        double believed = 0;
        for (std::size_t k = 0; k < n_classes; ++k) believed += set >> k & 1 ? pignistic[k] : 0;
        if (mass[set] > 0)
            uncertainty += mass[set] / sum *
                           ((1 - lam) * std::log2(static_cast<double>(std::popcount(set))) -
                            lam * std::log2(std::min(believed, 1.0)));
    }
    return uncertainty;
}

}  // namespace hedgerow
