// Constraints on splits, the best place of a feature, and the concept of a split target.
//
// A split target defines what a row adds to a bin, how a bin moves from the right side to the left, and how good the
// two sides are: a score that orders the splits of one node, from which the gain follows. The search over features and
// thresholds is the same for all targets (grow/split.hpp).
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hedgerow {

// Constraints on a split besides the gain.
struct Limits {
    std::uint32_t min_samples_leaf = 1;
    std::int64_t min_amount_leaf = 0;  // weight that each side must have
    int monotonic = 0;                 // 1 or -1 if the share of the last class must rise or fall, otherwise 0
    double lower = 0, upper = 1;       // bounds of the share of the last class, from ancestors
    bool restricted() const {
        return min_samples_leaf > 1 || min_amount_leaf > 0 || monotonic != 0 || lower > 0 || upper < 1;
    }
    bool allow_rows(std::uint32_t left, std::uint32_t right) const {
        return left >= min_samples_leaf && right >= min_samples_leaf;
    }
    bool allow_amounts(std::int64_t left, std::int64_t right) const {
        return left >= min_amount_leaf && right >= min_amount_leaf;
    }
    bool allow_shares(double left_share, double right_share) const {
        if (left_share < lower || left_share > upper || right_share < lower || right_share > upper) return false;
        return monotonic == 0 || (monotonic > 0 ? left_share <= right_share : left_share >= right_share);
    }
};

// An entry of labels or targets when a tree takes it: its number, its row, the multiplicity of the row, and whether
// another entry of the same row came before.
struct Taken {
    std::size_t entry;
    std::uint32_t row, times;
    bool follows;
};

// The rows that a leaf counts.
enum class CountSense : int { all = 0, inbag = 1, distinct = 2, oob = 3 };

// How leaves keep their rows.
struct LeafRules {
    bool repeated = false;  // whether a row counts with its multiplicity, otherwise once
    bool bounded = false;   // whether constraints bound the prediction of a leaf
};

inline constexpr double no_score = -1e300;

// A bin as a list of its rows, for targets whose bins cannot be added. How a row is added to a bin is the same for many
// targets, and compiled once for them (SplitSearch::fill).
template <class Row_>
struct ListBins {
    using Row = Row_;
    struct Bin {
        std::uint32_t head_plus_one = 0;
    };
    static constexpr int lanes = 1;         // one feature at a time, because rows have one list
    static constexpr bool sums_up = false;  // lists have to be walked

    void add(Bin& bin, const Row&, std::uint32_t position) {
        next_plus_one_[position] = bin.head_plus_one;
        bin.head_plus_one = position + 1;
    }
    static bool is_empty(const Bin& bin) { return bin.head_plus_one == 0; }
    static void clear(Bin& bin) { bin.head_plus_one = 0; }

    std::vector<std::uint32_t> next_plus_one_;
};

// The best place along an order of bins: the split is after the bin at `position`, counted from the left.
struct Place {
    double score = no_score;
    std::int64_t position = -1;
};

// Interface between a search and a target. `Bins` is a base of the target: it defines a bin and how a row is added to
// it, and is shared by targets with different criteria. Optional: by_ratio() const, if features may compete by gain
// ratio, and least_gain() const, which a gain must exceed if one is needed.
template <class Target>
concept SplitTarget = requires(Target target, const Target& fixed, typename Target::Bin& bin,
                               const typename Target::Row* rows, std::uint32_t n, double score) {
    typename Target::Source;
    requires std::derived_from<Target, typename Target::Bins>;
    { Target::lanes } -> std::convertible_to<int>;  // features summed in one pass over the rows
    {
        Target::sums_up
    } -> std::convertible_to<bool>;  // whether bins can be added: then also add_to, scan, enter_sum, bin_from
    { Target::adds_up } -> std::convertible_to<bool>;  // whether bins of parts of a table can be added
    target.add(bin, rows[0], n);                       // the row at position n of the node
    { Target::is_empty(bin) } -> std::same_as<bool>;
    Target::clear(bin);
    // For a node: enter it, look at features, leave it.
    target.enter_node(rows, n);
    target.leave_node(rows, n);
    { fixed.node_amount() } -> std::same_as<std::int64_t>;
    target.ordering_classes([](std::uint32_t) {});  // the ways to order categories, by `share`
    { target.share(bin, n) } -> std::same_as<double>;
    // For a feature: all rows begin on the right, and are moved to the left bin by bin, or row by row.
    target.begin_scan();
    target.move(bin);
    target.move_row(rows[0]);
    target.end_scan(rows, n);
    { fixed.score() } -> std::same_as<double>;  // of the current split; higher is better
    { fixed.gain_from(score) } -> std::same_as<double>;
    { fixed.perfect_score() } -> std::same_as<double>;  // an upper bound for all splits of the node
    { fixed.needs_gain() } -> std::same_as<bool>;       // whether a split without gain is rejected
    // For limits: the weight on the left, and shares (or places) of the sides and of any rows, from 0 to 1.
    { fixed.left_amount() } -> std::same_as<std::int64_t>;
    { fixed.left_share() } -> std::same_as<double>;
    { fixed.right_share() } -> std::same_as<double>;
    { target.share_of(rows, n) } -> std::same_as<double>;
};

}  // namespace hedgerow
