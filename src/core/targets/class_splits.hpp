// Split targets of rows with class labels.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/kit/attributes.hpp"
#include "core/kit/vectors.hpp"
#include "core/targets/class_counts.hpp"
#include "core/targets/class_labels.hpp"
#include "core/targets/criterion.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

// The share of the last class among some rows, by weight.
template <class Row>
inline double share_of_last(const Row* rows, std::uint32_t n_rows, std::uint32_t n_classes) {
    double of_last = 0, all = 0;
    for (std::uint32_t i = 0; i < n_rows; ++i) {
        const auto amount = static_cast<double>(rows[i].amount());
        all += amount;
        if (rows[i].label + 1U == n_classes) of_last += amount;
    }
    return of_last / all;
}

// Makes a double from a 32-bit count by its bit pattern; unlike a conversion, the compiler can vectorise this.
inline double double_from_count(std::uint64_t count) {
    return std::bit_cast<double>(count | 0x4330000000000000ULL) - 0x1.0p52;
}

// For two classes the Gini quality of a place rises with (n·left₁ − n₁·left)² / (left · right), which needs one
// division instead of two; ties are exact in nodes of up to some ten thousand rows. The score of a place without a
// right side is NaN, which never wins.
inline void score_gini_pairs(const std::uint64_t* sums, std::int64_t n_places, std::uint64_t start, std::uint64_t total,
                             double* __restrict scores) {
    const double total1 = double_from_count(total >> 32), all = double_from_count(total & 0xffffffff) + total1;
    for (std::int64_t i = 0; i < n_places; ++i) {
        const std::uint64_t counts = start + sums[i];
        const double left1 = double_from_count(counts >> 32), left = double_from_count(counts & 0xffffffff) + left1;
        const double difference = all * left1 - total1 * left;
        scores[i] = difference * difference / (left * (all - left));
    }
}

// Two classes without weights: both counts are in one 64-bit word, so a row costs one addition.
struct PairBins {
    using Row = CountedRow;
    using Bin = std::uint64_t;
    static constexpr int lanes = 4;        // features summed in one pass over the rows
    static constexpr bool sums_up = true;  // bins can be added; a place is a running sum

    static Bin of(const Row& row) { return Bin{row.multiplicity} << (32 * row.label); }
    static void add(Bin& bin, const Row& row, std::uint32_t) { bin += of(row); }
    static bool is_empty(const Bin& bin) { return bin == 0; }
    static void add_to(Bin& sum, const Bin& bin) { sum += bin; }
    static void clear(Bin& bin) { bin = 0; }
};

template <class Criterion_>
class ClassPair : public PairBins {
public:
    using Criterion = Criterion_;
    using Source = ClassLabels;
    using Bins = PairBins;
    static constexpr bool is_gini = std::is_same_v<Criterion, Gini>;
    static constexpr bool adds_up = true;

    ClassPair(const Criterion& criterion, std::uint32_t n_classes) : criterion_(criterion), n_classes_(n_classes) {}

    static double share(const Bin& bin, std::uint32_t label) {
        const double zero = static_cast<std::uint32_t>(bin), one = static_cast<double>(bin >> 32);
        return (label ? one : zero) / (zero + one);
    }

    void enter_node(const Row* rows, std::uint32_t n_rows) {
        total_ = 0;
        for (std::uint32_t i = 0; i < n_rows; ++i) total_ += of(rows[i]);
    }
    void enter_sum(const double* totals, const double*) { total_ = bin_from(totals); }
    Bin bin_from(const double* cells) const {
        return static_cast<Bin>(cells[0]) | (n_classes_ > 1 ? static_cast<Bin>(cells[1]) : 0) << 32;
    }
    void leave_node(const Row*, std::uint32_t) {}
    std::int64_t node_amount() const { return amount_of(total_); }
    // Classes by whose share the categories of a feature are ordered; one is enough for two classes.
    template <class Visit>
    void ordering_classes(Visit&& visit) const {
        visit(1U);
    }

    void begin_scan() { left_ = 0; }
    void end_scan(const Row*, std::uint32_t) {}
    void move(const Bin& bin) { left_ += bin; }
    void move_row(const Row& row) { left_ += of(row); }
    double score() const { return score_of(left_); }
    double score_of(Bin left) const {
        if constexpr (is_gini) {
            double score;
            score_gini_pairs(&left, 1, 0, total_, &score);
            return score;
        } else {
            return quality_of(left) + quality_of(total_ - left);
        }
    }
    Bin total() const { return total_; }
    double gain_from(double score) const {
        if constexpr (is_gini) return 2 * score / static_cast<double>(node_amount());
        else return score - quality_of(total_);
    }
    double perfect_score() const {
        if constexpr (is_gini) return double_from_count(total_ & 0xffffffff) * double_from_count(total_ >> 32);
        else return criterion_.perfect(node_amount());
    }
    bool needs_gain() const { return criterion_.needs_gain(); }
    std::int64_t left_amount() const { return amount_of(left_); }
    double left_share() const { return share(left_, 1); }
    double right_share() const { return share(total_ - left_, 1); }
    double share_of(const Row* rows, std::uint32_t n_rows) const { return share_of_last(rows, n_rows, n_classes_); }

    // Finds the best place along running sums of bins (with room for three more): computes all scores, four at a time,
    // and the first position of their maximum.
    Place scan(Bin* sums, std::int64_t n_places) {
        if (static_cast<std::size_t>(n_places) + 3 > scores_.size()) scores_.resize(n_places + 3);
        double* scores = scores_.data();
        std::int64_t padded = n_places;
        while (padded & 3) sums[padded++] = total_ - left_;
        if constexpr (is_gini) score_gini_pairs(sums, padded, left_, total_, scores);
        else
            for (std::int64_t i = 0; i < padded; ++i) scores[i] = i < n_places ? score_of(left_ + sums[i]) : no_score;
        double highest4[4] = {no_score, no_score, no_score, no_score};
        for (std::int64_t first = 0; first < padded; first += 4)
            for (int i = 0; i < 4; ++i) highest4[i] = scores[first + i] > highest4[i] ? scores[first + i] : highest4[i];
        const double highest = std::max(std::max(highest4[0], highest4[1]), std::max(highest4[2], highest4[3]));
        std::int64_t best = 0;
        while (best < n_places && scores[best] != highest) ++best;
        return best == n_places ? Place{} : Place{highest, best};
    }

private:
    static std::int64_t amount_of(Bin counts) {
        return static_cast<std::int64_t>(static_cast<std::uint32_t>(counts)) + static_cast<std::int64_t>(counts >> 32);
    }
    // Without inlining, entropy fits take 1.16 times as long.
    HEDGEROW_FORCE_INLINE double quality_of(Bin counts) const {
        const auto zero = static_cast<std::uint32_t>(counts), one = static_cast<std::uint32_t>(counts >> 32);
        return criterion_.quality(criterion_.contribution(zero) + criterion_.contribution(one), zero + one);
    }
    Criterion criterion_;
    std::uint32_t n_classes_;
    Bin total_ = 0, left_ = 0;
    std::vector<double> scores_;
};

// A few classes, with or without weights: a bin is a short vector of amounts.
template <class Row_, std::uint32_t n_amounts>
struct VectorBins {
    using Row = Row_;
    using Amount = typename Row::Amount;
    static constexpr int lanes = 4;
    static constexpr bool sums_up = true;
    struct Bin {
        Amount amounts[n_amounts];
    };

    static void add(Bin& bin, const Row& row, std::uint32_t) { bin.amounts[row.label] += row.amount(); }
    static void add_to(Bin& sum, const Bin& bin) {
        for (std::uint32_t k = 0; k < n_amounts; ++k) sum.amounts[k] += bin.amounts[k];
    }
    static bool is_empty(const Bin& bin) {
        Amount any = 0;
        for (std::uint32_t k = 0; k < n_amounts; ++k) any |= bin.amounts[k];
        return any == 0;
    }
    static void clear(Bin& bin) { bin = Bin{}; }
};

template <class Criterion_, class Row_, std::uint32_t n_amounts>
class ClassVector : public VectorBins<Row_, n_amounts> {
public:
    using Criterion = Criterion_;
    using Source = ClassLabels;
    using Bins = VectorBins<Row_, n_amounts>;
    using Row = Row_;
    using Amount = typename Row::Amount;
    using Bin = typename Bins::Bin;
    using Bins::add, Bins::add_to;
    static constexpr bool adds_up = true;

    ClassVector(const Criterion& criterion, std::uint32_t n_classes) : criterion_(criterion), n_classes_(n_classes) {}

    static double share(const Bin& bin, std::uint32_t label) {
        return static_cast<double>(bin.amounts[label]) / static_cast<double>(amount_of(bin));
    }

    void enter_node(const Row* rows, std::uint32_t n_rows) {
        total_ = Bin{};
        for (std::uint32_t i = 0; i < n_rows; ++i) add(total_, rows[i], i);
    }
    void enter_sum(const double* totals, const double*) { total_ = bin_from(totals); }
    Bin bin_from(const double* cells) const {
        Bin bin{};
        for (std::uint32_t k = 0; k < n_classes_; ++k) bin.amounts[k] = static_cast<Amount>(cells[k]);
        return bin;
    }
    void leave_node(const Row*, std::uint32_t) {}
    std::int64_t node_amount() const { return static_cast<std::int64_t>(amount_of(total_)); }
    const Bin& total() const { return total_; }
    template <class Visit>
    void ordering_classes(Visit&& visit) const {
        for (std::uint32_t k = n_classes_ == 2; k < n_classes_; ++k)
            if (total_.amounts[k] > 0) visit(k);
    }

    void begin_scan() { left_ = Bin{}; }
    void end_scan(const Row*, std::uint32_t) {}
    void move(const Bin& bin) { add_to(left_, bin); }
    void move_row(const Row& row) { add(left_, row, 0); }
    double score() const { return quality_of(left_) + quality_of(right()); }
    double gain_from(double score) const { return score - quality_of(total_); }
    double perfect_score() const { return criterion_.perfect(node_amount()); }
    bool needs_gain() const { return criterion_.needs_gain(); }
    std::int64_t left_amount() const { return static_cast<std::int64_t>(amount_of(left_)); }
    double left_share() const { return share(left_, n_classes_ - 1); }
    double right_share() const { return share(right(), n_classes_ - 1); }
    double share_of(const Row* rows, std::uint32_t n_rows) const { return share_of_last(rows, n_rows, n_classes_); }

    Place scan(Bin* sums, std::int64_t n_places) {
#ifdef HEDGEROW_VECTORS
        if constexpr (scores_roughly)
            if (node_amount() < 1 << 15) return scan_roughly(sums, n_places);
#endif
        Place best;
        for (std::int64_t i = 0; i < n_places; ++i) score_exactly(left_, sums[i], i, best);
        return best;
    }

private:
    static constexpr bool scores_roughly =
        std::is_same_v<Criterion, Gini> && std::is_same_v<Amount, std::uint32_t> && n_amounts == 8;

    HEDGEROW_FORCE_INLINE void score_exactly(const Bin start, const Bin& sum, std::int64_t i, Place& best) {
        left_ = start;
        add_to(left_, sum);
        const double value = score();
        left_ = start;
        if (value > best.score) best = {value, i};
    }

#ifdef HEDGEROW_VECTORS
    // The same for counts below 2^15: all places are scored in single precision, four at a time, from squares that 32
    // bits hold, and those that may be the best are scored exactly (100,000 rows × 50 with seven classes: 0.83 of the
    // time). The squares of the right side are Σ (t − l)² = Σ t² − 2 Σ t l + Σ l².
    HEDGEROW_NOINLINE Place scan_roughly(const Bin* sums, std::int64_t n_places) {
        if (rough_.size() < static_cast<std::size_t>(n_places) + 3)
            rough_.resize(static_cast<std::size_t>(n_places) + 3);
        Integers start[2], whole[2];
        std::memcpy(start, &left_, sizeof start);
        std::memcpy(whole, &total_, sizeof whole);
        const Shorts total = packed(whole[0], whole[1]), ones = Shorts{} + 1;
        Integers squares[4], crossed[4], amounts[4];
        std::fill_n(squares, 4, multiply_pairs(total, total));
        const Integers all_squares = sums_of(squares), all = Integers{} + static_cast<std::int32_t>(node_amount());
        Floats highest{};
        for (std::int64_t first = 0; first < n_places; first += 4) {
            for (std::int64_t i = 0; i < 4; ++i) {
                Integers sum[2];
                std::memcpy(sum, sums + std::min(first + i, n_places - 1), sizeof sum);
                const Shorts left = packed(start[0] + sum[0], start[1] + sum[1]);
                squares[i] = multiply_pairs(left, left);
                crossed[i] = multiply_pairs(left, total);
                amounts[i] = multiply_pairs(left, ones);
            }
            const Integers amount = sums_of(amounts), own = sums_of(squares),
                           others = all_squares - 2 * sums_of(crossed) + own;
            const Floats score =
                __builtin_convertvector(own, Floats) / __builtin_convertvector(amount, Floats) +
                __builtin_convertvector(others, Floats) / __builtin_convertvector(all - amount, Floats);
            highest = score > highest ? score : highest;
            std::memcpy(rough_.data() + first, &score, sizeof score);
        }
        Place best;
        const Bin before = left_;
        const float near =
            std::max(std::max(highest[0], highest[1]), std::max(highest[2], highest[3])) * (1 - 0x1.0p-20f);
        for (std::int64_t i = 0; i < n_places; ++i)
            if (rough_[static_cast<std::size_t>(i)] >= near) score_exactly(before, sums[i], i, best);
        return best;
    }
#endif

    static Amount amount_of(const Bin& bin) {
        Amount sum = 0;
        for (std::uint32_t k = 0; k < n_amounts; ++k) sum += bin.amounts[k];
        return sum;
    }
    Bin right() const {
        Bin rest;
        for (std::uint32_t k = 0; k < n_amounts; ++k) rest.amounts[k] = total_.amounts[k] - left_.amounts[k];
        return rest;
    }
    double quality_of(const Bin& bin) const {
        auto sum = criterion_.contribution(bin.amounts[0]);
        for (std::uint32_t k = 1; k < n_amounts; ++k) sum += criterion_.contribution(bin.amounts[k]);
        return criterion_.quality(sum, amount_of(bin));
    }

    Criterion criterion_;
    std::uint32_t n_classes_;
    Bin total_{}, left_{};
    std::vector<float> rough_;
};

// Labels in descending order of amount.
template <class Amount>
HEDGEROW_NOINLINE void order_by_amount(std::vector<std::uint32_t>& labels, const Amount* amounts) {
    std::sort(labels.begin(), labels.end(), [=](std::uint32_t a, std::uint32_t b) {
        return amounts[a] != amounts[b] ? amounts[a] > amounts[b] : a < b;
    });
}

// Any number of classes: a bin is a list of its rows, and moving a row from side to side updates both sums, so a scan
// costs the same for 10 classes as for 1,000.
template <class Criterion_, class Row_>
class ClassList : public ListBins<Row_> {
public:
    using Criterion = Criterion_;
    using Source = ClassLabels;
    using Bins = ListBins<Row_>;
    using Row = Row_;
    using Bin = typename Bins::Bin;
    using Amount = typename Row::Amount;
    static constexpr bool adds_up = true;
    using Sum = decltype(std::declval<Criterion>().contribution(Amount{}));

    ClassList(const Criterion& criterion, std::uint32_t n_classes)
        : criterion_(criterion), total_(n_classes), left_(n_classes) {}

    double share(const Bin& bin, std::uint32_t label) const {
        Amount of_label = 0, all = 0;
        for (std::uint32_t at = bin.head_plus_one; at != 0; at = next_plus_one_[at - 1]) {
            all += rows_[at - 1].amount();
            if (rows_[at - 1].label == label) of_label += rows_[at - 1].amount();
        }
        return static_cast<double>(of_label) / static_cast<double>(all);
    }

    void enter_node(const Row* rows, std::uint32_t n_rows) {
        rows_ = rows;
        if (next_plus_one_.size() < n_rows) next_plus_one_.resize(n_rows);
        total_sum_ = 0;
        total_amount_ = 0;
        present_.clear();
        for (std::uint32_t i = 0; i < n_rows; ++i) {
            Amount& of_class = total_[rows[i].label];
            if (of_class == 0) present_.push_back(rows[i].label);
            total_sum_ -= criterion_.contribution(of_class);
            of_class += rows[i].amount();
            total_sum_ += criterion_.contribution(of_class);
            total_amount_ += rows[i].amount();
        }
    }
    void leave_node(const Row*, std::uint32_t) {
        for (std::uint32_t label : present_) total_[label] = 0;
    }
    std::int64_t node_amount() const { return static_cast<std::int64_t>(total_amount_); }
    // The most frequent classes of the node, at most eight.
    template <class Visit>
    void ordering_classes(Visit&& visit) {
        order_by_amount(present_, total_.data());
        for (std::size_t i = 0; i < present_.size() && i < 8; ++i) visit(present_[i]);
    }

    void begin_scan() {
        left_sum_ = 0;
        right_sum_ = total_sum_;
        left_amount_ = 0;
    }
    void end_scan(const Row*, std::uint32_t) {
        for (std::uint32_t label : present_) left_[label] = 0;
    }
    void move(const Bin& bin) {
        for (std::uint32_t at = bin.head_plus_one; at != 0; at = next_plus_one_[at - 1]) move_row(rows_[at - 1]);
    }
    void move_row(const Row& row) {
        Amount& left = left_[row.label];
        const Amount right = total_[row.label] - left, amount = row.amount();
        left_sum_ += criterion_.contribution(left + amount) - criterion_.contribution(left);
        right_sum_ += criterion_.contribution(right - amount) - criterion_.contribution(right);
        left += amount;
        left_amount_ += amount;
    }
    double gain_from(double score) const {
        if constexpr (Criterion::whole_side)
            return score - quality_of_side([&](std::uint32_t k) { return total_[k]; }, total_amount_);
        else return score - criterion_.quality(total_sum_, total_amount_);
    }
    double perfect_score() const { return criterion_.perfect(node_amount()); }
    double score() const {
        const Amount right_amount = total_amount_ - left_amount_;
        if constexpr (Criterion::whole_side)
            return criterion_.quality_of_split(
                quality_of_side([&](std::uint32_t k) { return left_[k]; }, left_amount_),
                static_cast<std::int64_t>(left_amount_),
                quality_of_side([&](std::uint32_t k) { return total_[k] - left_[k]; }, right_amount),
                static_cast<std::int64_t>(right_amount));
        else return criterion_.quality(left_sum_, left_amount_) + criterion_.quality(right_sum_, right_amount);
    }
    bool by_ratio() const
        requires(Criterion::whole_side)
    {
        return criterion_.by_ratio;
    }
    bool needs_gain() const { return criterion_.needs_gain(); }
    std::int64_t left_amount() const { return static_cast<std::int64_t>(left_amount_); }
    double left_share() const { return static_cast<double>(left_.back()) / static_cast<double>(left_amount_); }
    double right_share() const {
        return static_cast<double>(total_.back() - left_.back()) / static_cast<double>(total_amount_ - left_amount_);
    }
    double share_of(const Row* rows, std::uint32_t n_rows) const {
        return share_of_last(rows, n_rows, static_cast<std::uint32_t>(total_.size()));
    }

private:
    template <class CountOf>
    double quality_of_side(CountOf&& count_of, Amount amount) const {
        side_.clear();
        if (criterion_.ordered)
            for (std::uint32_t label = 0; label < total_.size(); ++label)
                side_.push_back(static_cast<std::int64_t>(count_of(label)));
        else
            for (std::uint32_t label : present_) side_.push_back(static_cast<std::int64_t>(count_of(label)));
        return criterion_.quality(side_, static_cast<std::int64_t>(amount));
    }

    Criterion criterion_;
    mutable std::vector<std::int64_t> side_;  // memory for the counts of one side
    using Bins::next_plus_one_;
    const Row* rows_ = nullptr;
    std::vector<Amount> total_, left_;
    std::vector<std::uint32_t> present_;
    Sum total_sum_ = 0, left_sum_ = 0, right_sum_ = 0;
    Amount total_amount_ = 0, left_amount_ = 0;
};

}  // namespace hedgerow
