"""Show: what was measured -> tables in the terminal, with the target and whether it was met."""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.measure import GRAIN, ratios
from benchmarks.peers import PEERS, missing

if TYPE_CHECKING:
    from benchmarks.forest import FoldPlan, Result

FIT_TARGETS = {
    "500x10": 0.30,
    "10kx20": 0.20,
    "5kx1000": 0.30,
    "100kx50": 0.20,
    "1Mx30": 0.15,
    "1Mx30k7": 0.18,
}
PREDICT_TARGET, ONE_ROW_TARGET, PEAK_TARGET, MODEL_TARGET = 0.5, 0.1, 3.0, 0.25
DRAW = 0.002
"""How much accuracy two forests may differ by the luck of their draws, beside the error of the fresh rows."""
NOISY = 1.3
"""Median over minimum of the repeats from which a measurement is called noisy."""
LESS_ACCURATE = 0.02
"""A peer this much less accurate than ours is shown, but is no rival in speed."""
OURS = [name for name, peer in PEERS.items() if peer.ours]
DASH = "-"


def forest_tables(results: list[Result], plan: FoldPlan, took: float) -> None:
    """One table per quantity, then the notes."""
    out = console()
    trees = ", ".join(f"{result.shape.name} {result.shape.trees}" for result in results)
    setting = f"{plan.mode} run of {took:.0f} s, {plan.threads} threads, {plan.dtype} input"
    out.print(f"\nForests side by side: {setting}.")
    out.print(f"Trees, the same for all forests: {trees}.")
    for table in (_fit, _predict, _one_row, _accuracy, _loss, _peak, _model):
        out.print(table(results, plan))
    for line in _notes(results, plan):
        out.print(line, highlight=False, soft_wrap=True)


def growth_table(growth: dict[str, Result]) -> None:
    """How fit, predict and model grow when one thing becomes ten times as large."""
    out, base = console(), growth["base"]
    size = f"{base.shape.name}, {base.shape.classes} classes, {base.shape.trees} trees"
    grid = ruled(f"Growth: times the cost at {size}")
    for column in ("ten times the", "forest", "fit", "predict a row", "model bytes"):
        grid.add_column(column, justify="left" if column in ("ten times the", "forest") else "right")
    for what, result in growth.items():
        if what == "base":
            continue
        for name in result.best("fit"):
            fit = _times(result.best("fit").get(name), base.best("fit").get(name))
            rows = result.shape.fresh / base.shape.fresh
            predict = _times(result.best("predict").get(name), base.best("predict").get(name), rows)
            model = _times(result.model.get(name), base.model.get(name))
            grid.add_row(what, PEERS[name].title, fit, predict, model)
    out.print(grid)
    if not base.best("fit").get("hedgerow"):
        out.print("hedgerow is not in the growth table: " + base.problems.get("hedgerow", "not asked for"))


def fastest(result: Result, quantity: str = "fit") -> str | None:
    """The fastest peer of a shape."""
    return ratios(_peer_values(result, quantity), not_rivals(result))["fastest"]


def not_rivals(result: Result) -> set[str]:
    """Ours, and peers that are clearly less accurate: speed is compared at equal accuracy."""
    accuracy = result.score.get("accuracy", {})
    ours = accuracy.get("hedgerow", 0.0)
    return set(OURS) | {name for name, value in accuracy.items() if value < ours - LESS_ACCURATE}


def progress(text: str) -> None:
    """A line that is overwritten, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text[:100]}")
        sys.stderr.flush()


def console() -> Console:
    """A console: as wide as the terminal, or plain and wide enough for the tables elsewhere."""
    progress("")
    return Console() if sys.stdout.isatty() else Console(width=140, color_system=None)


def verdict(met: bool | None) -> str:
    """met, missed or nothing."""
    return DASH if met is None else "[green]met[/]" if met else "[red]missed[/]"


def _fit(results: list[Result], plan: FoldPlan) -> Table:
    return _time_table(
        "Fit: time relative to the fastest peer",
        results,
        plan,
        "fit",
        lambda result: FIT_TARGETS.get(result.shape.name) if result.shape.trees >= 10 else None,
    )


def _predict(results: list[Result], plan: FoldPlan) -> Table:
    title = "Predict: time of all fresh rows relative to the fastest peer"
    return _time_table(title, results, plan, "predict", lambda _: PREDICT_TARGET)


def _time_table(
    title: str, results: list[Result], plan: FoldPlan, quantity: str, target: Callable[[Result], float | None]
) -> Table:
    """Rows: forests, as ratios to the fastest peer; below them that peer, its time, ours, target, verdict."""
    grid = _columns(title, results)
    found = [ratios(_peer_values(result, quantity), not_rivals(result)) for result in results]
    for name in plan.forests:
        cells = [_ratio_cell(result, quantity, name, f) for result, f in zip(results, found, strict=True)]
        grid.add_row(PEERS[name].title, *cells)
    grid.add_section()
    grid.add_row("fastest peer", *(f["fastest"] or DASH for f in found))
    grid.add_row("its time", *(_time(r, quantity, f["fastest"]) for r, f in zip(results, found, strict=True)))
    ours = [f["to_fastest"].get("hedgerow") for f in found]
    grid.add_row("fastest peer ÷ hedgerow", *(DASH if not value else f"{1 / value:.1f}" for value in ours))
    grid.add_row("hedgerow ÷ fastest peer", *map(_number, ours))
    _verdict_rows(grid, ours, [target(result) for result in results], "≤ ")
    return grid


def _one_row(results: list[Result], plan: FoldPlan) -> Table:
    """One row predicted, relative to scikit-learn with the threads it is fastest with."""
    grid = _columns("One row predicted: time relative to scikit-learn's best (two threads or one)", results)
    bests = [result.best("one_row") for result in results]
    alone = "sklearn, 1 thread"
    base = [min(filter(None, (best.get("sklearn"), best.get(alone))), default=None) for best in bests]
    names = [*plan.forests, alone]
    for name in names:
        title = PEERS[name].title if name in PEERS else "scikit-learn RF, one thread"
        pairs = zip(bests, base, strict=True)
        grid.add_row(title, *(_number(_quotient(best.get(name), of)) for best, of in pairs))
    grid.add_section()
    grid.add_row("scikit-learn's best", *(DASH if not of else f"{of * 1e3:.2f} ms" for of in base))
    ours = [_quotient(best.get("hedgerow"), of) for best, of in zip(bests, base, strict=True)]
    grid.add_row("hedgerow ÷ it", *map(_number, ours))
    _verdict_rows(grid, ours, [ONE_ROW_TARGET] * len(ours), "< ")
    return grid


def _accuracy(results: list[Result], plan: FoldPlan) -> Table:
    grid = _score_table("Accuracy on the fresh rows", results, plan, "accuracy")
    gaps = [result.against.get("accuracy") for result in results]
    met = [None if g is None else g["difference"] >= -(2 * g["error"] + DRAW) for g in gaps]
    grid.add_row("target", *([f"≥ -(2 se + {DRAW})"] * len(results)))
    grid.add_row("verdict", *map(verdict, met))
    return grid


def _loss(results: list[Result], plan: FoldPlan) -> Table:
    title = "Log-loss on the fresh rows (shares clipped at half a tree's vote, for all alike)"
    return _score_table(title, results, plan, "log-loss")


def _score_table(title: str, results: list[Result], plan: FoldPlan, quantity: str) -> Table:
    """Rows: forests with their scores; below them the paired difference to the peer that fits fastest."""
    grid = _columns(title, results)
    for name in plan.forests:
        scores = (result.score.get(quantity, {}).get(name) for result in results)
        grid.add_row(PEERS[name].title, *(DASH if score is None else f"{score:.4f}" for score in scores))
    grid.add_section()
    grid.add_row("fastest peer to fit", *(fastest(result) or DASH for result in results))
    gaps = (result.against.get(quantity) for result in results)
    cells = (DASH if g is None else f"{g['difference']:+.4f} ± {g['error']:.4f}" for g in gaps)
    grid.add_row("hedgerow - it, ± se", *cells)
    return grid


def _peak(results: list[Result], plan: FoldPlan) -> Table:
    """Rows: forests with the peak of one fit in MB; below them ours over (binned table + model)."""
    grid = _columns("Peak memory of one fit, data already loaded, in MB", results)
    for name in plan.forests:
        peaks = (result.peak.get(name) for result in results)
        grid.add_row(PEERS[name].title, *(DASH if p is None else f"{p['bytes'] / 1e6:.1f}" for p in peaks))
    grid.add_section()
    ours = [result.peak.get("hedgerow") for result in results]
    needed = [None if p is None or p["model"] is None else p["table"] + p["model"] for p in ours]
    grid.add_row("hedgerow's table + model", *(DASH if n is None else f"{n / 1e6:.1f}" for n in needed))
    over = [None if p is None or not n else p["bytes"] / n for p, n in zip(ours, needed, strict=True)]
    grid.add_row("hedgerow's peak ÷ that", *map(_number, over))
    small = [p is not None and p["bytes"] < GRAIN for p in ours]
    grid.add_row("target", *(f"≤ {PEAK_TARGET:g}" for _ in results))
    pairs = zip(over, small, strict=True)
    grid.add_row("verdict", *("too small to tell" if tiny else verdict(_at_most(o, PEAK_TARGET)) for o, tiny in pairs))
    return grid


def _model(results: list[Result], plan: FoldPlan) -> Table:
    """Rows: forests with the bytes of their model relative to scikit-learn's."""
    grid = _columns("Model bytes relative to scikit-learn's (YDF, XGBoost, LightGBM: serialised)", results)
    base = [result.model.get("sklearn") for result in results]
    for name in plan.forests:
        pairs = zip(results, base, strict=True)
        grid.add_row(PEERS[name].title, *(_number(_quotient(r.model.get(name), of)) for r, of in pairs))
    grid.add_section()
    grid.add_row("scikit-learn's", *(DASH if not of else f"{of / 1e6:.1f} MB" for of in base))
    ours = [_quotient(r.model.get("hedgerow"), of) for r, of in zip(results, base, strict=True)]
    _verdict_rows(grid, ours, [MODEL_TARGET] * len(ours), "≤ ")
    return grid


def _notes(results: list[Result], plan: FoldPlan) -> list[str]:
    """Versions, who is missing and why, and what to know of each peer."""
    lines = []
    for peer in (PEERS[name] for name in plan.forests):
        note = f" ({peer.note})" if peer.note else ""
        lines.append(f"{peer.title}: {missing(peer) or peer.version + note}")
    for result in results:
        told = {name: why for name, why in result.problems.items() if why != "not installed"}
        lines += [f"{result.shape.name}, {name}: {why}" for name, why in told.items()]
        lines += [f"{result.shape.name}, {name}: slow, fitted once" for name in result.once if name not in told]
        lines += _unrest(result)
    return lines


def _unrest(result: Result) -> list[str]:
    """A warning where a forest's usual fit took much longer than its best: something else used the cores."""
    lines = []
    for name, timing in result.seconds.get("fit", {}).items():
        if len(timing.seconds) > 1 and (usual := median(timing.seconds) / min(timing.seconds)) > NOISY:
            lines.append(f"{result.shape.name}, {name}: noisy, the median fit took {usual:.1f} times the best")
    return lines


def _peer_values(result: Result, quantity: str) -> dict[str, float | None]:
    """Best seconds by forest, without estimates: a peer that was not run cannot be the fastest."""
    timings = result.seconds.get(quantity, {})
    return {name: timing.best for name, timing in timings.items() if not timing.estimated}


def _ratio_cell(result: Result, quantity: str, name: str, found: dict[str, Any]) -> str:
    """A ratio, an estimate marked ~, or why there is none."""
    if name in found["to_fastest"]:
        return _number(found["to_fastest"][name])
    timing = result.seconds.get(quantity, {}).get(name)
    if timing is None or timing.best is None or not found["fastest"]:
        return result.problems.get(name, DASH) if result.problems.get(name) == "not installed" else DASH
    base = result.best(quantity)[found["fastest"]]
    return f"~{timing.best / base:.0f}" if base else DASH


def _time(result: Result, quantity: str, name: str | None) -> str:
    """A forest's time: seconds of a fit, or nanoseconds a row and tree of a prediction."""
    best = result.best(quantity).get(name) if name else None
    if best is None:
        return DASH
    if quantity == "predict":
        return f"{best * 1e9 / result.shape.fresh / result.shape.trees:.0f} ns/row/tree"
    return f"{best:.4f} s" if best < 1 else f"{best:.2f} s"


def _verdict_rows(grid: Table, ours: list[float | None], targets: list[float | None], sign: str) -> None:
    """The target and whether it was met, below a table."""
    grid.add_row("target", *(DASH if t is None else f"{sign}{t:g}" for t in targets))
    grid.add_row("verdict", *(verdict(_at_most(o, t)) for o, t in zip(ours, targets, strict=True)))


def _at_most(value: float | None, target: float | None) -> bool | None:
    return None if value is None or target is None else value <= target


def _quotient(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else value / base


def _times(value: float | None, base: float | None, by: float = 1.0) -> str:
    quotient = _quotient(value, base)
    return DASH if quotient is None else f"× {quotient / by:.1f}"


def _number(value: float | None) -> str:
    """Two digits that matter."""
    if value is None:
        return DASH
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _columns(title: str, results: list[Result]) -> Table:
    """A table with the forests' names and one column per shape."""
    grid = ruled(title)
    grid.add_column("")
    for result in results:
        grid.add_column(result.shape.name, justify="right")
    return grid


def ruled(title: str) -> Table:
    """An empty table: ruled lightly on a terminal, in plain characters elsewhere."""
    style = box.SIMPLE_HEAD if sys.stdout.isatty() else box.ASCII2
    return Table(title=title, title_justify="left", box=style, show_edge=sys.stdout.isatty())
