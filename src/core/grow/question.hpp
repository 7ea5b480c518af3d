// Split of a node from sums over the parts of a table, or the features to sum first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/grow/frame.hpp"
#include "core/grow/options.hpp"
#include "core/kit/named_values.hpp"
#include "core/read/node.hpp"
#include "core/read/subset.hpp"
#include "core/rows/codes.hpp"

namespace hedgerow {

// A node that waits for its split. Cells are those of histogram.hpp; the last one is the number of rows.
struct Question {
    Heritage node;
    SplitRules rules;                    // of its tree
    const UsedFeatures* used = nullptr;  // of its tree
    std::vector<double> totals;          // of its rows, by cell
    std::vector<double> first;           // in a regression, amount and sum of its first row
    // The bins of each feature, that of missing values last, with as many cells as `totals`; null if not summed yet.
    std::vector<const double*> bins;
    std::uint32_t n_rows() const { return static_cast<std::uint32_t>(totals.back()); }
};

// The split of a node, as a tree stores it.
struct NodeSplit {
    NodeKind kind = NodeKind::threshold;
    std::uint32_t feature = 0, code = 0;  // the code of a subset is its form
    bool missing_left = false;
    std::vector<std::uint64_t> words;  // of a subset

    Node as_node(std::uint32_t child) const {
        if (kind == NodeKind::threshold) return Node::split_at(code, feature, missing_left, child);
        if (kind == NodeKind::subset) return Node::split_subset(code, feature, missing_left, child);
        return Node::split_multiway(code, feature, child);
    }
    std::uint32_t n_children(std::uint32_t n_bins) const { return kind == NodeKind::multiway ? n_bins + 1 : 2; }
    // The child to which a bin goes; missing values come last.
    std::uint32_t side_of(std::uint32_t bin, std::uint32_t n_bins) const {
        if (kind == NodeKind::multiway) return bin;
        if (bin == n_bins) return !missing_left;
        return kind == NodeKind::threshold ? bin > code : !goes_left(words.data(), code, bin);
    }
};

// A split, or the features to sum before the next call; neither if the node is a leaf.
struct Answer {
    std::optional<NodeSplit> split;
    std::vector<std::uint32_t> needed;
};

class AnySumSearch {
public:
    virtual ~AnySumSearch() = default;
    // `spare`: number of features to request beyond those that the node needs if all of them vary.
    virtual Answer choose(const Question& question, std::uint32_t spare) = 0;
    // From the cells of a node: their number, the weight of its rows, whether all labels are equal (unless this needs a
    // question), and the share of the last class or the place of the mean.
    virtual std::size_t n_cells() const = 0;
    virtual std::int64_t amount_of(const std::vector<double>& cells) const = 0;
    virtual bool is_pure(const std::vector<double>& cells) const = 0;
    virtual double share_of(const std::vector<double>& cells) const = 0;
};

// The search for a target; compiled in growers.cpp.
std::unique_ptr<AnySumSearch> sum_search_for(const NamedValues& target, const std::vector<Feature>& features,
                                             const GrowOptions& options, std::size_t n_rows);

}  // namespace hedgerow
