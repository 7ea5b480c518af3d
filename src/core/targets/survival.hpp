// Survival targets: splits of right-censored times by the log-rank statistic.
//
// A row has a cell: the number of its entry, of its time, and of its cause, which is 0 if the event was not observed.
// At equal times events come before censorings, so a row is at risk at its own time. Leaves count rows by cell, as
// those of classes do.
//
// With U = sum over event times of (d_left - n_left d / n) and V its hypergeometric variance, a split scores U^2 / V.
// Both follow row by row: U is the sum over the rows on the left of a = event - H(time) + H(entry), with the
// Nelson-Aalen estimate H of the node. Without entries, V is the sum over pairs of a row on the left and one on the
// right of W(earlier time), where W sums d (n - d) / (n^2 (n - 1)). Two Fenwick trees over time give the sum over
// pairs, so a scan of m rows costs m log m. A row that enters later is a row from the start less one that leaves at the
// entry: V is a quadratic form, so the same sums hold with a negative size. All causes count as one event: with a
// statistic for each cause, the composite statistic (sum of U_k)^2 / (sum of V_k) is the same up to ties between
// causes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/targets/class_counts.hpp"
#include "core/targets/class_labels.hpp"
#include "core/targets/target.hpp"

namespace hedgerow {

// A row at risk at the grid times after `entry` up to `time`, by number; at time 0 there are no events.
struct SurvivalCell {
    std::uint16_t entry, time, cause;
};

// The grid, and the numbers of cells: (entry · n_times + time) · (n_causes + 1) + cause. Entries are numbers of grid
// times; the first is 0, for rows at risk from the start.
struct SurvivalLayout {
    std::size_t n_times = 1, n_causes = 1;
    std::vector<std::uint16_t> entries;

    SurvivalLayout(std::size_t times, std::size_t causes, std::span<const std::uint16_t> entry_times)
        : n_times(times), n_causes(causes), entries(entry_times.begin(), entry_times.end()) {
        const bool sound = n_times > 0 && n_causes > 0 && !entries.empty() && entries.front() == 0;
        if (!sound || *std::max_element(entries.begin(), entries.end()) >= n_times)
            throw std::invalid_argument("a layout needs times, causes, and entries from 0 to less than n_times");
    }

    bool has_entries() const { return entries.size() > 1; }
    std::size_t n_cells() const { return entries.size() * n_times * (n_causes + 1); }
    // Entries are rounded up to a known one; a row is always at risk at its own event.
    SurvivalCell read(std::size_t cell) const {
        const std::size_t cause = cell % (n_causes + 1), rest = cell / (n_causes + 1);
        const std::size_t time = rest % n_times, latest = cause > 0 && time > 0 ? time - 1 : time;
        const std::size_t entry = entries[std::min(rest / n_times, entries.size() - 1)];
        return {static_cast<std::uint16_t>(std::min(entry, latest)), static_cast<std::uint16_t>(time),
                static_cast<std::uint16_t>(cause)};
    }
};

// Cells of the training rows.
struct SurvivalCells : ClassLabels {
    static constexpr const char* kind = "survival";
    SurvivalLayout layout;

    static SurvivalCells from(const NamedValues& given) {
        const auto entries = given.array<std::uint16_t>("entries");
        SurvivalCells cells{ClassLabels::from(given),
                            {given.number<std::uint32_t>("n_times"),
                             given.number<std::uint32_t>("n_causes"),
                             {entries.data(), entries.size()}}};
        if (cells.n_classes != cells.layout.n_cells())
            throw std::invalid_argument("n_classes must be the number of cells, got " +
                                        std::to_string(cells.n_classes));
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

    LogRank(const SurvivalLayout& layout, double unit)
        : layout_(layout),
          n_times_(layout.n_times),
          unit_(unit),
          events_(n_times_),
          leaving_(n_times_),
          hazard_(n_times_),
          weight_(n_times_),
          pairs_(n_times_),
          left_rows_(n_times_),
          left_weight_(n_times_) {
        for (std::size_t cell = 0; cell < layout.n_cells(); ++cell) cells_.push_back(layout.read(cell));
    }

    void enter_node(const Row* rows, std::uint32_t n_rows) {
        rows_ = rows;
        if (next_plus_one_.size() < n_rows) next_plus_one_.resize(n_rows);
        events_.assign(n_times_, 0.0);
        leaving_.assign(n_times_, 0.0);
        total_amount_ = 0;
        for (std::uint32_t i = 0; i < n_rows; ++i) {
            const double size = size_of(rows[i]);
            const SurvivalCell& cell = cells_[rows[i].label];
            leaving_[cell.time] += size;
            if (cell.cause > 0) events_[cell.time] += size;
            if (cell.entry > 0) leaving_[cell.entry] -= size;
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
        const SurvivalCell& cell = cells_[row.label];
        const double size = size_of(row);
        statistic_ += size * residual_of(row);
        move_size(cell.time, size);
        if (cell.entry > 0) move_size(cell.entry, -size);
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
    double size_of(const Row& row) const { return unit_ * static_cast<double>(row.amount()); }
    double residual_of(const Row& row) const {
        const SurvivalCell& cell = cells_[row.label];
        const double residual = (cell.cause > 0 ? 1.0 : 0.0) - hazard_[cell.time];
        return cell.entry > 0 ? residual + hazard_[cell.entry] : residual;
    }
    // Moves rows that leave at a time from the right to the left.
    void move_size(std::size_t time, double size) {
        const double weight = weight_[time], later = left_size_ - left_rows_.up_to(time);
        const double with_left = left_weight_.up_to(time) + weight * later;
        variance_ += size * (pairs_[time] - size * weight - 2 * with_left);
        left_rows_.add(time, size);
        left_weight_.add(time, size * weight);
        left_size_ += size;
    }

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
    SurvivalLayout layout_;
    std::vector<SurvivalCell> cells_;  // by number
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
    if (cells.weighted) return visit(LogRank<WeightedRow>(cells.layout, cells.weight_unit), cells);
    return visit(LogRank<CountedRow>(cells.layout, 1.0), cells);
}

}  // namespace hedgerow
