// Split targets and leaf moments of rows with real targets.
//
// Targets are rounded to a grid before growth (y − centre in units of a power of two). It is coarse enough that any sum
// of rows is a whole number below 2^53, and so exact in a double: the order in which rows are added does not matter. A
// bin is two such sums, which fit into one register. Leaves are computed from the targets as given.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/rows/bag.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

class LeafMomentsBuilder;

// The targets of the rows of a table, as given and on the grid.
struct RealTargets {
    static constexpr const char* kind = "numbers";
    using LeafBuilder = LeafMomentsBuilder;
    // The prediction of a leaf is computed from its rows, one after another.
    static constexpr bool leaves_add_up = false;

    const double* values = nullptr;   // as given
    const double* weights = nullptr;  // as given; null if all rows weigh the same
    const double* sums = nullptr;     // weight · (value − centre), a whole number of units
    const double* amounts = nullptr;  // weight, a whole number of units; null if every row weighs one
    double centre = 0, unit = 1;      // value = centre + unit · sum / amount
    double low = 0, high = 1;         // bounds of sum / amount of every row, with a margin
    bool median = false;              // whether leaves predict their median rather than their mean
    std::size_t n_entries = 0;
    bool weighted = false;

    static RealTargets from(const NamedValues& given) {
        RealTargets targets;
        const auto values = given.array<double>("values");
        targets.n_entries = values.size();
        targets.values = values.data();
        targets.weighted = given.has("weights");
        targets.weights = given.array_if_given<double>("weights", targets.n_entries);
        targets.sums = given.array<double>("sums", targets.n_entries);
        targets.amounts = given.array_if_given<double>("amounts", targets.n_entries);
        targets.centre = given.number<double>("centre");
        targets.unit = given.number<double>("unit");
        targets.low = given.number<double>("low");
        targets.high = given.number<double>("high");
        targets.median = given.word("criterion") == "absolute_error";
        return targets;
    }
    void check(std::size_t n_rows) const {
        if (n_entries != n_rows) throw std::invalid_argument("values must have one entry per row");
    }
    static bool is_plain() { return true; }
    std::int64_t row_amount(std::size_t row) const { return amounts ? static_cast<std::int64_t>(amounts[row]) : 1; }
    bool rows_alike(std::size_t one, std::size_t other) const { return values[one] == values[other]; }
    double weight_of(std::size_t row) const { return weights ? weights[row] : 1.0; }
    // The number of cells of a sum: an amount, a sum, and the number of rows.
    static constexpr std::size_t n_cells() { return 3; }
    static std::int64_t amount_of(const double* cells) { return static_cast<std::int64_t>(cells[0]); }
    static bool is_pure(const double*) { return false; }
    static std::vector<double> balance_of(const double*) { return {}; }
    double share_of(const double* cells) const { return place_of(cells[1] / cells[0]); }
    // Constraints use the place of a mean (or median) between low and high, from 0 to 1.
    double place_of(double mean) const { return (mean - low) / (high - low); }
    double value_at(double place) const { return centre + unit * (low + place * (high - low)); }
};

// A row inside the grower: offset of its codes, its number in the table, and its sums (times its multiplicity).
struct RealRow {
    std::uint32_t offset;
    std::uint32_t row;
    double weight, sum;
    std::int64_t amount() const { return static_cast<std::int64_t>(weight); }

    static RealRow make(const RealTargets& targets, const Taken& taken) {
        const double multiple = std::max(1U, taken.times);
        return {taken.row, taken.row, multiple * (targets.amounts ? targets.amounts[taken.row] : 1.0),
                multiple * targets.sums[taken.row]};
    }
    static RealRow make_inside(const RealTargets& targets, const Taken& taken) { return make(targets, taken); }
    static constexpr const std::uint32_t* rows_of(const RealTargets&) { return nullptr; }
    static bool alike(const RealTargets& targets, const RealRow& one, const RealRow& other) {
        return targets.rows_alike(one.row, other.row);
    }
    static void balance(const RealTargets&, std::vector<RealRow>&, std::vector<RealRow>&) {}
    bool follows() const { return false; }
    std::uint32_t times(const BagTimes& bag) const { return bag.of(row); }
};
static_assert(sizeof(RealRow) == 24);

// ---- leaves ------------------------------------------------------------------------------------------------

// For each leaf: the number and the weight of its rows, the prediction, the mean and the variance.
struct LeafMoments {
    bool weighted = false;
    bool means_apart = false;  // whether predictions may differ from means
    std::uint32_t n_leaves = 0;
    std::vector<std::uint32_t> counts;
    std::vector<double> weights, values, means, variances;

    LeafMoments(const RealTargets& targets, const LeafRules& rules)
        : weighted(targets.weighted), means_apart(targets.median || rules.bounded) {}
    // Leaves first, …, last - 1 of a forest, from its arrays.
    LeafMoments(const RealTargets& targets, const LeafRules& rules, const NamedValues& arrays, std::int64_t first,
                std::int64_t last)
        : LeafMoments(targets, rules) {
        n_leaves = static_cast<std::uint32_t>(last - first);
        counts = some<std::uint32_t>(arrays, "counts", first, last);
        values = some<double>(arrays, "values", first, last);
        variances = some<double>(arrays, "variances", first, last);
        if (weighted) weights = some<double>(arrays, "weights", first, last);
        if (means_apart) means = some<double>(arrays, "means", first, last);
    }

    void reserve(std::size_t size) {
        counts.reserve(size);
        for (std::vector<double>* each : {&weights, &values, &means, &variances}) each->reserve(size);
    }
    std::size_t size() const { return counts.size(); }
    static std::uint32_t n_values() { return 1; }
    void append(const LeafMoments& more) {
        hedgerow::append(counts, more.counts);
        hedgerow::append(values, more.values);
        hedgerow::append(variances, more.variances);
        if (weighted) hedgerow::append(weights, more.weights);
        if (means_apart) hedgerow::append(means, more.means);
        n_leaves += more.n_leaves;
    }
    Fields fields() && {
        Fields fields{{"counts", std::move(counts)},
                      {"values", std::move(values)},
                      {"variances", std::move(variances)},
                      {"weights", {}},
                      {"means", {}},
                      {"entry_start", {}},
                      {"entry_class", {}}};
        if (weighted) fields[3].values = std::move(weights);
        if (means_apart) fields[4].values = std::move(means);
        return fields;
    }
};

// Leaf by leaf: rows are added, then the leaf is closed.
class LeafMomentsBuilder {
public:
    using Leaves = LeafMoments;

    LeafMomentsBuilder(const RealTargets& targets, const LeafRules& rules)
        : targets_(targets), rules_(rules), result_(targets, rules) {}

    std::uint32_t open_leaf() {
        members_.clear();
        n_rows_ = 0;
        return result_.n_leaves++;
    }
    void add(const RealRow& row, const BagTimes& bag) {
        const std::uint32_t times = rules_.repeated ? row.times(bag) : 1;
        members_.emplace_back(targets_.values[row.row], targets_.weight_of(row.row) * times);
        n_rows_ += times;
    }
    void add(const Taken& taken, const BagTimes& bag) { add(RealRow::make(targets_, taken), bag); }
    // Two passes over its few rows, so that the variance of equal targets is exactly 0 and their mean is that number.
    // `lower` and `upper`: bounds of the prediction from monotonic constraints, as places between low and high.
    void close_leaf(double lower, double upper) {
        double low = members_[0].first, high = low, total = 0, sum = 0, squares = 0;
        for (const auto& [value, weight] : members_) {
            low = std::min(low, value);
            high = std::max(high, value);
            total += weight;
        }
        for (const auto& [value, weight] : members_) sum += (value - low) * weight;
        const double mean = low == high ? low : std::clamp(low + sum / total, low, high);
        for (const auto& [value, weight] : members_) squares += (value - mean) * (value - mean) * weight;
        result_.counts.push_back(n_rows_);
        result_.weights.push_back(total);
        result_.means.push_back(mean);
        result_.variances.push_back(squares / total);
        const double predicted = targets_.median ? median() : mean;
        result_.values.push_back(
            rules_.bounded ? std::clamp(predicted, targets_.value_at(lower), targets_.value_at(upper)) : predicted);
    }
    LeafMoments finish() { return std::move(result_); }

private:
    // Half of the weight is on either side; exactly between two targets, the median is their midpoint.
    double median() {
        std::sort(members_.begin(), members_.end());
        double total = 0, passed = 0;
        for (const auto& member : members_) total += member.second;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            passed += members_[i].second;
            if (2 * passed > total || i + 1 == members_.size()) return members_[i].first;
            if (2 * passed == total) return members_[i].first / 2 + members_[i + 1].first / 2;
        }
        return 0;
    }

    const RealTargets& targets_;
    LeafRules rules_;
    LeafMoments result_;
    std::vector<std::pair<double, double>> members_;  // value, weight
    std::uint32_t n_rows_ = 0;
};

// ---- squared error and Poisson deviance -------------------------------------------------------------------

// Both sums of some rows.
struct Sums {
    double weight = 0, sum = 0;
    Sums& operator+=(const Sums& other) {
        weight += other.weight;
        sum += other.sum;
        return *this;
    }
};

// The sum of squares between two sides, (W·S_left − W_left·S)² / (W · W_left · W_right), up to the constant W. A target
// of the node is subtracted first, so rounding errors are small. If targets have few digits there are none, and splits
// that are equal in theory have equal scores.
class SquaredError {
public:
    void enter(const Sums& total, const Sums& first) {
        total_ = total;
        near_ = std::nearbyint(first.sum / first.weight);
        rest_ = total.sum - near_ * total.weight;
    }
    // W·S_side − W_side·S of some rows: the difference of their sum from their share of the total.
    double difference(const Sums& side) const {
        return total_.weight * (side.sum - near_ * side.weight) - side.weight * rest_;
    }
    // A side without rows gives the score NaN, which never wins.
    double score(const Sums& left) const {
        const double apart = difference(left);
        return apart * apart / (left.weight * (total_.weight - left.weight));
    }
    double gain_from(double score) const { return score / total_.weight; }
    static double in_units(double gain, double unit) { return gain * unit * unit; }

private:
    Sums total_;
    double near_ = 0, rest_ = 0;
};

// Σ y·log(mean of the side / mean of the node) over both sides: the decrease in deviance.
class Poisson {
public:
    void enter(const Sums& total, const Sums&) { total_ = total; }
    // A side whose targets are all 0 would predict 0, which the Poisson distribution does not allow.
    double score(const Sums& left) const {
        const Sums right{total_.weight - left.weight, total_.sum - left.sum};
        if (!(left.sum > 0 && right.sum > 0)) return no_score;
        return quality(left) + quality(right);
    }
    static double gain_from(double score) { return score; }
    static double in_units(double gain, double unit) { return gain * unit; }

private:
    double quality(const Sums& side) const {
        return side.sum * std::log((side.sum * total_.weight) / (side.weight * total_.sum));
    }
    Sums total_;
};

// A target whose bins are the two sums.
struct MomentBins {
    using Row = RealRow;
    using Bin = Sums;
    static constexpr int lanes = 4;
    static constexpr bool sums_up = true;

    static Bin of(const Row& row) { return {row.weight, row.sum}; }
    static void add(Bin& bin, const Row& row, std::uint32_t) { bin += of(row); }
    static bool is_empty(const Bin& bin) { return bin.weight == 0; }
    static void add_to(Bin& sum, const Bin& bin) { sum += bin; }
    static void clear(Bin& bin) { bin = Bin{}; }
};

template <class Loss>
class Moments : public MomentBins {
public:
    using Source = RealTargets;
    using Bins = MomentBins;
    static constexpr bool adds_up = true;

    explicit Moments(const RealTargets& targets) : targets_(targets) {}

    // The place of the mean between low and high, by which categories are ordered and constraints are checked.
    double share(const Bin& bin, std::uint32_t) const { return targets_.place_of(bin.sum / bin.weight); }

    void enter_node(const Row* rows, std::uint32_t n_rows) {
        rows_ = rows;
        n_rows_ = n_rows;
        total_ = Bin{};
        for (std::uint32_t i = 0; i < n_rows; ++i) total_ += of(rows[i]);
        loss_.enter(total_, of(rows[0]));
    }
    // Enters a node of which only the sums and the first row are known.
    void enter_sum(const double* totals, const double* first) {
        rows_ = nullptr;
        n_rows_ = few_rows + 1;
        total_ = bin_from(totals);
        loss_.enter(total_, bin_from(first));
    }
    static Bin bin_from(const double* cells) { return {cells[0], cells[1]}; }
    void leave_node(const Row*, std::uint32_t) {}
    std::int64_t node_amount() const { return static_cast<std::int64_t>(total_.weight); }
    // Categories in the order of their means: the best of all subsets is among the cuts (Fisher, 1958).
    template <class Visit>
    void ordering_classes(Visit&& visit) const {
        visit(0U);
    }

    void begin_scan() { left_ = Bin{}; }
    void end_scan(const Row*, std::uint32_t) {}
    void move(const Bin& bin) { left_ += bin; }
    void move_row(const Row& row) { left_ += of(row); }
    double score() const { return loss_.score(left_); }
    double score_of(const Bin& left) const { return loss_.score(left); }
    const Bin& total() const { return total_; }
    const Loss& loss() const { return loss_; }
    double gain_from(double score) const { return Loss::in_units(loss_.gain_from(score), targets_.unit); }
    // The best split into two intervals of targets; an upper bound for all splits of the node. In a node of a few rows
    // some feature often reaches this score, and then the others need not be tried.
    double perfect_score() const {
        if (n_rows_ > few_rows) return std::numeric_limits<double>::infinity();
        Bin ordered[few_rows];
        for (std::uint32_t i = 0; i < n_rows_; ++i) {
            const Bin own = of(rows_[i]);
            std::uint32_t at = i;
            for (; at > 0 && ordered[at - 1].sum * own.weight > own.sum * ordered[at - 1].weight; --at)
                ordered[at] = ordered[at - 1];
            ordered[at] = own;
        }
        double best = no_score / 2;  // so that there is always some split
        Bin left;
        for (std::uint32_t i = 0; i + 1 < n_rows_; ++i) {
            left += ordered[i];
            best = std::max(best, loss_.score(left) * (1 - 0x1.0p-50));
        }
        return best;
    }
    static bool needs_gain() { return false; }
    std::int64_t left_amount() const { return static_cast<std::int64_t>(left_.weight); }
    double left_share() const { return share(left_, 0); }
    double right_share() const { return share({total_.weight - left_.weight, total_.sum - left_.sum}, 0); }
    double share_of(const Row* rows, std::uint32_t n_rows) const {
        Bin all;
        for (std::uint32_t i = 0; i < n_rows; ++i) all += of(rows[i]);
        return share(all, 0);
    }

    // Finds the best place along running sums of bins: computes all scores, four at a time, and the first position of
    // their maximum.
    Place scan(const Bin* sums, std::int64_t n_places) {
        if (static_cast<std::size_t>(n_places) + 3 > scores_.size()) scores_.resize(n_places + 3);
        double* __restrict scores = scores_.data();
        for (std::int64_t i = 0; i < n_places; ++i)
            scores[i] = loss_.score({left_.weight + sums[i].weight, left_.sum + sums[i].sum});
        for (std::int64_t i = n_places; i < n_places + 3; ++i) scores[i] = no_score;
        double highest4[4] = {no_score, no_score, no_score, no_score};
        for (std::int64_t first = 0; first < n_places; first += 4)
            for (int i = 0; i < 4; ++i) highest4[i] = scores[first + i] > highest4[i] ? scores[first + i] : highest4[i];
        const double highest = std::max(std::max(highest4[0], highest4[1]), std::max(highest4[2], highest4[3]));
        std::int64_t best = 0;
        while (best < n_places && scores[best] != highest) ++best;
        return best == n_places ? Place{} : Place{highest, best};
    }

private:
    static constexpr std::uint32_t few_rows = 8;
    RealTargets targets_;
    Loss loss_;
    const Row* rows_ = nullptr;
    std::uint32_t n_rows_ = 0;
    Bin total_, left_;
    std::vector<double> scores_;
};

// ---- absolute error ---------------------------------------------------------------------------------------

// Weights and sums of some rows of a node, by the rank of their targets. Adding a row and finding the absolute error
// around the median take log n steps each (a Fenwick tree).
class RankedSums {
public:
    void reset(std::uint32_t size) {
        sums_.assign(std::size_t{size} + 1, Sums{});
        total_ = Sums{};
        top_ = 1;
        while (2 * top_ <= size) top_ *= 2;
    }
    void add(std::uint32_t rank, const Sums& row) {
        for (std::uint32_t at = rank + 1; at < sums_.size(); at += at & (~at + 1)) sums_[at] += row;
        total_ += row;
    }
    // The rank at which half of the weight is reached, and the sums below it.
    std::pair<std::uint32_t, Sums> median() const {
        std::uint32_t at = 0;
        Sums below;
        for (std::uint32_t step = top_; step > 0; step /= 2) {
            if (at + step >= sums_.size() || 2 * (below.weight + sums_[at + step].weight) >= total_.weight) continue;
            at += step;
            below += sums_[at];
        }
        return {at, below};
    }
    const Sums& total() const { return total_; }

private:
    std::vector<Sums> sums_;
    Sums total_;
    std::uint32_t top_ = 1;
};

// A target that updates the medians of both sides. Bins are lists of rows; moving a row takes log n steps.
class Medians : public ListBins<RealRow> {
public:
    using Source = RealTargets;
    using Bins = ListBins<RealRow>;
    static constexpr bool adds_up = false;  // the median of a table does not follow from the medians of its parts

    explicit Medians(const RealTargets& targets) : targets_(targets) {}

    // Categories are ordered by their means.
    double share(const Bin& bin, std::uint32_t) const {
        Sums all;
        for (std::uint32_t at = bin.head_plus_one; at != 0; at = next_plus_one_[at - 1])
            all += Sums{rows_[at - 1].weight, rows_[at - 1].sum};
        return place_of(all.sum / all.weight);
    }

    void enter_node(const Row* rows, std::uint32_t n_rows) {
        rows_ = rows;
        n_rows_ = n_rows;
        if (next_plus_one_.size() < n_rows) next_plus_one_.resize(n_rows), rank_.resize(n_rows);
        rank_rows(rows, n_rows);
        fill(everything_);
        total_error_ = error_of(everything_);
    }
    void leave_node(const Row*, std::uint32_t) {}
    std::int64_t node_amount() const { return static_cast<std::int64_t>(everything_.total().weight); }
    template <class Visit>
    void ordering_classes(Visit&& visit) const {
        visit(0U);
    }

    void begin_scan() {
        left_.reset(n_ranks());
        right_ = everything_;
    }
    void end_scan(const Row*, std::uint32_t) {}
    void move(const Bin& bin) {
        for (std::uint32_t at = bin.head_plus_one; at != 0; at = next_plus_one_[at - 1]) move_row(rows_[at - 1]);
    }
    void move_row(const Row& row) {
        const std::uint32_t rank = rank_[&row - rows_];
        left_.add(rank, {row.weight, row.sum});
        right_.add(rank, {-row.weight, -row.sum});
    }
    double score() const { return -(error_of(left_) + error_of(right_)); }
    double gain_from(double score) const { return (score + total_error_) * targets_.unit; }
    double perfect_score() const { return n_rows_ == 2 ? no_score / 2 : std::numeric_limits<double>::infinity(); }
    static bool needs_gain() { return false; }
    std::int64_t left_amount() const { return static_cast<std::int64_t>(left_.total().weight); }
    double left_share() const { return place_of(ordered_[left_.median().first]); }
    double right_share() const { return place_of(ordered_[right_.median().first]); }
    double share_of(const Row* rows, std::uint32_t n_rows) {
        rank_rows(rows, n_rows);
        left_.reset(n_ranks());
        for (std::uint32_t i = 0; i < n_rows; ++i) left_.add(rank_[i], {rows[i].weight, rows[i].sum});
        return left_share();
    }

private:
    static double value_of(const Row& row) { return row.sum / row.weight; }
    double place_of(double value) const { return targets_.place_of(value); }
    std::uint32_t n_ranks() const { return static_cast<std::uint32_t>(ordered_.size()); }
    void rank_rows(const Row* rows, std::uint32_t n_rows) {
        ordered_.clear();
        for (std::uint32_t i = 0; i < n_rows; ++i) ordered_.push_back(value_of(rows[i]));
        std::sort(ordered_.begin(), ordered_.end());
        ordered_.erase(std::unique(ordered_.begin(), ordered_.end()), ordered_.end());
        for (std::uint32_t i = 0; i < n_rows; ++i)
            rank_[i] = static_cast<std::uint32_t>(
                std::lower_bound(ordered_.begin(), ordered_.end(), value_of(rows[i])) - ordered_.begin());
    }
    void fill(RankedSums& sums) const {
        sums.reset(n_ranks());
        for (std::uint32_t i = 0; i < n_rows_; ++i) sums.add(rank_[i], {rows_[i].weight, rows_[i].sum});
    }
    double error_of(const RankedSums& side) const {
        if (side.total().weight <= 0) return 0;
        const auto [rank, below] = side.median();
        const double median = ordered_[rank];
        return (side.total().sum - 2 * below.sum) - median * (side.total().weight - 2 * below.weight);
    }

    RealTargets targets_;
    const Row* rows_ = nullptr;
    std::uint32_t n_rows_ = 0;
    std::vector<std::uint32_t> rank_;
    std::vector<double> ordered_;  // the distinct targets of the node, ascending
    RankedSums everything_, left_, right_;
    double total_error_ = 0;
};

// ---- uncertainty of the belief function of a leaf -----------------------------------------------------------

// Weight and sum of some rows of a node, and the sum of squares, all relative to a value near the mean of the node.
struct Powers {
    double weight = 0, sum = 0, square = 0;
    Powers& operator+=(const Powers& other) {
        weight += other.weight;
        sum += other.sum;
        square += other.square;
        return *this;
    }
};

// A target whose bins are the three sums. Squares are rounded to a step of the node that makes their sums exact, so
// splits that are equal in theory have equal scores.
struct PowerBins {
    using Row = RealRow;
    using Bin = Powers;
    static constexpr int lanes = 4;
    static constexpr bool sums_up = true;

    Bin of(const Row& row) const {
        const double away = row.sum - near_ * row.weight;
        return {row.weight, away, (away * away / row.weight + rounding_) - rounding_};
    }
    void add(Bin& bin, const Row& row, std::uint32_t) const { bin += of(row); }
    static bool is_empty(const Bin& bin) { return bin.weight == 0; }
    static void add_to(Bin& sum, const Bin& bin) { sum += bin; }
    static void clear(Bin& bin) { bin = Bin{}; }

    // Sets the value near the mean, and the step of the squares: sums of up to 2^51 steps are exact.
    void enter(const Row* rows, std::uint32_t n_rows) {
        double weight = 0, sum = 0, squares = 0;
        for (std::uint32_t i = 0; i < n_rows; ++i) weight += rows[i].weight, sum += rows[i].sum;
        near_ = std::nearbyint(sum / weight);
        rounding_ = 0;
        for (std::uint32_t i = 0; i < n_rows; ++i) squares += of(rows[i]).square;
        // To add and subtract 1.5 · 2^52 steps rounds to whole steps.
        if (squares > 0) rounding_ = std::ldexp(1.5, std::ilogb(squares) + 2);
    }

    double near_ = 0, rounding_ = 0;
};

// U_λ of the mass m({y_i}) = w_i / (n + s), m([a, b]) = s / (n + s) of a side with weight n = Σ w_i:
// U = (1 − λ) s (b − a)² / 4 / (n + s) + λ · variance of the pignistic distribution, which has the weight s uniformly
// between a and b. The score of a split is −Σ n U over its sides.
class BeliefSplits : public PowerBins {
public:
    using Source = RealTargets;
    using Bins = PowerBins;
    static constexpr bool adds_up = false;  // squares relative to the mean of a node need the mean first

    // `caution` is s in units of weight; `lowest` and `highest` are a and b in units, relative to the centre.
    BeliefSplits(const RealTargets& targets, double lam, double caution, double lowest, double highest)
        : targets_(targets), lam_(lam), caution_(caution), lowest_(lowest), highest_(highest) {}

    // Categories are ordered by their means.
    double share(const Bin& bin, std::uint32_t) const { return targets_.place_of(near_ + bin.sum / bin.weight); }

    void enter_node(const Row* rows, std::uint32_t n_rows) {
        enter(rows, n_rows);
        const double low = lowest_ - near_, high = highest_ - near_;
        unknown_sum_ = caution_ * (low + high) / 2;
        unknown_square_ = lam_ * caution_ * (low * low + low * high + high * high) / 3 +
                          (1 - lam_) * caution_ * (high - low) * (high - low) / 4;
        total_ = Bin{};
        for (std::uint32_t i = 0; i < n_rows; ++i) total_ += of(rows[i]);
    }
    void leave_node(const Row*, std::uint32_t) {}
    std::int64_t node_amount() const { return static_cast<std::int64_t>(total_.weight); }
    template <class Visit>
    void ordering_classes(Visit&& visit) const {
        visit(0U);
    }

    void begin_scan() { left_ = Bin{}; }
    void end_scan(const Row*, std::uint32_t) {}
    void move(const Bin& bin) { left_ += bin; }
    void move_row(const Row& row) { left_ += of(row); }
    double score() const { return score_of(left_); }
    double gain_from(double score) const { return (score - quality(total_)) * targets_.unit * targets_.unit; }
    static double perfect_score() { return std::numeric_limits<double>::infinity(); }
    static bool needs_gain() { return true; }
    // Larger than rounding errors.
    double least_gain() const { return -quality(total_) * targets_.unit * targets_.unit * 0x1.0p-40; }
    std::int64_t left_amount() const { return static_cast<std::int64_t>(left_.weight); }
    double left_share() const { return share(left_, 0); }
    double right_share() const { return share(rest(left_), 0); }
    double share_of(const Row* rows, std::uint32_t n_rows) const {
        Bin all;
        for (std::uint32_t i = 0; i < n_rows; ++i) all += of(rows[i]);
        return share(all, 0);
    }

    Place scan(const Bin* sums, std::int64_t n_places) const {
        Place best;
        for (std::int64_t i = 0; i < n_places; ++i) {
            Bin left = left_;
            const double value = score_of(left += sums[i]);
            if (value > best.score) best = {value, i};
        }
        return best;
    }

private:
    Bin rest(const Bin& left) const {
        return {total_.weight - left.weight, total_.sum - left.sum, total_.square - left.square};
    }
    double score_of(const Bin& left) const { return quality(left) + quality(rest(left)); }
    // −n U of a side; it is NaN, which never wins, for a side without rows if s is 0.
    double quality(const Bin& side) const {
        const double all = side.weight + caution_, sum = side.sum + unknown_sum_;
        return -side.weight / all * (lam_ * (side.square - sum * sum / all) + unknown_square_);
    }

    RealTargets targets_;
    double lam_, caution_, lowest_, highest_;
    double unknown_sum_ = 0, unknown_square_ = 0;  // contributions of [a, b] to both moments
    Bin total_, left_;
};

// Calls `visit` with the target for the named criterion, and with the source.
template <class Visit>
auto with_criterion(const RealTargets& targets, const NamedValues& given, std::size_t, Visit&& visit) {
    if (targets.median) return visit(Medians(targets), targets);
    if (given.word("criterion") == "poisson") return visit(Moments<Poisson>(targets), targets);
    if (given.word("criterion") == "belief")
        return visit(BeliefSplits(targets, given.number<double>("lam"), given.number<double>("caution"),
                                  given.number<double>("lowest"), given.number<double>("highest")),
                     targets);
    return visit(Moments<SquaredError>(targets), targets);
}

}  // namespace hedgerow
