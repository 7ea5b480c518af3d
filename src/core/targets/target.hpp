// Target: what a split must respect, and the place of the best one; the same for rows with labels and with real targets.
//
// A target defines what a row adds to a bin, how a bin moves from the right side to the left, and how good the two sides
// are: a score that orders the splits of one node, from which the gain follows. The search over features and thresholds is
// the same for all targets.
//
// A target has a Source (labels or real targets), a Row, which the grower keeps for each row, and Bins, which say what the sum of the
// rows in a bin of a feature is (a Bin) and are a base of the target. A source has a LeafBuilder, which collects the rows of leaves: open_leaf, add, close_leaf, finish.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hedgerow {

// What a split must respect besides the gain.
struct Limits {
    std::uint32_t min_samples_leaf = 1;
    std::int64_t min_amount_leaf = 0;        // weight that each side must have
    int monotonic = 0;                       // 1 or -1 if the share of the last class must rise or fall, otherwise 0
    double lower = 0, upper = 1;             // bounds of the share of the last class, from ancestors
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

// An entry of labels or targets when a tree takes it: its number, its row, how often the bag holds the row, and whether
// another entry of the same row came before.
struct Taken {
    std::size_t entry;
    std::uint32_t row, times;
    bool follows;
};

// Which rows a leaf counts.
enum class CountSense : int { all = 0, inbag = 1, distinct = 2, oob = 3 };

// How leaves keep their rows.
struct LeafRules {
    bool repeated = false;  // whether a row counts as often as the bag holds it, otherwise once
    bool bounded = false;   // whether constraints bound what a leaf predicts
};

inline constexpr double no_score = -1e300;

// A bin as a list of its rows, for targets whose bins cannot be added. How a row is added to a bin is the same for many targets,
// and compiled once for them (SplitSearch::fill).
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

}  // namespace hedgerow
