// Split targets of classification criteria.
//
// This is the only list of classification criteria: a new one is a struct in criterion.hpp, and a line or two here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/kit/attributes.hpp"
#include "core/kit/named_values.hpp"
#include "core/targets/class_labels.hpp"
#include "core/targets/class_splits.hpp"
#include "core/targets/criterion.hpp"

namespace hedgerow {

// Calls `visit` with the target of a criterion that suits the labels, and with the labels.
template <class Criterion, class Visit>
auto with_class_target(const ClassLabels& labels, const Criterion& criterion, Visit&& visit) {
    const std::uint32_t n_classes = labels.n_classes;
    // Criteria that need all counts of a side have one general target.
    if constexpr (!Criterion::whole_side) {
        if (!labels.weighted && n_classes <= 2) return visit(ClassPair<Criterion>(criterion, n_classes), labels);
        if (!labels.weighted && n_classes <= 8)
            return visit(ClassVector<Criterion, CountedRow, 8>(criterion, n_classes), labels);
        if (labels.weighted && n_classes <= 2)
            return visit(ClassVector<Criterion, WeightedRow, 2>(criterion, n_classes), labels);
    }
    if (labels.weighted) return visit(ClassList<Criterion, WeightedRow>(criterion, n_classes), labels);
    return visit(ClassList<Criterion, CountedRow>(criterion, n_classes), labels);
}

// The named criterion that needs all counts of a side. Caution is in rows, and amounts are multiples of the unit of
// weights.
HEDGEROW_NOINLINE inline WholeSide whole_side_from(const ClassLabels& labels, const NamedValues& given) {
    const std::string& name = given.word("criterion");
    const std::size_t n_classes = labels.n_classes;
    const double unit = labels.weight_unit, caution = given.number<double>("caution") / unit;
    const double lam = given.number<double>("lam"), quantile = given.number<double>("quantile");
    const double split_caution = given.number<double>("split_caution") / unit;
    const bool ordered = given.number<bool>("ordered"), by_ratio = given.number<bool>("by_ratio");
    if (name == "imprecise") {  // lam: the weight of the upper entropy; the rest is that of the lower entropy
        const auto entropy = [=](const WholeSide::Counts& counts) {
            const double upper = upper_entropy(counts, n_classes, caution);
            return lam == 1 ? upper : lam * upper + (1 - lam) * lower_entropy(counts, caution);
        };
        return WholeSide(entropy, false, by_ratio, split_caution);
    }
    OutsideFunction uncertainty;
    if (name == "multinomial")
        uncertainty = [=](const std::vector<double>& rows) {
            return multinomial_uncertainty(rows, n_classes, quantile, lam);
        };
    else if (name == "sets")  // the labels are numbers of sets of classes
        uncertainty =
            SetUncertainty(given.array<std::uint8_t>("sets"), n_classes, lam, given.number<double>("caution"));
    else uncertainty = given.function("uncertainty");
    const auto in_rows = [uncertainty, unit](const WholeSide::Counts& counts) {
        std::vector<double> rows(counts.begin(), counts.end());
        for (double& amount : rows) amount *= unit;
        return uncertainty(rows);
    };
    return WholeSide(in_rows, ordered, by_ratio, split_caution);
}

// Entropy or belief; tables of counts are made for up to `n_rows`.
HEDGEROW_NOINLINE inline Logarithmic logarithmic_from(const ClassLabels& labels, const NamedValues& given,
                                                      std::size_t n_rows) {
    if (given.word("criterion") == "entropy") return Logarithmic::entropy(n_rows);
    const double caution = given.number<double>("caution") / labels.weight_unit;
    return Logarithmic::belief(n_rows, labels.n_classes, given.number<double>("lam"), caution);
}

// Calls `visit` with the target for the named criterion, and with the labels.
template <class Visit>
auto with_criterion(const ClassLabels& labels, const NamedValues& given, std::size_t n_rows, Visit&& visit) {
    const std::string& name = given.word("criterion");
    if (name == "gini") return with_class_target(labels, Gini{}, visit);
    if (name == "entropy" || name == "belief")
        return with_class_target(labels, logarithmic_from(labels, given, n_rows), visit);
    return with_class_target(labels, whole_side_from(labels, given), visit);
}

}  // namespace hedgerow
