// Survival targets: splits of right-censored times by the log-rank statistic.
//
// A row has a cell: twice the number of its time, plus one if the event was observed. At equal times events come before
// censorings, so a row is at risk at its own time. Leaves count rows by cell, as those of classes do.
//
// With U = sum over event times of (d_left - n_left d / n) and V its hypergeometric variance, a split scores U^2 / V.
// Both follow row by row: U is the sum over the rows on the left of a = event - H(time), with the Nelson-Aalen estimate
// H of the node, and V is the sum over pairs of a row on the left and one on the right of W(earlier time), where W sums
// d (n - d) / (n^2 (n - 1)). Two Fenwick trees over time give the sum over pairs, so a scan of m rows costs m log m.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/targets/class_counts.hpp"
#include "core/targets/class_labels.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

// Cells of the training rows.
struct SurvivalCells : ClassLabels {
    static constexpr const char* kind = "survival";

    static SurvivalCells from(const NamedValues& given) {
        SurvivalCells cells{ClassLabels::from(given)};
        if (cells.n_classes % 2 != 0)
            throw std::invalid_argument("n_classes must be even for survival, got " + std::to_string(cells.n_classes));
        return cells;
    }
};

// Sums over the times up to a given one.
class FenwickTree {
public:
    explicit FenwickTree(std::size_t n_times) : sums_(n_times + 1, 0.0) {}

    void add(std::size_t time, double amount) {
        for (++time; time < sums_.size(); time += time & (~time + 1)) sums_[time] += amount;
    }
    double up_to(std::size_t time) const {
        double sum = 0;
        for (++time; time > 0; time -= time & (~time + 1)) sum += sums_[time];
        return sum;
    }
    void clear() { sums_.assign(sums_.size(), 0.0); }

private:
    std::vector<double> sums_;
};

// Splits by the log-rank statistic.
template <class Row_>
class LogRank : public ListBins<Row_> {
public:
    using Source = SurvivalCells;
    using Bins = ListBins<Row_>;
    using Row = Row_;
    using Bin = typename Bins::Bin;
    static constexpr bool adds_up = false;

    LogRank(std::uint32_t n_cells, double unit)
        : n_times_(n_cells / 2),
          unit_(unit),
          events_(n_times_),
          leaving_(n_times_),
          hazard_(n_times_),
          weight_(n_times_),
          pairs_(n_times_),
          left_rows_(n_times_),
          left_weight_(n_times_) {}

    void enter_node(const Row* rows, std::uint32_t n_rows) {
        rows_ = rows;
        if (next_plus_one_.size() < n_rows) next_plus_one_.resize(n_rows);
        events_.assign(n_times_, 0.0);
        leaving_.assign(n_times_, 0.0);
        total_amount_ = 0;
        for (std::uint32_t i = 0; i < n_rows; ++i) {
            const double size = size_of(rows[i]);
            leaving_[time_of(rows[i])] += size;
            if (has_event(rows[i])) events_[time_of(rows[i])] += size;
            total_amount_ += static_cast<std::int64_t>(rows[i].amount());
        }
        find_hazard();
    }
    void leave_node(const Row*, std::uint32_t) {}
    std::int64_t node_amount() const { return total_amount_; }

    // Categories are ordered by the mean of a over their rows, whatever the cell.
    template <class Visit>
    void ordering_classes(Visit&& visit) {
        visit(0);
    }
    double share(const Bin& bin, std::uint32_t) const {
        double sum = 0, size = 0;
        for (std::uint32_t at = bin.head_plus_one; at != 0; at = next_plus_one_[at - 1]) {
            sum += size_of(rows_[at - 1]) * residual_of(rows_[at - 1]);
            size += size_of(rows_[at - 1]);
        }
        return sum / size;
    }

    void begin_scan() {
        left_rows_.clear();
        left_weight_.clear();
        left_size_ = statistic_ = variance_ = 0;
        left_amount_ = 0;
    }
    void end_scan(const Row*, std::uint32_t) {}
    void move(const Bin& bin) {
        for (std::uint32_t at = bin.head_plus_one; at != 0; at = next_plus_one_[at - 1]) move_row(rows_[at - 1]);
    }
    void move_row(const Row& row) {
        const std::size_t time = time_of(row);
        const double size = size_of(row), weight = weight_[time];
        const double later = left_size_ - left_rows_.up_to(time);
        const double with_left = left_weight_.up_to(time) + weight * later;
        variance_ += size * (pairs_[time] - size * weight - 2 * with_left);
        statistic_ += size * residual_of(row);
        left_rows_.add(time, size);
        left_weight_.add(time, size * weight);
        left_size_ += size;
        left_amount_ += static_cast<std::int64_t>(row.amount());
    }

    // A smaller variance is rounding error: no event separates the two sides.
    static constexpr double least_variance = 1e-9;
    double score() const { return variance_ > least_variance ? statistic_ * statistic_ / variance_ : 0.0; }
    double gain_from(double score) const { return score; }
    double perfect_score() const { return std::numeric_limits<double>::infinity(); }
    bool needs_gain() const { return true; }
    std::int64_t left_amount() const { return left_amount_; }
    // Limits on shares do not apply: cells have no order that a feature could follow.
    double left_share() const { return 0.5; }
    double right_share() const { return 0.5; }
    double share_of(const Row*, std::uint32_t) const { return 0.5; }

private:
    static std::size_t time_of(const Row& row) { return row.label / 2U; }
    static bool has_event(const Row& row) { return row.label % 2 != 0; }
    double size_of(const Row& row) const { return unit_ * static_cast<double>(row.amount()); }
    double residual_of(const Row& row) const { return (has_event(row) ? 1.0 : 0.0) - hazard_[time_of(row)]; }

    // Nelson-Aalen estimate, W, and for each time the sum of W(earlier time) over all rows of the node.
    void find_hazard() {
        double at_risk = 0;
        for (const double size : leaving_) at_risk += size;
        double hazard = 0, weight = 0, so_far = 0;
        for (std::size_t time = 0; time < n_times_; ++time) {
            const double events = events_[time];
            if (events > 0) {
                hazard += events / at_risk;
                if (at_risk > 1) weight += events * (at_risk - events) / (at_risk * at_risk * (at_risk - 1));
            }
            hazard_[time] = hazard;
            weight_[time] = weight;
            at_risk -= leaving_[time];
            so_far += leaving_[time] * weight;
            pairs_[time] = so_far + weight * at_risk;
        }
    }

    using Bins::next_plus_one_;
    std::size_t n_times_;
    double unit_;
    const Row* rows_ = nullptr;
    std::vector<double> events_, leaving_, hazard_, weight_, pairs_;
    FenwickTree left_rows_, left_weight_;
    double left_size_ = 0, statistic_ = 0, variance_ = 0;
    std::int64_t total_amount_ = 0, left_amount_ = 0;
};

template <class Visit>
auto with_criterion(const SurvivalCells& cells, const NamedValues& given, std::size_t, Visit&& visit) {
    if (given.word("criterion") != "log_rank")
        throw std::invalid_argument("criterion must be 'log_rank', got '" + given.word("criterion") + "'");
    if (cells.weighted) return visit(LogRank<WeightedRow>(cells.n_classes, cells.weight_unit), cells);
    return visit(LogRank<CountedRow>(cells.n_classes, 1.0), cells);
}

}  // namespace hedgerow
