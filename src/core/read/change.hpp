// Cheapest change of the codes of a row after which one class remains.
//
// First a change is made greedily, one feature after the other. It limits the cost of the search: only leaves that can
// be entered for less are considered. Among these the search is branch and bound over boxes of codes, cheapest first.
// The cost of a box is that of its cheapest point. It is dropped once no choice of one leaf in each tree, among those
// that meet the box, lets a class dominate. The first point from the queue at which one class remains is the cheapest
// change. If too many leaves are within the limit, smaller limits are searched first.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <queue>
#include <vector>

#include "core/kit/parallel.hpp"
#include "core/read/lines.hpp"
#include "core/read/margins.hpp"
#include "core/read/moves.hpp"

namespace hedgerow {

// The cheapest change found: codes (F,), the class that remains (-1 if nothing was found), its cost, a lower bound of
// the cost of any change, and whether the search is complete.
struct Change {
    std::vector<std::int32_t> codes;
    std::int64_t label = -1;
    double cost = std::numeric_limits<double>::infinity(), bound = 0;
    bool finished = false;
};

// Boxes of codes at the places that may move, end to end: first and last codes, and a bit per category.
struct Boxes {
    std::vector<std::size_t> places, bit_start;  // the places, and where the words of each begin
    std::vector<std::int32_t> first, last;
    std::vector<std::uint64_t> bits;

    std::size_t width() const { return places.size(); }
    std::size_t n_words() const { return bit_start.back(); }
};

template <class Code>
class ChangeSearch {
public:
    ChangeSearch(const ForestView& forest, const Moves& moves, const Margins& margins, const CodeColumns<Code>& codes)
        : forest_(forest), moves_(moves), margins_(margins), row_(forest, moves, codes), extent_(margins) {}

    Change run(double seconds, Control& control) {
        end_ = Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e6)));
        if (margins_.known()) change_one_by_one();
        double most = 0;
        for (std::size_t place = 0; place < moves_.n_places(); ++place) {
            double dearest = 0;
            if (moves_.is_free(place))
                for (std::int32_t code = moves_.first[place]; code <= moves_.last[place]; ++code)
                    dearest = std::max(dearest, moves_.cost(place, code));
            most += dearest;
        }
        most = most * (1 + 1e-9) + 1e-9;  // an upper bound on the cost of any change
        double limit = most;
        for (std::size_t room = first_room;;) {
            limit = std::min(limit, best_.cost);
            if (!collect(limit, room)) {
                if (room >= most_leaves || Clock::now() > end_) return best_;
                if (limit / 4 > best_.bound) limit /= 4;
                else room *= 4;
                continue;
            }
            if (!search(limit, control)) return best_;
            best_.bound = std::min(limit, best_.cost);
            if (best_.bound >= best_.cost || limit >= most) {
                best_.finished = true;
                return best_;
            }
            limit = std::min(most, limit * 4);
        }
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr int greedy_steps = 6;
    // Largest number of leaves in the first round and in any round, and of entries of lists of leaves in the queue.
    static constexpr std::size_t first_room = 1 << 14, most_leaves = 1 << 18, most_entries = 1 << 25;

    struct Leaf {
        std::uint32_t tree, content;
    };
    struct Box {
        double cost;
        std::uint64_t number;
        std::vector<std::int32_t> first, last;  // by active place
        std::vector<std::uint64_t> bits;
        std::vector<std::uint32_t> alive;  // the leaves that meet it, in the order of trees
        bool tried;                        // at its cheapest point, several classes remain
    };
    struct Dearer {
        bool operator()(const Box* a, const Box* b) const {
            return a->cost != b->cost ? a->cost > b->cost : a->number > b->number;
        }
    };

    // ---- greedy change -----------------------------------------------------------------------------------

    // Makes the best change of one feature until a class remains alone.
    void change_one_by_one() {
        std::vector<std::int32_t> point = row_.start();
        Lines<Code> lines(forest_, moves_, margins_);
        for (int step = 0; step < greedy_steps; ++step) {
            std::vector<typename Lines<Code>::Spot> spots = lines.around(row_, point);
            if (spots.empty()) return;
            const auto furthest = *std::max_element(spots.begin(), spots.end(),
                                                    [](const auto& a, const auto& b) { return a.hope < b.hope; });
            std::erase_if(spots, [](const auto& spot) { return spot.hope <= 0; });
            std::stable_sort(spots.begin(), spots.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
            for (const auto& spot : spots) {
                std::vector<std::int32_t> moved = point;
                moved[spot.place] = spot.code;
                if (accept(moved)) return;
            }
            point[furthest.place] = furthest.code;
        }
    }

    bool accept(const std::vector<std::int32_t>& point) {
        const std::int64_t label = row_.alone_at(point);
        if (label < 0) return false;
        const double cost = row_.cost(point);
        if (cost < best_.cost) best_.codes = point, best_.cost = cost, best_.label = label;
        return true;
    }

    // ---- the leaves within a limit -----------------------------------------------------------------------

    struct Pending {
        std::uint32_t node;
        std::size_t level, active;
        std::int32_t first, last;
        std::vector<std::uint64_t> bits;
    };

    // Collects the leaves that the row can enter for less than the limit, with their boxes; false if there are too
    // many.
    bool collect(double limit, std::size_t room) {
        choose_active(limit);
        leaves_.clear();
        boxes_.first.clear(), boxes_.last.clear(), boxes_.bits.clear();
        for (std::size_t tree = 0; tree < forest_.n_trees; ++tree) {
            collect_tree(tree, limit, room);
            if (leaves_.size() > room) return false;
        }
        return true;
    }

    void choose_active(double limit) {
        boxes_.places.clear();
        boxes_.bit_start.assign(1, 0);
        active_of_.assign(moves_.n_places(), -1);
        root_ = Box{0, 0, {}, {}, {}, {}, false};
        for (std::size_t place = 0; place < moves_.n_places(); ++place) {
            if (!moves_.is_free(place)) continue;
            const std::int32_t start = row_.start()[place];
            std::int32_t first = start, last = start;
            while (first > moves_.first[place] && moves_.cost(place, first - 1) < limit) --first;
            while (last < moves_.last[place] && moves_.cost(place, last + 1) < limit) ++last;
            if (first == last) continue;
            active_of_[place] = static_cast<std::int32_t>(boxes_.places.size());
            boxes_.places.push_back(place);
            const std::size_t words = moves_.nominal[place] ? moves_.n_codes(place) / 64 + 1 : 0;
            boxes_.bit_start.push_back(boxes_.bit_start.back() + words);
            root_.first.push_back(first), root_.last.push_back(last);
            root_.bits.resize(boxes_.n_words(), 0);
            if (words)
                for (std::int32_t code = first; code <= last; ++code)
                    set_bit(root_.bits.data() + boxes_.bit_start[boxes_.width() - 1], code);
        }
    }

    void collect_tree(std::size_t tree, double limit, std::size_t room) {
        const TreeView view = forest_.tree(tree);
        row_.move_to(row_.start());
        Box now = root_;
        std::vector<double> costs(boxes_.width());
        for (std::size_t i = 0; i < costs.size(); ++i)
            costs[i] = cell_cost(i, now.first[i], now.last[i], words_of(now.bits, i));
        std::vector<Pending> waiting, undo;
        waiting.push_back({0, 0, none, 0, 0, {}});
        while (!waiting.empty() && leaves_.size() <= room) {
            Pending next = std::move(waiting.back());
            waiting.pop_back();
            for (; undo.size() > next.level; undo.pop_back()) put(now, costs, undo.back());
            std::size_t level = next.level;
            if (next.active != none) {
                undo.push_back(taken(now, next.active));
                put(now, costs, next);
                ++level;
                double cost = 0;
                for (const double each : costs) cost += each;
                if (cost >= limit) continue;
            }
            std::uint32_t at = next.node;
            while (!is_leaf(view, at) &&
                   active_of_[static_cast<std::size_t>(row_.place_of(split_feature(view, at)))] < 0)
                at = next_node(view, at, row_.codes());
            if (is_leaf(view, at)) {
                if (row_.may_enter(tree, view, at)) keep(tree, view, at, now);
            } else {
                divide(view, at, now, level, waiting);
            }
        }
    }

    void keep(std::size_t tree, const TreeView& view, std::uint32_t at, const Box& box) {
        leaves_.push_back({static_cast<std::uint32_t>(tree), row_.content(tree, view, at)});
        boxes_.first.insert(boxes_.first.end(), box.first.begin(), box.first.end());
        boxes_.last.insert(boxes_.last.end(), box.last.begin(), box.last.end());
        boxes_.bits.insert(boxes_.bits.end(), box.bits.begin(), box.bits.end());
    }

    // The children of a node that meet the box.
    void divide(const TreeView& view, std::uint32_t at, const Box& box, std::size_t level,
                std::vector<Pending>& waiting) {
        const Node& node = view.nodes[at];
        const auto active =
            static_cast<std::size_t>(active_of_[static_cast<std::size_t>(row_.place_of(node.feature()))]);
        const std::int32_t first = box.first[active], last = box.last[active];
        if (!is_nominal(active)) {
            const auto edge = static_cast<std::int32_t>(node.code());
            if (last > edge) waiting.push_back({node.child() + 1, level, active, std::max(first, edge + 1), last, {}});
            if (first <= edge) waiting.push_back({node.child(), level, active, first, std::min(last, edge), {}});
            return;
        }
        const std::size_t before = waiting.size();
        const std::size_t words = boxes_.bit_start[active + 1] - boxes_.bit_start[active];
        for (std::int32_t code = first; code <= last; ++code) {
            if (!has_bit(words_of(box.bits, active), code)) continue;
            const std::uint32_t child = child_for<Ready::for_all>(view, at, static_cast<Code>(code));
            auto found = std::find_if(waiting.begin() + static_cast<std::ptrdiff_t>(before), waiting.end(),
                                      [&](const Pending& each) { return each.node == child; });
            if (found == waiting.end()) {
                waiting.push_back({child, level, active, first, last, std::vector<std::uint64_t>(words, 0)});
                found = waiting.end() - 1;
            }
            set_bit(found->bits.data(), code);
        }
    }

    Pending taken(const Box& box, std::size_t active) const {
        const auto begin = box.bits.begin() + static_cast<std::ptrdiff_t>(boxes_.bit_start[active]);
        const auto end = box.bits.begin() + static_cast<std::ptrdiff_t>(boxes_.bit_start[active + 1]);
        return {0, 0, active, box.first[active], box.last[active], {begin, end}};
    }
    void put(Box& box, std::vector<double>& costs, const Pending& part) const {
        box.first[part.active] = part.first, box.last[part.active] = part.last;
        std::copy(part.bits.begin(), part.bits.end(),
                  box.bits.begin() + static_cast<std::ptrdiff_t>(boxes_.bit_start[part.active]));
        costs[part.active] = cell_cost(part.active, part.first, part.last, words_of(box.bits, part.active));
    }

    // ---- boxes -------------------------------------------------------------------------------------------

    static bool has_bit(const std::uint64_t* words, std::int32_t code) { return (words[code >> 6] >> (code & 63)) & 1; }
    static void set_bit(std::uint64_t* words, std::int32_t code) {
        words[code >> 6] |= std::uint64_t{1} << (code & 63);
    }
    bool is_nominal(std::size_t active) const { return boxes_.bit_start[active] != boxes_.bit_start[active + 1]; }
    const std::uint64_t* words_of(const std::vector<std::uint64_t>& bits, std::size_t active) const {
        return bits.data() + boxes_.bit_start[active];
    }
    std::int32_t start(std::size_t active) const { return row_.start()[boxes_.places[active]]; }
    std::int32_t first_of(std::uint32_t leaf, std::size_t active) const {
        return boxes_.first[leaf * boxes_.width() + active];
    }
    std::int32_t last_of(std::uint32_t leaf, std::size_t active) const {
        return boxes_.last[leaf * boxes_.width() + active];
    }
    const std::uint64_t* words_of(std::uint32_t leaf, std::size_t active) const {
        return boxes_.bits.data() + leaf * boxes_.n_words() + boxes_.bit_start[active];
    }

    // The cost of the cheapest of some codes.
    double cell_cost(std::size_t active, std::int32_t first, std::int32_t last, const std::uint64_t* words) const {
        if (is_nominal(active)) return has_bit(words, start(active)) ? 0.0 : 1.0;
        return moves_.cost(boxes_.places[active], std::clamp(start(active), first, std::max(first, last)));
    }
    // Whether the cheapest point in a leaf and in the box costs less than the limit.
    bool within(std::uint32_t leaf, const Box& box, double limit) const {
        double cost = 0;
        for (std::size_t i = 0; i < boxes_.width(); ++i) {
            if (is_nominal(i))
                cost += has_bit(words_of(leaf, i), start(i)) && has_bit(words_of(box.bits, i), start(i)) ? 0.0 : 1.0;
            else
                cost += cell_cost(i, std::max(first_of(leaf, i), box.first[i]), std::min(last_of(leaf, i), box.last[i]),
                                  nullptr);
        }
        return cost < limit;
    }
    bool meets(std::uint32_t leaf, const Box& box, std::size_t active) const {
        if (!is_nominal(active))
            return first_of(leaf, active) <= box.last[active] && last_of(leaf, active) >= box.first[active];
        const std::uint64_t *a = words_of(leaf, active), *b = words_of(box.bits, active);
        for (std::size_t i = 0; i < boxes_.bit_start[active + 1] - boxes_.bit_start[active]; ++i)
            if (a[i] & b[i]) return true;
        return false;
    }
    bool holds(std::uint32_t leaf, std::size_t active, std::int32_t code) const {
        if (is_nominal(active)) return has_bit(words_of(leaf, active), code);
        return first_of(leaf, active) <= code && code <= last_of(leaf, active);
    }
    bool holds(std::uint32_t leaf, const std::vector<std::int32_t>& point) const {
        for (std::size_t i = 0; i < point.size(); ++i)
            if (!holds(leaf, i, point[i])) return false;
        return true;
    }
    // The point of a box nearest to the row, at the active places.
    std::vector<std::int32_t> cheapest(const Box& box) const {
        std::vector<std::int32_t> point(boxes_.width());
        for (std::size_t i = 0; i < point.size(); ++i) {
            point[i] = std::clamp(start(i), box.first[i], box.last[i]);
            if (!is_nominal(i) || has_bit(words_of(box.bits, i), point[i])) continue;
            point[i] = 0;
            while (!has_bit(words_of(box.bits, i), point[i])) ++point[i];
        }
        return point;
    }
    std::vector<std::int32_t> whole(const std::vector<std::int32_t>& point) const {
        std::vector<std::int32_t> all = row_.start();
        for (std::size_t i = 0; i < point.size(); ++i) all[boxes_.places[i]] = point[i];
        return all;
    }

    // ---- the search --------------------------------------------------------------------------------------

    // Searches all boxes within the limit until the first that cannot beat the best. Returns whether it is complete.
    bool search(double limit, Control& control) {
        std::priority_queue<Box*, std::vector<Box*>, Dearer> queue;
        std::vector<std::unique_ptr<Box>> owned;
        std::size_t n_entries = leaves_.size();
        root_.alive.resize(leaves_.size());
        for (std::size_t i = 0; i < leaves_.size(); ++i) root_.alive[i] = static_cast<std::uint32_t>(i);
        owned.push_back(std::make_unique<Box>(root_));
        owned.back()->number = 0;
        queue.push(owned.back().get());
        std::uint64_t made = 0;
        while (!queue.empty()) {
            Box* const box = queue.top();
            if (box->cost >= std::min(limit, best_.cost)) return true;
            best_.bound = std::max(best_.bound, box->cost);
            control.tick(true);
            if (n_entries > most_entries || Clock::now() > end_) return false;
            queue.pop();
            for (Box& child : explore(*box, std::min(limit, best_.cost))) {
                n_entries += child.alive.size();
                child.number = ++made;
                owned.push_back(std::make_unique<Box>(std::move(child)));
                queue.push(owned.back().get());
            }
            n_entries -= box->alive.size();
            *box = Box{};
        }
        return true;
    }

    // Returns nothing if the box can be dropped or is done, otherwise the two boxes into which it is cut.
    std::vector<Box> explore(Box& box, double limit) {
        std::erase_if(box.alive, [&](std::uint32_t leaf) { return !within(leaf, box, limit); });
        if (!find_starts(box.alive)) return {};
        const std::vector<std::int32_t> point = cheapest(box);
        bool there = true;
        for (std::size_t tree = 0; tree < forest_.n_trees; ++tree) {
            where_[tree] = nowhere;
            for (std::size_t i = starts_[tree]; i < starts_[tree + 1] && where_[tree] == nowhere; ++i)
                if (holds(box.alive[i], point)) where_[tree] = i;
            there = there && where_[tree] != nowhere;
        }
        if (there && !box.tried && may_decide(box) && accept(whole(point))) return {};
        if (box.alive.size() == forest_.n_trees) return {};
        const std::size_t leaf = leaf_to_separate(box, there);
        return leaf == nowhere ? std::vector<Box>{} : cut(box, point, box.alive[leaf], limit);
    }

    // Where the leaves of each tree begin; false if a tree has none.
    bool find_starts(const std::vector<std::uint32_t>& alive) {
        starts_.assign(1, 0), where_.resize(forest_.n_trees);
        std::size_t at = 0;
        for (std::size_t tree = 0; tree < forest_.n_trees; ++tree) {
            while (at < alive.size() && leaves_[alive[at]].tree == tree) ++at;
            if (at == starts_.back()) return false;
            starts_.push_back(at);
        }
        return true;
    }

    std::uint32_t content(const Box& box, std::size_t at) const { return leaves_[box.alive[at]].content; }

    // Whether a class may remain alone at the point, according to the margins.
    bool may_decide(const Box& box) {
        if (!margins_.known()) return true;
        extent_.clear();
        for (std::size_t tree = 0; tree < forest_.n_trees; ++tree)
            extent_.add(tree, 1, [&](std::size_t) { return content(box, where_[tree]); });
        return margins_.best(extent_.most(), moves_.wanted).second > 0;
    }

    // The most promising leaf that does not contain the point; nowhere if no class can remain alone in the box.
    std::size_t leaf_to_separate(const Box& box, bool there) {
        if (!margins_.known()) return another_leaf(box);
        extent_.clear();
        for (std::size_t tree = 0; tree < forest_.n_trees; ++tree)
            extent_.add(tree, starts_[tree + 1] - starts_[tree],
                        [&](std::size_t i) { return content(box, starts_[tree] + i); });
        const auto [label, hope] = margins_.best(extent_.most(), moves_.wanted);
        if (hope <= 0) return nowhere;
        const std::size_t rival = closest_rival(box, label);
        double gain = -std::numeric_limits<double>::infinity();
        std::size_t found = nowhere;
        for (std::size_t tree = 0; tree < forest_.n_trees; ++tree) {
            const double share = margins_.tree_share(tree);
            const double at_point =
                where_[tree] == nowhere ? -1e3 : share * margins_.added(content(box, where_[tree]), label, rival);
            for (std::size_t i = starts_[tree]; i < starts_[tree + 1]; ++i) {
                const double more = share * margins_.added(content(box, i), label, rival) - at_point;
                if (more > gain) gain = more, found = i;
            }
        }
        // A tie up to rounding: no other leaf is better.
        return there && found == where_[leaves_[box.alive[found]].tree] ? another_leaf(box) : found;
    }

    // The class against which the label has the smallest margin at the point.
    std::size_t closest_rival(const Box& box, std::size_t label) const {
        std::size_t rival = label;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t other = 0; other < margins_.n_classes(); ++other) {
            if (other == label) continue;
            double margin = 0;
            for (std::size_t tree = 0; tree < forest_.n_trees; ++tree)
                margin += where_[tree] == nowhere
                              ? -1e3
                              : margins_.tree_share(tree) * margins_.added(content(box, where_[tree]), label, other);
            if (margin < least) least = margin, rival = other;
        }
        return rival;
    }

    // Any leaf that does not contain the point.
    std::size_t another_leaf(const Box& box) const {
        for (std::size_t i = 0, tree = 0; i < box.alive.size(); ++i) {
            while (i >= starts_[tree + 1]) ++tree;
            if (where_[tree] != i && (where_[tree] == nowhere || starts_[tree + 1] - starts_[tree] > 1)) return i;
        }
        return nowhere;
    }

    // Cuts a box at the boundary of a leaf that does not contain its cheapest point, in the feature where that costs
    // most.
    std::vector<Box> cut(const Box& box, const std::vector<std::int32_t>& point, std::uint32_t leaf,
                         double limit) const {
        std::size_t at = none;
        double dearest = -1;
        for (std::size_t i = 0; i < point.size(); ++i) {
            if (holds(leaf, i, point[i])) continue;
            const double extra = is_nominal(i) ? 1.0
                                               : moves_.cost(boxes_.places[i],
                                                             std::clamp(point[i], first_of(leaf, i), last_of(leaf, i)));
            if (extra > dearest) dearest = extra, at = i;
        }
        std::vector<Box> children;
        for (const bool with_leaf : {true, false}) {
            Box side{0, 0, box.first, box.last, box.bits, {}, !with_leaf};
            if (is_nominal(at)) {
                for (std::size_t word = boxes_.bit_start[at]; word < boxes_.bit_start[at + 1]; ++word) {
                    const std::uint64_t inside = words_of(leaf, at)[word - boxes_.bit_start[at]];
                    side.bits[word] &= with_leaf ? inside : ~inside;
                }
            } else if ((point[at] < first_of(leaf, at)) == with_leaf) {
                side.first[at] = with_leaf ? first_of(leaf, at) : last_of(leaf, at) + 1;
            } else {
                side.last[at] = with_leaf ? last_of(leaf, at) : first_of(leaf, at) - 1;
            }
            side.cost = row_.cost(whole(cheapest(side)));
            if (side.cost >= limit) continue;
            for (const std::uint32_t each : box.alive)
                if (meets(each, side, at)) side.alive.push_back(each);
            children.push_back(std::move(side));
        }
        return children;
    }

    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max(), nowhere = none;

    const ForestView& forest_;
    const Moves& moves_;
    const Margins& margins_;
    MovingRow<Code> row_;
    Extent extent_;
    Change best_;
    Clock::time_point end_;
    std::vector<Leaf> leaves_;
    Boxes boxes_;  // those of the leaves
    Box root_;
    std::vector<std::int32_t> active_of_;  // index of each place among the active ones, or -1
    std::vector<std::size_t> starts_, where_;
};

// The cheapest change of one row, found in at most `seconds`.
template <class Code>
Change smallest_change(const ForestView& forest, const NamedValues& given, const CodeColumns<Code>& row, double seconds,
                       Control& control) {
    const Moves moves = Moves::from(given);
    const Margins margins = Margins::from(given);
    Change found;
    run_tasks(1, 1, control, [&](std::size_t, std::size_t) {
        found = ChangeSearch<Code>(forest, moves, margins, row).run(seconds, control);
    });
    return found;
}

}  // namespace hedgerow
