"""Pairwise coupling in ONNX.

`hedgerow.belief.masses.pairwise` solves a non-negative least-squares problem for each sample. ONNX has no solver, but
the problem is also a linear complementarity problem w = Mz + q, w >= 0, z >= 0, wᵀz = 0 with a positive definite M.
Murty's least-index method solves it in a loop: while some variable is negative, the first of these is exchanged with
its complement. All samples pivot at once; finished ones do not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.masses.pairwise import Programme, programme_of
from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.export.recorder import Recorded, Recorder, spread

Floats = NDArray[np.float64]

#: Tolerances for rounding errors of masses, and of the slopes of masses that are 0. With four to six classes slopes are
#: as small as 1e-8, because many masses fit the pairs almost equally well.
MASS_NOISE, SLOPE_NOISE = 1e-9, 1e-13
#: Limit of pivots per focal set; six were enough for 200 samples of up to nine classes.
PIVOTS_PER_SET = 100


def opinion_of_pairs(recorder: Recorder, leaves: Recorded, n_classes: int) -> Opinion:
    """Record belief, plausibility and pignistic probability from the masses of leaves (n, pairs, 4)."""
    if n_classes == 1:
        sure = np.ones((1, 1))
        one = Recorded(recorder, spread(recorder, sure, leaves.name), sure)
        return opinion_from_bounds(one, one, one, one[:, 0] * 0.0)  # type: ignore[arg-type]
    focal = programme_of(n_classes).focal
    members, sizes = focal.astype(np.float64), focal.sum(axis=1, keepdims=True)
    shares = np.hstack([members / sizes, members * (sizes == 1), members])
    answers = _product(_mass(recorder, leaves, programme_of(n_classes)), shares)
    probability, lower, upper = np.hsplit(answers, 3)
    return opinion_from_bounds(probability, lower, upper, probability[:, 0] * 0.0)


def _mass(recorder: Recorder, leaves: Recorded, programme: Programme) -> Any:
    """Record the masses of the focal sets (n, F) from the masses of leaves (n, pairs, 4)."""
    n_sets = len(programme.focal)
    wanted = np.hstack([leaves[:, pair, :] for pair in range(leaves.shape[1])])
    tableau, basic = _start(wanted, programme), np.zeros_like(_product(wanted, programme.basis))
    names = [recorder._new_name(), recorder._new_name()]
    limit, go = recorder.constant(np.int64(PIVOTS_PER_SET * n_sets)), recorder.constant(np.bool_(True))
    inputs = [limit, go, tableau.name, basic.name]
    loop = recorder._onnx.helper.make_node("Loop", inputs, names, body=_body(recorder, n_sets))
    recorder.nodes.append(loop)
    ended, used = Recorded(recorder, names[0], tableau.example), Recorded(recorder, names[1], basic.example)
    masses = np.maximum(ended[:, :, n_sets] * used, 0.0)
    return masses / masses.sum(axis=1, keepdims=True)


def _start(wanted: Any, programme: Programme) -> Any:
    """Record M and q, concatenated to (n, F, F + 1), for the wanted masses of pairs (n, 4 P).

    M = AᵀA, where A has the columns of `triangle` minus the wanted point, and a row of ones; q = -Aᵀ(0, …, 0, 1).
    """
    slopes, point = _product(wanted, programme.restrict), _product(wanted, programme.basis)
    away = (point * point).sum(axis=1, keepdims=True)[:, :, None] + 1.0
    fixed = (programme.triangle.T @ programme.triangle)[None]
    square = fixed - slopes[:, :, None] - slopes[:, None, :] + away
    pieces = [np.hstack([square[:, place, :], slopes[:, :1] * 0.0 - 1.0])[:, None, :] for place in range(len(fixed[0]))]
    return np.hstack(pieces)


def _body(outer: Recorder, n_sets: int) -> Any:
    """Build the body of the loop, which updates the condition, the tableau and the basic variables."""
    helper, types = outer._onnx.helper, outer._onnx.TensorProto
    inner = Recorder()
    inner._names = outer._names  # names must differ from those of the outer graph
    number, go, given, before = (inner._new_name() for _ in range(4))
    tableau = Recorded(inner, given, np.ones((1, n_sets, n_sets + 1)))
    basic = Recorded(inner, before, np.zeros((1, n_sets)))
    after, now_basic = _pivot(tableau, basic, n_sets)
    any_negative = inner.add("ReduceMax", inner.cast(_negative(after, now_basic, n_sets).name, np.int64), keepdims=0)
    results = [inner.cast(any_negative, np.bool_), after.name, now_basic.name]
    outer._names = inner._names
    sizes: list[Any] = [[], ["n", n_sets, n_sets + 1], ["n", n_sets]]
    kinds = [types.BOOL, types.DOUBLE, types.DOUBLE]
    inputs = [helper.make_tensor_value_info(number, types.INT64, [])]
    inputs += [helper.make_tensor_value_info(*each) for each in zip((go, given, before), kinds, sizes, strict=True)]
    outputs = [helper.make_tensor_value_info(*each) for each in zip(results, kinds, sizes, strict=True)]
    return helper.make_graph(inner.nodes, "pivot", inputs, outputs, inner.initializers)


def _pivot(tableau: Any, basic: Any, n_sets: int) -> tuple[Any, Any]:
    """Pivot on the first negative variable of each sample.

    Update the tableau (n, F, F + 1) and basis (n, F).
    """
    negative = _negative(tableau, basic, n_sets)
    first = np.argmax(negative, axis=1)[:, None] == np.arange(n_sets)
    chosen = (first & negative).astype(np.float64)
    row = (chosen[:, :, None] * tableau).sum(axis=1)
    column = (tableau[:, :, :n_sets] * chosen[:, None, :]).sum(axis=2)
    pivot = (row[:, :n_sets] * chosen).sum(axis=1, keepdims=True) + (1.0 - chosen.sum(axis=1, keepdims=True))
    wide = np.hstack([chosen, chosen[:, :1] * 0.0])
    after = tableau - (column + chosen)[:, :, None] * (row - wide)[:, None, :] / pivot[:, :, None]
    return after, abs(basic - chosen)


def _negative(tableau: Any, basic: Any, n_sets: int) -> Any:
    """Record which masses, or slopes of masses that are 0, are negative (n, F)."""
    return tableau[:, :, n_sets] < np.where(basic > 0.0, -MASS_NOISE, -SLOPE_NOISE)


def _product(values: Any, matrix: Floats) -> Any:
    """Multiply recorded values (n, a) by a constant matrix (a, b)."""
    recorder = values.recorder
    name = recorder.add("MatMul", values.name, recorder.constant(matrix))
    return Recorded(recorder, name, values.example @ matrix)
