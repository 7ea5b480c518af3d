// Stored form of the categories that go left.
//
// A subset is stored as bits, one per category, set if it goes left; or as a list of the categories of its smaller
// side, ascending, two bytes each, four to a word, the last one repeated to fill the word. The code of a node gives the
// form: 0 for bits, otherwise `is_list`, plus `lists_right` if the listed categories go right, plus their number, which
// may be 0. The form depends only on the subset: a list if it is short, otherwise bits.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hedgerow {

inline constexpr std::uint32_t is_list = 0x8000, lists_right = 0x4000;
inline constexpr std::uint32_t most_with_bits =
    255;  // up to this many categories are bits, so one-byte codes need not handle lists

inline std::uint32_t n_listed(std::uint32_t form) { return form & (lists_right - 1); }
// Number of words of the stored form.
inline std::size_t n_words_for(std::uint32_t n_categories, std::uint32_t form = 0) {
    return form == 0 ? (n_categories + 63) / 64 : (n_listed(form) + 3) / 4;
}
// Whether a list takes at most a quarter of the words of bits. Longer lists would take more time to read, and belong to
// large nodes, of which there are few.
inline bool is_short(std::uint32_t form, std::uint32_t n_categories) {
    return n_categories > most_with_bits && 4 * n_words_for(n_categories, form) <= n_words_for(n_categories);
}

inline std::uint32_t listed_at(const std::uint64_t* words, std::size_t at) {
    return words[at / 4] >> 16 * (at % 4) & 0xffff;
}

// Whether a list of n codes contains this one.
inline bool has_listed(const std::uint64_t* words, std::uint32_t n, std::uint32_t code) {
    if (n == 0) return false;
    // The last word that does not begin above the code, or the first.
    for (std::uint32_t n_words = (n + 3) / 4; n_words > 1;) {
        const std::uint32_t half = n_words / 2;
        words += (words[half] & 0xffff) <= code ? half : 0;
        n_words -= half;
    }
    // Whether one of its four codes is equal, which makes one of four parts 0.
    constexpr std::uint64_t ones = 0x0001000100010001;
    const std::uint64_t differs = *words ^ code * ones;
    return ((differs - ones) & ~differs & ones << 15) != 0;
}

inline bool goes_left(const std::uint64_t* words, std::uint32_t form, std::uint32_t code) {
    if (form == 0) [[likely]]
        return (words[code >> 6] >> (code & 63)) & 1;
    return has_listed(words, n_listed(form), code) == ((form & lists_right) == 0);
}

// The bits of a word that represent categories; a subset may have others set in its last word.
inline std::uint64_t known_bits(std::size_t word, std::uint32_t n_categories) {
    return n_categories - 64 * word >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n_categories % 64) - 1;
}

// Appends the words of a subset, given as bits. Returns its form.
inline std::uint32_t store_subset(const std::vector<std::uint64_t>& bits, std::uint32_t n_categories,
                                  std::vector<std::uint64_t>& words) {
    std::uint32_t n_left = 0;
    for (std::size_t word = 0; n_categories > most_with_bits && word < bits.size(); ++word)
        n_left += static_cast<std::uint32_t>(std::popcount(bits[word] & known_bits(word, n_categories)));
    const bool right = n_left > n_categories - n_left;
    const std::uint32_t n = right ? n_categories - n_left : n_left, form = is_list | (right ? lists_right : 0) | n;
    if (n >= lists_right || !is_short(form, n_categories)) {
        words.insert(words.end(), bits.begin(), bits.end());
        return 0;
    }
    std::size_t at = 4 * words.size();
    const std::size_t end = at + 4 * n_words_for(n_categories, form);
    words.resize(end / 4, 0);
    std::uint64_t code = 0;
    const auto list = [&] { words[at / 4] |= code << 16 * (at % 4), ++at; };
    for (std::size_t word = 0; word < bits.size(); ++word)
        for (std::uint64_t side = (right ? ~bits[word] : bits[word]) & known_bits(word, n_categories); side != 0;
             side &= side - 1) {
            code = 64 * word + static_cast<std::uint64_t>(std::countr_zero(side));
            list();
        }
    while (at < end) list();
    return form;
}

}  // namespace hedgerow
