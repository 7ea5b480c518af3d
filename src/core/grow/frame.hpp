// State that a node inherits from its ancestors, and limits on splitting it.
#pragma once
#include <cstdint>
#include <vector>

#include "core/grow/options.hpp"
#include "core/rows/random.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

// Categorical features that random decision trees have used on the path to a node: linked lists that share their tails.
class UsedFeatures {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    // Adds one feature to the list `above`, and returns the new list.
    std::uint32_t add(std::uint32_t feature, std::uint32_t above) {
        links_.push_back({feature, above});
        return static_cast<std::uint32_t>(links_.size() - 1);
    }
    bool has(std::uint32_t list, std::uint32_t feature) const {
        for (; list != none; list = links_[list].above)
            if (links_[list].feature == feature) return true;
        return false;
    }
    std::vector<std::uint32_t> features(std::uint32_t list) const {
        std::vector<std::uint32_t> found;
        for (; list != none; list = links_[list].above) found.push_back(links_[list].feature);
        return found;
    }
    void clear() { links_.clear(); }

private:
    struct Link {
        std::uint32_t feature, above;
    };
    std::vector<Link> links_;
};

// The draws of a node depend on its key, which is derived from the key of its parent and its side.
struct Heritage {
    std::uint64_t key = 0;
    std::uint32_t depth = 0;
    std::uint32_t used = UsedFeatures::none;
    double lower = 0,
           upper = 1;  // bounds from monotonic ancestors, on the share of the last class or the place of a mean

    static Heritage root(std::uint64_t seed, std::uint64_t tree) {
        return {derive_key(derive_key(seed, Purpose::grow), tree)};
    }
    // Descends to one of two sides: 0 is left.
    void descend(std::uint32_t side) {
        key = derive_key(key, std::uint64_t{side});
        ++depth;
    }
    // Descends to one child of a multiway split, which uses its categorical feature.
    void descend(std::uint32_t category, std::uint32_t used_now) {
        key = derive_key(key, std::uint64_t{category} + 2);
        used = used_now;
        ++depth;
    }
    Limits limits(const GrowOptions& options, const SplitRules& rules, std::uint32_t feature) const {
        return {rules.min_samples_leaf, rules.min_amount_leaf, options.sign_of(feature), lower, upper};
    }
};

// Whether a node is too deep or too small to be split. A row with an uncertain label has several entries.
inline bool must_end(const GrowOptions& options, const Heritage& node, std::uint64_t n_rows, std::uint64_t n_entries) {
    return n_rows < options.min_samples_split || node.depth >= options.max_depth ||
           n_entries < 2 * std::uint64_t{options.min_samples_leaf} || n_entries < 2;
}

// Below a monotonic split, each side stays on its side of the mean of the two shares, which share_of(side) returns.
template <class ShareOf>
inline void bound_sides(int sign, Heritage& left, Heritage& right, ShareOf&& share_of) {
    if (sign == 0) return;
    const double middle = (share_of(0) + share_of(1)) / 2;
    (sign > 0 ? left.upper : left.lower) = middle;
    (sign > 0 ? right.lower : right.upper) = middle;
}

}  // namespace hedgerow
