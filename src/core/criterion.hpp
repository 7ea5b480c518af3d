// Criterion: class counts of one side of a split -> its quality, higher is purer.
//
// A criterion is a function of one class's count, summed over classes in exact integers (so the order of
// rows, bins, threads or machines cannot matter), and a quality of that sum and the side's total:
//     quality(Σ_k contribution(n_k), n).
// The gain of a split is quality(left) + quality(right) − quality(node), divided by the rows of the tree.
#pragma once
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

namespace hedgerow {

#if defined(__SIZEOF_INT128__)
__extension__ using WideInteger = __int128;
#else
using WideInteger = long double;  // exact to 64 bits, which squares of ordinary weights stay below
#endif

// n·(1 − Gini impurity) = Σ n_k² / n.
struct Gini {
    static constexpr bool needs_gain = false;  // a split without gain may still pay off further down

    static std::int64_t contribution(std::uint32_t count) { return std::int64_t{count} * count; }
    static WideInteger contribution(std::int64_t weight) { return WideInteger(weight) * weight; }

    template <class Sum, class Amount>
    static double quality(Sum sum, Amount total) {
        return total == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(total);
    }
    // What two pure sides are worth together: no split can beat it.
    static double perfect(std::int64_t total) { return static_cast<double>(total); }
};

// −n · entropy in bits = Σ n_k log₂ n_k − n log₂ n, in units of 2⁻¹⁶ bit.
class Entropy {
public:
    static constexpr bool needs_gain = false;

    Entropy() = default;
    explicit Entropy(std::size_t largest_count) {
        const std::size_t size = largest_count < table_limit ? largest_count + 1 : table_limit;
        auto table = std::make_shared<std::vector<std::int64_t>>(size);
        for (std::size_t count = 0; count < size; ++count) (*table)[count] = computed(static_cast<double>(count));
        owner_ = table;
        table_ = table->data();
        size_ = static_cast<std::int64_t>(size);
    }

    std::int64_t contribution(std::int64_t amount) const {
        return amount < size_ ? table_[amount] : computed(static_cast<double>(amount));
    }
    std::int64_t contribution(std::uint32_t count) const { return contribution(std::int64_t{count}); }

    template <class Amount>
    double quality(std::int64_t sum, Amount total) const {
        return static_cast<double>(sum - contribution(total)) * 0x1.0p-16;
    }
    static double perfect(std::int64_t) { return 0.0; }

private:
    static constexpr std::size_t table_limit = std::size_t{1} << 16;
    static std::int64_t computed(double amount) {
        return amount <= 1 ? 0 : std::llround(amount * std::log2(amount) * 65536.0);
    }

    std::shared_ptr<std::vector<std::int64_t>> owner_;
    const std::int64_t* table_ = nullptr;
    std::int64_t size_ = 0;
};

}  // namespace hedgerow
