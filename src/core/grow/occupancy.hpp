// Occupancy: the rows of a small node -> the bins of a feature that they occupy, found without a scan of empty bins.
#pragma once
#include <array>
#include <bit>
#include <cstdint>

namespace hedgerow {

// One bit for each code, and one for each word of 64 codes, so that a few rows in 65,536 bins are found quickly.
template <class Code>
class Occupancy {
public:
    void mark(Code code) {
        words_[code >> 6] |= std::uint64_t{1} << (code & 63);
        if constexpr (sizeof(Code) > 1) summary_[code >> 12] |= std::uint64_t{1} << ((code >> 6) & 63);
    }
    // Visits the marked codes in ascending order and unmarks them. Codes are below n_bins, or missing.
    template <class Visit>
    void drain(std::uint32_t n_bins, Visit&& visit) {
        if constexpr (sizeof(Code) == 1) {
            for (std::uint32_t word = 0; word < n_words; ++word) drain_word(word, visit);
        } else {
            const std::uint32_t last = n_bins >> 12;
            for (std::uint32_t top = 0; top <= last; ++top) drain_summary(top, visit);
            if (last < n_summary - 1) drain_summary(n_summary - 1, visit);
        }
    }

private:
    static constexpr std::uint32_t n_words = sizeof(Code) == 1 ? 4 : 1024;
    static constexpr std::uint32_t n_summary = n_words < 64 ? 1 : n_words / 64;

    template <class Visit>
    void drain_summary(std::uint32_t top, Visit& visit) {
        for (std::uint64_t bits = summary_[top]; bits != 0; bits &= bits - 1)
            drain_word(top * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)), visit);
        summary_[top] = 0;
    }
    template <class Visit>
    void drain_word(std::uint32_t word, Visit& visit) {
        for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1)
            visit(static_cast<Code>(word * 64 + std::countr_zero(bits)));
        words_[word] = 0;
    }

    std::array<std::uint64_t, n_words> words_{};
    std::array<std::uint64_t, n_summary> summary_{};
};

}  // namespace hedgerow
