// Counter-based random draws: functions of a key and a counter.
#pragma once
#include <cstdint>

namespace hedgerow {

// Scrambles 64 bits (the finaliser of SplitMix64).
inline std::uint64_t scramble(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

// Derives the key of a child from `key`, for trees of a forest, sides of a node, and purposes within a tree.
inline std::uint64_t derive_key(std::uint64_t key, std::uint64_t child) {
    return scramble(key + 0x9e3779b97f4a7c15ULL * (child + 1));
}

// The purpose of a key, which is part of it, so that two purposes never share draws.
enum class Purpose : std::uint64_t {
    bag = 0x626167,
    grow = 0x67726f77,
    sample = 0x73616d70,
    permute = 0x7065726d,
    group = 0x67726f7570
};

inline std::uint64_t derive_key(std::uint64_t key, Purpose purpose) {
    return derive_key(key, static_cast<std::uint64_t>(purpose));
}

// The draws of one node: draw number i is a pure function of the key of the node and i.
class Draws {
public:
    explicit Draws(std::uint64_t key) : state_(key) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15ULL;
        return scramble(state_);
    }
    // Uniform in 0 … bound-1.
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32); }
    // The same for bounds of more than 32 bits.
    std::uint64_t below_wide(std::uint64_t bound) {
        const std::uint64_t draw = next(), high = draw >> 32, low = draw & 0xffffffff;
        const std::uint64_t bound_high = bound >> 32, bound_low = bound & 0xffffffff;
        const std::uint64_t middle = high * bound_low + ((low * bound_low) >> 32);
        return high * bound_high + (middle >> 32) + ((low * bound_high + (middle & 0xffffffff)) >> 32);
    }
    // Uniform in [0, 1).
    double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
    bool coin() { return (next() >> 63) != 0; }

private:
    std::uint64_t state_;
};

}  // namespace hedgerow
