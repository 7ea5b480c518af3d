// Margins between classes from the contents of leaves, at a point or in a box.
//
// A class remains alone where its lower probability is above the upper probabilities of all others. Margins are these
// differences, lower[k] - upper[j]: sums over trees, or functions of such sums. In a calibrated forest they are
//
//     (1 - vacuity) (p'[k] - p'[j]) - vacuity,
//
// where p' are the calibrated probabilities of p. In a box, p and vacuity lie between the sums of the smallest and of
// the largest values of each tree. The difference of two scores is linear in the logarithms of p, so its largest value
// is at the better end of each. This bounds p'[k] / p'[j], hence p'[k] and the margin. A bound can be too large, never
// too small.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/kit/named_values.hpp"

namespace hedgerow {

class Margins {
public:
    // added (D, K, K): contribution of a leaf of each content to lower[k] - upper[j], if it were the only tree; without
    // it, margins are not known. sums (D, K + 1): probabilities and vacuity, from which rates (K, K, K) and ahead (K,
    // K) give the calibrated ones.
    static Margins from(const NamedValues& given) {
        Margins margins;
        margins.n_classes_ = given.number<std::size_t>("n_classes");
        margins.tree_shares_ = given.array<double>("tree_shares");
        if (!given.has("added")) return margins;
        const std::size_t pairs = margins.n_classes_ * margins.n_classes_;
        margins.added_ = given.array<double>("added");
        margins.width_ = pairs;
        if (!given.has("sums")) return margins;
        margins.width_ = margins.n_classes_ + 1;
        margins.sums_ = given.array<double>("sums", margins.added_.size() / pairs * margins.width_);
        margins.rates_ = given.array<double>("rates", pairs * margins.n_classes_);
        margins.ahead_ = given.array<double>("ahead", pairs);
        margins.floor_ = given.number<double>("floor");
        return margins;
    }

    bool known() const { return width_ > 0; }
    std::size_t n_classes() const { return n_classes_; }
    // Number of values of a leaf that are summed over trees.
    std::size_t width() const { return width_; }
    double tree_share(std::size_t tree) const { return tree_shares_[tree]; }
    const double* values(std::uint32_t content) const { return (sums_ ? sums_ : added_.data()) + content * width_; }
    double added(std::uint32_t content, std::size_t k, std::size_t j) const {
        return added_[(content * n_classes_ + k) * n_classes_ + j];
    }

    // Upper bounds of the margins (K, K), given the smallest and the largest sums over trees (width,).
    void most(const double* low, const double* high, double* margins) const {
        const std::size_t n = n_classes_;
        if (!sums_) {
            for (std::size_t i = 0; i < width_; ++i) margins[i] = high[i] + rounding;
            return;
        }
        logs_.resize(2 * n);
        for (std::size_t i = 0; i < n; ++i) {
            logs_[i] = std::log((low[i] + floor_) / (1 + floor_ * static_cast<double>(n)));
            logs_[n + i] = std::log((high[i] + floor_) / (1 + floor_ * static_cast<double>(n)));
        }
        const double vacuity = std::max(0.0, low[n]);
        for (std::size_t k = 0; k < n; ++k) {
            double total = 0;
            for (std::size_t j = 0; j < n; ++j) {
                double ahead = ahead_[k * n + j];
                const double* rates = rates_ + (k * n + j) * n;
                for (std::size_t i = 0; i < n; ++i) ahead += std::max(rates[i] * logs_[i], rates[i] * logs_[n + i]);
                const double behind = std::exp(-std::clamp(ahead, -700.0, 700.0));  // a lower bound of p'[j] / p'[k]
                margins[k * n + j] = behind;
                total += behind;
            }
            for (std::size_t j = 0; j < n; ++j)  // p'[k] is at most 1 / total; the sum contains exp(0) for k itself
                margins[k * n + j] = (1 - vacuity) / total * std::max(1 - margins[k * n + j], 0.0) - vacuity + rounding;
        }
    }
    // Returns the class with the largest margin over its closest rival, and this margin.
    std::pair<std::size_t, double> best(const double* margins, std::int64_t wanted) const {
        std::pair<std::size_t, double> found{0, -std::numeric_limits<double>::infinity()};
        for (std::size_t k = 0; k < n_classes_; ++k) {
            if (wanted >= 0 && static_cast<std::size_t>(wanted) != k) continue;
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t j = 0; j < n_classes_; ++j)
                if (j != k) least = std::min(least, margins[k * n_classes_ + j]);
            if (least > found.second) found = {k, least};
        }
        return found;
    }

private:
    static constexpr double rounding = 1e-9;  // bound on the difference of sums in another order

    std::size_t n_classes_ = 0, width_ = 0;
    std::span<const double> tree_shares_, added_;
    const double *sums_ = nullptr, *rates_ = nullptr, *ahead_ = nullptr;
    double floor_ = 0;
    mutable std::vector<double> logs_;
};

// The smallest and the largest sums over trees, added tree by tree.
class Extent {
public:
    explicit Extent(const Margins& margins)
        : margins_(margins),
          low_(margins.width(), 0.0),
          high_(low_),
          least_(low_),
          largest_(low_),
          most_(margins.n_classes() * margins.n_classes()) {}

    void clear() { std::fill(low_.begin(), low_.end(), 0.0), std::fill(high_.begin(), high_.end(), 0.0); }
    // The contents of the leaves of a tree that a row may choose among: content(0), …, content(n - 1).
    template <class Content>
    void add(std::size_t tree, std::size_t n, Content&& content) {
        const double share = margins_.tree_share(tree);
        const double* first = margins_.values(content(0));
        std::copy_n(first, least_.size(), least_.data()), std::copy_n(first, least_.size(), largest_.data());
        for (std::size_t i = 1; i < n; ++i) {
            const double* values = margins_.values(content(i));
            for (std::size_t k = 0; k < least_.size(); ++k) {
                least_[k] = std::min(least_[k], values[k]);
                largest_[k] = std::max(largest_[k], values[k]);
            }
        }
        for (std::size_t k = 0; k < least_.size(); ++k) low_[k] += share * least_[k], high_[k] += share * largest_[k];
    }
    // Upper bounds (K, K) of the margins over all choices of one leaf in each tree.
    const double* most() {
        margins_.most(low_.data(), high_.data(), most_.data());
        return most_.data();
    }

private:
    const Margins& margins_;
    std::vector<double> low_, high_, least_, largest_, most_;
};

// The largest margins (K, K), given the contents of leaves in the order of trees, and where those of each tree begin.
inline std::vector<double> largest_margins(const Margins& margins, std::span<const std::int32_t> contents,
                                           std::span<const std::int64_t> starts) {
    Extent extent(margins);
    for (std::size_t tree = 0; tree + 1 < starts.size(); ++tree)
        extent.add(tree, static_cast<std::size_t>(starts[tree + 1] - starts[tree]), [&](std::size_t i) {
            return static_cast<std::uint32_t>(contents[static_cast<std::size_t>(starts[tree]) + i]);
        });
    const double* most = extent.most();
    return {most, most + margins.n_classes() * margins.n_classes()};
}

}  // namespace hedgerow
