// Splits and leaves, packed into eight bytes.
#pragma once
#include <bit>
#include <cstdint>

namespace hedgerow {

enum class NodeKind : std::uint32_t {
    threshold = 0,  // left if the code is at most the threshold; a leaf is a threshold that leads to itself
    subset = 1,     // left if the category is in a subset, stored as in subset.hpp
    multiway = 2,   // one child per category, and a last one for missing and new values
};

// Layout, low bits first: code 16, feature 17, kind 2, missing_left 1, child 28.
// The right child comes directly after the left one.
class Node {
public:
    static constexpr std::uint32_t max_feature = (1U << 17) - 1;
    static constexpr std::uint32_t max_child = (1U << 28) - 1;

    Node() = default;
    static Node from(std::uint64_t bits) { return std::bit_cast<Node>(bits); }
    // A borrowed leaf is a child without rows, and repeats the counts of the leaves of its siblings.
    static Node leaf(std::uint32_t self, bool borrowed = false) {
        return Node(0xffff, 0, NodeKind::threshold, borrowed, self);
    }
    // Codes up to `code` go left, and missing values too if `missing_left`.
    static Node split_at(std::uint32_t code, std::uint32_t feature, bool missing_left, std::uint32_t child) {
        return Node(code, feature, NodeKind::threshold, missing_left, child);
    }
    static Node split_subset(std::uint32_t form, std::uint32_t feature, bool missing_left, std::uint32_t child) {
        return Node(form, feature, NodeKind::subset, missing_left, child);
    }
    static Node split_multiway(std::uint32_t n_categories, std::uint32_t feature, std::uint32_t child) {
        return Node(n_categories, feature, NodeKind::multiway, false, child);
    }

    // The same split or leaf with its children, or itself, elsewhere.
    Node moved_to(std::uint32_t child) const {
        Node moved = *this;
        moved.rest_ = (rest_ & 15) | child << 4;
        return moved;
    }

    // The last code that goes left at a threshold, the form of a subset, or the number of categories of a multiway
    // split.
    std::uint32_t code() const { return code_; }
    std::uint32_t feature() const { return feature_ | (rest_ & 1) << 16; }
    std::uint32_t low_feature() const { return feature_; }  // the feature, if the table has at most 65,536
    NodeKind kind() const { return static_cast<NodeKind>((rest_ >> 1) & 3); }
    std::uint32_t missing_left() const { return (rest_ >> 3) & 1; }
    std::uint32_t child() const { return rest_ >> 4; }
    bool is_leaf(std::uint32_t self) const { return child() == self; }
    std::uint64_t bits() const {
        return std::uint64_t{code_} | std::uint64_t{feature_} << 16 | std::uint64_t{rest_} << 32;
    }

private:
    Node(std::uint32_t code, std::uint32_t feature, NodeKind kind, bool missing_left, std::uint32_t child)
        : code_(static_cast<std::uint16_t>(code)),
          feature_(static_cast<std::uint16_t>(feature)),
          rest_(feature >> 16 | static_cast<std::uint32_t>(kind) << 1 | std::uint32_t{missing_left} << 3 | child << 4) {
    }

    // A step of a row loads these parts one by one; shifting them out of one word took a third longer.
    std::uint16_t code_ = 0, feature_ = 0;
    std::uint32_t rest_ = 0;
};
static_assert(sizeof(Node) == 8 && std::endian::native == std::endian::little, "an array of bits() is read as nodes");

}  // namespace hedgerow
