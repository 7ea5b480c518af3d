"""Mass functions over all subsets of K classes.

Arrays have the shape (..., 2^K); the last index is the bit mask of a subset.
"""

from hedgerow.belief.masses.combine import combine_masses, jousselme_distance, mass_rules
from hedgerow.belief.masses.counts import goodman_bounds, mass_from_counts, total_uncertainty_from_counts
from hedgerow.belief.masses.frame import (
    describe_mass,
    mass_from_sets,
    sets_from_mass,
    subset_mask,
    subset_members,
    subset_sizes,
)
from hedgerow.belief.masses.pairwise import mass_from_pairs
from hedgerow.belief.masses.probability import (
    contour_from_mass,
    mass_from_contour,
    pignistic_from_mass,
    probability_from_contour,
    probability_from_plausibility,
)
from hedgerow.belief.masses.transforms import (
    belief_from_mass,
    commonality_from_mass,
    condition_mass,
    discount_by_context,
    discount_mass,
    implicability_from_mass,
    mass_from_belief,
    mass_from_commonality,
    mass_from_implicability,
    mass_from_plausibility,
    normalise_mass,
    plausibility_from_mass,
)
from hedgerow.belief.masses.uncertainty import deng_entropy, discord, non_specificity, total_uncertainty
from hedgerow.belief.masses.weights import (
    conjunctive_weights_from_mass,
    disjunctive_weights_from_mass,
    mass_from_conjunctive_weights,
    mass_from_disjunctive_weights,
)

__all__ = [
    "belief_from_mass",
    "combine_masses",
    "commonality_from_mass",
    "condition_mass",
    "conjunctive_weights_from_mass",
    "contour_from_mass",
    "deng_entropy",
    "describe_mass",
    "discord",
    "discount_by_context",
    "discount_mass",
    "disjunctive_weights_from_mass",
    "goodman_bounds",
    "implicability_from_mass",
    "jousselme_distance",
    "mass_from_belief",
    "mass_from_commonality",
    "mass_from_conjunctive_weights",
    "mass_from_contour",
    "mass_from_counts",
    "mass_from_disjunctive_weights",
    "mass_from_implicability",
    "mass_from_pairs",
    "mass_from_plausibility",
    "mass_from_sets",
    "mass_rules",
    "non_specificity",
    "normalise_mass",
    "pignistic_from_mass",
    "plausibility_from_mass",
    "probability_from_contour",
    "probability_from_plausibility",
    "sets_from_mass",
    "subset_mask",
    "subset_members",
    "subset_sizes",
    "total_uncertainty",
    "total_uncertainty_from_counts",
]
