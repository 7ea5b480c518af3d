// Targets: labels or numbers, and the name of a criterion -> the target that suits both.
//
// This is the only list of targets: a new one is a struct, and a line or two here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/kit/named.hpp"
#include "core/targets/classes.hpp"
#include "core/targets/criterion.hpp"
#include "core/targets/numbers.hpp"
#include "core/targets/several.hpp"

namespace hedgerow {

// Calls `visit` with the target of a criterion that suits the labels, and with the labels.
template <class Criterion, class Visit>
auto with_class_target(const Labels& labels, const Criterion& criterion, Visit&& visit) {
    const std::uint32_t n_classes = labels.n_classes;
    // Criteria that need all counts of a side together have one general target.
    if constexpr (!Criterion::whole_side) {
        if (!labels.weighted && n_classes <= 2) return visit(ClassPair<Criterion>(criterion, n_classes), labels);
        if (!labels.weighted && n_classes <= 8) return visit(ClassVector<Criterion, CountedRow, 8>(criterion, n_classes), labels);
        if (labels.weighted && n_classes <= 2) return visit(ClassVector<Criterion, WeightedRow, 2>(criterion, n_classes), labels);
    }
    if (labels.weighted) return visit(ClassList<Criterion, WeightedRow>(criterion, n_classes), labels);
    return visit(ClassList<Criterion, CountedRow>(criterion, n_classes), labels);
}

// Tables of counts are made for up to `n_rows`. Caution is in rows, and amounts are multiples of the unit of weights.
template <class Visit>
auto with_criterion(const Labels& labels, const Given& given, std::size_t n_rows, Visit&& visit) {
    const std::string& name = given.word("criterion");
    const std::size_t n_classes = labels.n_classes;
    const double unit = labels.weight_unit, caution = given.number<double>("caution") / unit;
    const double lam = given.number<double>("lam"), quantile = given.number<double>("quantile");
    const auto by = [&](const auto& criterion) { return with_class_target(labels, criterion, visit); };
    const bool ordered = given.number<bool>("ordered"), by_ratio = given.number<bool>("by_ratio");
    const auto by_side = [&](const OutsideFunction& uncertainty) {
        const auto in_rows = [uncertainty, unit](const WholeSide::Counts& counts) {
            std::vector<double> rows(counts.begin(), counts.end());
            for (double& amount : rows) amount *= unit;
            return uncertainty(rows);
        };
        return by(WholeSide(in_rows, ordered, by_ratio));
    };
    if (name == "gini") return by(Gini{});
    if (name == "entropy") return by(Logarithmic::entropy(n_rows));
    if (name == "belief") return by(Logarithmic::belief(n_rows, labels.n_classes, lam, caution));
    if (name == "imprecise") {  // lam: the share of the largest entropy, the rest is that of the smallest
        const auto entropy = [=](const WholeSide::Counts& counts) {
            const double upper = upper_entropy(counts, n_classes, caution);
            return lam == 1 ? upper : lam * upper + (1 - lam) * lower_entropy(counts, caution);
        };
        return by(WholeSide(entropy, false, by_ratio));
    }
    if (name == "multinomial")
        return by_side([=](const std::vector<double>& rows) { return multinomial_uncertainty(rows, n_classes, quantile, lam); });
    return by_side(given.function("uncertainty"));
}

template <class Visit>
auto with_criterion(const Numbers& numbers, const Given& given, std::size_t, Visit&& visit) {
    if (numbers.median) return visit(Medians(numbers), numbers);
    if (given.word("criterion") == "poisson") return visit(Moments<Poisson>(numbers), numbers);
    return visit(Moments<SquaredError>(numbers), numbers);
}

// The targets of several outputs; compiled once for growers of all kinds, in outputs.cpp.
std::vector<std::unique_ptr<OutputTarget>> outputs_for(const Several& several, const Given& given, std::size_t n_rows);

template <class Visit>
auto with_criterion(const Several& several, const Given& given, std::size_t n_rows, Visit&& visit) {
    return visit(SeveralTarget(outputs_for(several, given, n_rows)), several);
}

// Calls `visit` with the labels or numbers, of one output or of several.
template <class Visit>
auto with_source(const Given& given, Visit&& visit) {
    if (given.word("kind") == "classes") return visit(Labels::from(given));
    if (given.word("kind") == "numbers") return visit(Numbers::from(given));
    if (given.word("kind") == "several") return visit(Several::from(given));
    throw std::invalid_argument("kind must be 'classes', 'numbers' or 'several', got '" + given.word("kind") + "'");
}

// visit(target, source): the target, and the labels or numbers it is made for.
template <class Visit>
auto with_target(const Given& given, std::size_t n_rows, Visit&& visit) {
    return with_source(given, [&](const auto& source) { return with_criterion(source, given, n_rows, visit); });
}

}  // namespace hedgerow
