"""Unnormalised conjunctive and disjunctive products of two masses."""

from __future__ import annotations

import numpy as np

from hedgerow.belief.masses.frame import Floats, n_classes_of, superset_differences, superset_sums

#: Largest number of classes with a product of 3^K non-negative terms. Beyond it, Moebius transforms take K 2^K.
EXACT_CLASSES = 10


def conjunctive_product(one: Floats, other: Floats) -> Floats:
    """Give the product of each pair of focal sets to their intersection: (n, 2^K)."""
    if n_classes_of(one) > EXACT_CLASSES:
        return above_rounding(superset_differences(superset_sums(one) * superset_sums(other)))
    return _gathered(_spread(one, other), n_classes_of(one))


def disjunctive_product(one: Floats, other: Floats) -> Floats:
    """Give the product of each pair of focal sets to their union: (n, 2^K)."""
    # the complement of a union is the intersection of the complements; taking complements reverses the order of masks
    return conjunctive_product(one[:, ::-1], other[:, ::-1])[:, ::-1]


def above_rounding(mass: Floats) -> Floats:
    """Normalise the result of a Moebius inverse; masses below rounding become 0."""
    kept = np.where(mass > mass.shape[-1] * np.finfo(np.float64).eps, mass, 0.0)
    total: Floats = kept.sum(axis=-1, keepdims=True)
    return kept / total


def _spread(one: Floats, other: Floats) -> Floats:
    """Return the 3^K products whose sums are the masses of the intersections.

    Class by class, with f0, f1 the sets without and with it: h1 = f1 g1 and h0 = f0 (g0 + g1) + f1 g0. These are three
    products instead of four, without a subtraction. Tiny masses thus keep all their digits, which the Moebius transform
    loses if sources conflict.
    """
    left, right = one[:, None, :], other[:, None, :]
    while left.shape[-1] > 1:
        f0, f1 = np.split(left, 2, axis=-1)
        g0, g1 = np.split(right, 2, axis=-1)
        shape = (len(left), -1, f0.shape[-1])
        left = np.stack([f1, f0, f1], axis=2).reshape(shape)
        right = np.stack([g1, g0 + g1, g0], axis=2).reshape(shape)
    products: Floats = left * right
    return products


def _gathered(products: Floats, n_classes: int) -> Floats:
    """Sum products (n, 3^K, 1) to masses (n, 2^K)."""
    for _ in range(n_classes):
        n, rows, width = products.shape
        parts = products.reshape(n, rows // 3, 3, width)
        products = np.concatenate([parts[:, :, 1] + parts[:, :, 2], parts[:, :, 0]], axis=-1)
    return products[:, 0]
