// Margins at all points that differ from a point in one feature, in one walk through each tree.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/read/margins.hpp"
#include "core/read/moves.hpp"

namespace hedgerow {

template <class Code>
class Lines {
public:
    struct Spot {
        std::size_t place;
        std::int32_t code;
        double hope, cost;  // the margin of a class there, and the cost of the move from the row
    };

    Lines(const ForestView& forest, const Moves& moves, const Margins& margins)
        : forest_(forest), moves_(moves), margins_(margins) {
        std::size_t n = 0;
        for (std::size_t place = 0; place < moves.n_places(); ++place) {
            start_.push_back(n);
            n += moves.n_codes(place) + 1;
        }
        start_.push_back(n);
    }

    // All points that differ from the point in one feature and lie in leaves that the row may enter.
    const std::vector<Spot>& around(MovingRow<Code>& row, const std::vector<std::int32_t>& point) {
        row.move_to(point);
        sums_.assign(start_.back() * margins_.width(), 0.0);
        barred_.assign(start_.back(), 0);
        for (std::size_t tree = 0; tree < forest_.n_trees; ++tree) walk(tree, row, point);
        collect(row, point);
        return found_;
    }

private:
    // A path that leaves that of the point in one feature: at codes first, …, last, or at some categories.
    struct Side {
        std::uint32_t node;
        std::size_t place;
        std::int32_t first, last;
        std::vector<std::int32_t> categories;
    };

    void walk(std::size_t tree, const MovingRow<Code>& row, const std::vector<std::int32_t>& point) {
        const TreeView view = forest_.tree(tree);
        first_.assign(moves_.first, moves_.first + point.size());
        last_.assign(moves_.last, moves_.last + point.size());
        staying_.resize(point.size());
        for (std::size_t place = 0; place < point.size(); ++place) {
            staying_[place].clear();
            if (moves_.nominal[place] && moves_.is_free(place))
                for (std::int32_t code = first_[place]; code <= last_[place]; ++code) staying_[place].push_back(code);
        }
        std::uint32_t at = 0;
        while (!is_leaf(view, at)) {
            const auto place = static_cast<std::size_t>(row.place_of(split_feature(view, at)));
            const std::uint32_t next = next_node(view, at, row.codes());
            if (moves_.is_free(place)) {
                Side side{at, place, first_[place], last_[place], std::move(staying_[place])};
                part(view, side, [&](Side&& one) {
                    if (one.node != next) sides_.push_back(std::move(one));
                    else
                        first_[place] = one.first, last_[place] = one.last, staying_[place] = std::move(one.categories);
                });
                while (!sides_.empty()) follow(tree, view, row);
            }
            at = next;
        }
        for (std::size_t place = 0; place < point.size(); ++place)
            if (moves_.is_free(place)) add(tree, view, row, {at, place, first_[place], last_[place], staying_[place]});
    }

    // Follows one side down to the next node on its own feature, or to a leaf.
    void follow(std::size_t tree, const TreeView& view, const MovingRow<Code>& row) {
        Side side = std::move(sides_.back());
        sides_.pop_back();
        while (!is_leaf(view, side.node) &&
               static_cast<std::size_t>(row.place_of(split_feature(view, side.node))) != side.place)
            side.node = next_node(view, side.node, row.codes());
        if (is_leaf(view, side.node)) add(tree, view, row, side);
        else part(view, side, [&](Side&& one) { sides_.push_back(std::move(one)); });
    }

    // Divides the codes of a side among the children of its node.
    template <class Take>
    void part(const TreeView& view, Side& side, Take&& take) {
        const Node& node = view.nodes[side.node];
        if (!moves_.nominal[side.place]) {
            const auto edge = static_cast<std::int32_t>(node.code());
            if (side.first <= edge) take(Side{node.child(), side.place, side.first, std::min(side.last, edge), {}});
            if (side.last > edge)
                take(Side{node.child() + 1, side.place, std::max(side.first, edge + 1), side.last, {}});
            return;
        }
        const auto child = [&](std::int32_t code) {
            return child_for<Ready::for_all>(view, side.node, static_cast<Code>(code));
        };
        std::stable_sort(side.categories.begin(), side.categories.end(),
                         [&](std::int32_t a, std::int32_t b) { return child(a) < child(b); });
        for (auto from = side.categories.begin(); from != side.categories.end();) {
            const auto to = std::find_if(from, side.categories.end(),
                                         [&](std::int32_t code) { return child(code) != child(*from); });
            take(Side{child(*from), side.place, side.first, side.last, {from, to}});
            from = to;
        }
    }

    void add(std::size_t tree, const TreeView& view, const MovingRow<Code>& row, const Side& side) {
        if (!moves_.nominal[side.place]) return add_codes(tree, view, row, side, side.first, side.last);
        for (const std::int32_t code : side.categories) add_codes(tree, view, row, side, code, code);
    }
    // Sums are stored as differences between adjacent codes.
    void add_codes(std::size_t tree, const TreeView& view, const MovingRow<Code>& row, const Side& side,
                   std::int32_t first, std::int32_t last) {
        const std::size_t from = start_[side.place] + static_cast<std::size_t>(first);
        const std::size_t to = start_[side.place] + static_cast<std::size_t>(last) + 1, width = margins_.width();
        const double* values = margins_.values(row.content(tree, view, side.node));
        const double share = margins_.tree_share(tree);
        for (std::size_t k = 0; k < width; ++k) {
            sums_[from * width + k] += share * values[k];
            sums_[to * width + k] -= share * values[k];
        }
        if (!row.may_enter(tree, view, side.node)) ++barred_[from], --barred_[to];
    }

    void collect(const MovingRow<Code>& row, const std::vector<std::int32_t>& point) {
        const double cost = row.cost(point);
        std::vector<double> sums(margins_.width()), there(margins_.n_classes() * margins_.n_classes());
        found_.clear();
        for (std::size_t place = 0; place < point.size(); ++place) {
            if (!moves_.is_free(place)) continue;
            std::fill(sums.begin(), sums.end(), 0.0);
            int barred = 0;
            for (std::int32_t code = 0; code <= moves_.last[place]; ++code) {
                const std::size_t at = start_[place] + static_cast<std::size_t>(code);
                for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += sums_[at * sums.size() + k];
                barred += barred_[at];
                if (barred || code < moves_.first[place] || code == point[place]) continue;
                margins_.most(sums.data(), sums.data(), there.data());
                const double moved = cost - moves_.cost(place, point[place]) + moves_.cost(place, code);
                found_.push_back({place, code, margins_.best(there.data(), moves_.wanted).second, moved});
            }
        }
    }

    const ForestView& forest_;
    const Moves& moves_;
    const Margins& margins_;
    std::vector<std::size_t> start_;  // where the codes of each place begin
    std::vector<double> sums_;
    std::vector<int> barred_;
    std::vector<std::int32_t> first_, last_;
    std::vector<std::vector<std::int32_t>> staying_;
    std::vector<Side> sides_;
    std::vector<Spot> found_;
};

}  // namespace hedgerow
