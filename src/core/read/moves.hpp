// Moves of the codes of a row, their costs, and the leaves reached.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/kit/named_values.hpp"
#include "core/kit/table.hpp"
#include "core/read/read.hpp"
#include "core/read/walk.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

// A row that may move, and the contents of leaves. Places are the features on which some tree splits.
struct Moves {
    std::span<const std::int64_t> features;  // (F,): the feature of each place
    std::span<const std::int64_t>
        cost_start;                         // (F + 1,): where the costs of a place begin; none if its value is missing
    std::span<const double> costs;          // of each code; 0 at the code of the row, increasing with distance
    const std::uint8_t* nominal = nullptr;  // (F,)
    const std::int32_t* first = nullptr;    // (F,): the codes that are allowed
    const std::int32_t* last = nullptr;
    std::span<const std::int32_t> contents;   // (L,): the content of each leaf
    std::span<const std::uint8_t> plausible;  // (D,): whether a row may move into leaves of this content
    const OutsideFunction* alone = nullptr;   // leaves, one per tree, to the class that remains alone, or -1
    std::int64_t wanted = -1;                 // the class that should remain; -1 for any

    static Moves from(const NamedValues& given) {
        Moves moves;
        moves.features = given.array<std::int64_t>("features");
        const std::size_t n = moves.features.size();
        moves.cost_start = {given.array<std::int64_t>("cost_start", n + 1), n + 1};
        moves.costs = given.array<double>("costs");
        moves.nominal = given.array<std::uint8_t>("nominal", n);
        moves.first = given.array<std::int32_t>("first", n);
        moves.last = given.array<std::int32_t>("last", n);
        moves.contents = given.array<std::int32_t>("contents");
        moves.plausible = given.array<std::uint8_t>("plausible");
        moves.alone = &given.function("alone");
        moves.wanted = given.number<std::int64_t>("wanted");
        return moves;
    }

    std::size_t n_places() const { return features.size(); }
    std::size_t n_codes(std::size_t place) const {
        return static_cast<std::size_t>(cost_start[place + 1] - cost_start[place]);
    }
    double cost(std::size_t place, std::int32_t code) const {
        return costs[static_cast<std::size_t>(cost_start[place]) + static_cast<std::size_t>(code)];
    }
    bool is_free(std::size_t place) const { return n_codes(place) > 0 && first[place] < last[place]; }
};

// The path of a row through a tree, with some of its codes replaced by those of a point.
template <class Code>
class MovingRow {
public:
    MovingRow(const ForestView& forest, const Moves& moves, const CodeColumns<Code>& row)
        : forest_(forest), moves_(moves), codes_(row.codes, row.codes + row.n_features), place_of_(row.n_features, -1) {
        if (row.n_rows != 1) throw std::invalid_argument("codes must have one row, got " + std::to_string(row.n_rows));
        for (std::size_t place = 0; place < moves.n_places(); ++place) {
            const auto feature = static_cast<std::size_t>(moves.features[place]);
            place_of_[feature] = static_cast<std::int32_t>(place);
            start_.push_back(codes_[feature]);
        }
        for (std::size_t tree = 0; tree < forest.n_trees; ++tree)
            own_.push_back(leaf_of(forest.tree(tree), codes_.data()));
    }

    const std::vector<std::int32_t>& start() const { return start_; }  // (F,): the codes of the row
    std::int32_t place_of(std::uint32_t feature) const { return place_of_[feature]; }
    const Code* codes() const { return codes_.data(); }
    std::uint32_t content(std::size_t tree, const TreeView& view, std::uint32_t node) const {
        return static_cast<std::uint32_t>(
            moves_.contents[static_cast<std::size_t>(forest_.leaf_start[tree] + leaf_number(view, node))]);
    }
    // A row may move into leaves with training rows, and it may stay in its own.
    bool may_enter(std::size_t tree, const TreeView& view, std::uint32_t node) const {
        return node == own_[tree] || (!is_borrowed(view, node) && moves_.plausible[content(tree, view, node)]);
    }
    // Moves the row to a point (F,).
    void move_to(const std::vector<std::int32_t>& point) {
        for (std::size_t place = 0; place < point.size(); ++place)
            codes_[static_cast<std::size_t>(moves_.features[place])] = static_cast<Code>(point[place]);
    }
    double cost(const std::vector<std::int32_t>& point) const {
        double cost = 0;
        for (std::size_t place = 0; place < point.size(); ++place)
            if (moves_.n_codes(place)) cost += moves_.cost(place, point[place]);
        return cost;
    }
    // The only class that remains at a point, or -1.
    std::int64_t alone_at(const std::vector<std::int32_t>& point) {
        move_to(point);
        leaves_.clear();
        for (std::size_t tree = 0; tree < forest_.n_trees; ++tree) {
            const TreeView view = forest_.tree(tree);
            leaves_.push_back(leaf_number(view, leaf_of(view, codes_.data())));
        }
        const auto label = static_cast<std::int64_t>((*moves_.alone)(leaves_));
        return moves_.wanted >= 0 && label != moves_.wanted ? -1 : label;
    }

private:
    const ForestView& forest_;
    const Moves& moves_;
    std::vector<Code> codes_;
    std::vector<std::int32_t> place_of_, start_;
    std::vector<std::uint32_t> own_;  // the leaf of the row in each tree
    std::vector<double> leaves_;
};

}  // namespace hedgerow
