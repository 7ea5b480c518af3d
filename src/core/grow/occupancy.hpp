// Occupied bins of a feature in a small node, found without scanning empty bins.
#pragma once
#include <array>
#include <bit>
#include <cstdint>

namespace hedgerow {

// One bit per code, and one per word of 64 codes, so that a few rows in 65,536 bins are found quickly.
class Occupancy {
public:
    // wide: whether codes have two bytes. The four words of one-byte codes need no summary.
    explicit Occupancy(bool wide) : wide_(wide) {}

    template <class Code>
    void mark(Code code) {
        words_[code >> 6] |= std::uint64_t{1} << (code & 63);
        if constexpr (sizeof(Code) > 1) summary_[code >> 12] |= std::uint64_t{1} << ((code >> 6) & 63);
    }
    // Visits the marked codes in ascending order and unmarks them. Codes are below n_bins, or missing.
    template <class Visit>
    void drain(std::uint32_t n_bins, Visit&& visit) {
        if (!wide_) summary_[0] = 0xf;
        const std::uint32_t last = n_bins >> 12;
        for (std::uint32_t top = 0;; top = top == last ? n_summary - 1 : top + 1) {
            for (std::uint64_t words = summary_[top]; words != 0; words &= words - 1) {
                const std::uint32_t word = top * 64 + static_cast<std::uint32_t>(std::countr_zero(words));
                for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1)
                    visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
                words_[word] = 0;
            }
            summary_[top] = 0;
            if (!wide_ || top == n_summary - 1) break;
        }
    }

private:
    static constexpr std::uint32_t n_words = 1024, n_summary = n_words / 64;

    bool wide_;
    std::array<std::uint64_t, n_summary> summary_{};
    std::array<std::uint64_t, n_words> words_{};
};

}  // namespace hedgerow
