"""Tables, plots, claims and verdict."""

from __future__ import annotations

import numpy as np

from hedgerow.datasets import describe_dataset
from hedgerow.study.experiments.busch_2021.claims import CheckedClaim, check_claims
from hedgerow.study.experiments.busch_2021.figures import all_figures
from hedgerow.study.experiments.busch_2021.protocol import BY_RATIO, COLUMNS, LEAF_SIZES, METHODS, PAPER, PROGRAM
from hedgerow.study.experiments.busch_2021.scores import Floats, Scores, clouds, collect
from hedgerow.study.experiments.frame import Results
from hedgerow.study.experiments.report import Figure, ReportTable, StudyReport

EVAS = ("EVA", PROGRAM, "EVA, no prior")


def report(results: Results) -> StudyReport:
    """Return the report: everything in the paper, and additions."""
    scores = collect(results, first_halves=False)
    program = collect(results, first_halves=True, eva=PROGRAM)
    found = {title: points for title in PAPER["figure_5"]["sets"] if len(points := clouds(results, title)) > 1}
    claims, as_program = check_claims(scores, found), check_claims(program, found)
    parts: list[ReportTable | Figure] = [
        _claim_table(claims, as_program),
        _rank_table(scores, "accuracy"),
        _rank_table(scores, "auc"),
        _eva_table(scores),
        _dempster_table(scores),
        *all_figures(scores, found),
        _sets_table(scores),
    ]
    return StudyReport(
        title=f"{PAPER['title']} (busch-2021)",
        source=f"{PAPER['authors']}. {PAPER['where']}.",
        command="hedgerow reproduce busch-2021" + (" --quick" if results.quick else ""),
        verdict=_verdict(results, scores, claims, as_program),
        parts=parts,
        data=_data(scores, program),
    )


def _claim_table(claims: list[CheckedClaim], as_program: list[CheckedClaim]) -> ReportTable:
    """Return the table of claims, by the paper's protocol and by the program's."""
    rows = [
        [claim.words, claim.section, _held(claim), _held(other), claim.numbers]
        for claim, other in zip(claims, as_program, strict=True)
    ]
    return ReportTable(
        "What the paper says, held or not held",
        ("statement", "section", "as printed", "as programmed", "numbers (as printed)"),
        rows,
        "As printed: 5 × 2 folds, EVA with the logarithm of the prior. As programmed: five random halves, EVA"
        " with the prior"
        " itself subtracted. Numbers by leaf size stand in the order " + ", ".join(map(str, LEAF_SIZES)) + ". Tie: the"
        " statement holds if a method counts as the best where its mean rank is behind that of the best by less than"
        " the standard error of this difference over sets.",
    )


def _held(claim: CheckedClaim) -> str:
    """Return in words whether a claim holds."""
    return {True: "held", False: "**not held**", "tie": "tie", None: "not available"}[claim.held]


def _rank_table(scores: Scores, measure: str) -> ReportTable:
    """Return the data of Figure 3 as a table."""
    ranks, means = scores.ranks(measure), scores.of(measure, METHODS).mean(axis=0)
    rows = []
    for position, method in enumerate(METHODS):
        cells = [
            f"{rank:.1f} ({100 * mean:.2f})" for rank, mean in zip(ranks[:, position], means[:, position], strict=True)
        ]
        rows.append([method, *cells])
    words = "accuracy" if measure == "accuracy" else "AUC"
    return ReportTable(
        f"Mean ranks in {words} of methods and leaf sizes together (Figure 3)",
        ("method", *(f"leaf {size}" for size in LEAF_SIZES)),
        rows,
        f"Mean rank among 66 over {len(scores.sets)} sets, 1 is best (mean {words} in percent).",
    )


def _eva_table(scores: Scores) -> ReportTable:
    """Return the table of EVA with three priors."""
    rows = []
    for name in ("Probability", *EVAS):
        means = 100 * scores.accuracy[:, :, COLUMNS.index(name)].mean(axis=0)
        rows.append([name, *(f"{mean:.2f}" for mean in means)])
    wins = _wins(scores.accuracy, EVAS[0], EVAS[1])
    return ReportTable(
        "EVA with the printed prior, the program's prior, and none: mean accuracy in percent",
        ("method", *(f"leaf {size}" for size in LEAF_SIZES)),
        rows,
        "The prior shifts every log-odds by the same amount, so the AUC is the same for all three. The printed"
        " prior is more"
        f" accurate than the program's on {_numbers(wins)} of {len(scores.sets)} sets, by leaf size.",
    )


def _dempster_table(scores: Scores) -> ReportTable:
    """Return the table of Dempster ranked by difference and by log-ratio."""
    rows = []
    for name, words in (("Probability", "Probability"), ("Dempster", "Dempster, m(+) − m(−)"), (BY_RATIO, BY_RATIO)):
        means = 100 * scores.auc[:, :, COLUMNS.index(name)].mean(axis=0)
        rows.append([words, *(f"{mean:.2f}" for mean in means)])
    wins = _wins(scores.auc, BY_RATIO, "Dempster")
    return ReportTable(
        "Dempster ranked by the paper's difference and by the log-ratio: mean AUC in percent",
        ("score", *(f"leaf {size}" for size in LEAF_SIZES)),
        rows,
        f"Both decide alike. The log-ratio has the higher AUC on {_numbers(wins)} of {len(scores.sets)} sets,"
        " by leaf size"
        " (a tie counts half).",
    )


def _sets_table(scores: Scores) -> ReportTable:
    """Return Table 1, printed and recomputed, with the available sets."""
    rows = []
    for title, (instances, features, ratio) in PAPER["table_1"]["rows"].items():
        if title not in PAPER["files"]:
            rows.append([title, f"{instances}", f"{features}", f"{ratio:.2f}", "no public copy in the registry"])
            continue
        info = describe_dataset(PAPER["files"][title])
        ours = (info.rows, info.features, round(info.classes[info.positive or ""] / info.rows, 2))
        same = "equal" if ours == (instances, features, ratio) else f"ours: {ours}"
        rows.append(
            [title, f"{instances}", f"{features}", f"{ratio:.2f}", same if title in scores.sets else "left out"]
        )
    return ReportTable(
        "Table 1: data sets",
        ("name", *PAPER["table_1"]["columns"], "our copy"),
        rows,
        "Of climate the program drops the two row numbers, as we do (18 features).",
        brief=False,
    )


def _verdict(results: Results, scores: Scores, claims: list[CheckedClaim], as_program: list[CheckedClaim]) -> list[str]:
    """Return the verdict as sentences."""
    told = [claim for claim in claims if claim.held is not None]
    held, tied = (sum(claim.held == kind for claim in told) for kind in (True, "tie"))
    program_held, program_tied = (sum(claim.held == kind for claim in as_program) for kind in (True, "tie"))
    said = [
        f"**{held} of {len(told)} statements of the paper hold** on {len(scores.sets)} of its"
        f" {len(PAPER['table_1']['rows'])} sets as printed, and {tied} are ties; as programmed {program_held} hold and"
        f" {program_tied} are ties. One statement, on unbalanced data, is read in two ways, and counts twice.",
    ]
    pairs = zip(claims, as_program, strict=True)
    said += [_remark_on_missed(claim, other) for claim, other in pairs if claim.held is False or claim.held == "tie"]
    said += [_remark_on_eva(scores), _remark_on_dempster(scores)]
    missing = [title for title in PAPER["table_1"]["rows"] if title not in PAPER["files"]]
    said.append(f"Left out for want of a public copy: {', '.join(missing)}.")
    if results.quick:
        said.append("This was a quick run: one repetition, and only the smaller sets.")
    said += [f"{name} was left out: {reason}." for name, reason in results.absent.items()]
    return said


def _remark_on_missed(claim: CheckedClaim, other: CheckedClaim) -> str:
    """Describe a claim that does not hold as printed."""
    said = f"“{claim.words}”: {claim.numbers}."
    if claim.held == "tie":
        return f"A near tie: {said}"
    if other.held is True or other.held == "tie":
        how = "holds" if other.held is True else "is a tie"
        program = "five random halves, EVA's prior without its logarithm"
        return f"Not held as printed, **explained**: it {how} as programmed ({program}). {said}"
    return f"Not held, **unexplained**: neither as printed nor as programmed. {said}"


def _remark_on_eva(scores: Scores) -> str:
    """Describe the effect of the prior on EVA."""
    means = {name: 100 * scores.accuracy[:, :, COLUMNS.index(name)].mean() for name in ("Probability", *EVAS)}
    best = max(EVAS, key=lambda name: means[name])
    shown = ", ".join(f"{means[name]:.2f} ({name})" for name in EVAS)
    return (
        "EVA: the authors' program subtracts the prior where the formula has its logarithm. Mean accuracy over"
        " sets and leaf"
        f" sizes: {shown}, against {means['Probability']:.2f} of averaging; the best is {best}."
        " Without a prior EVA is a product of shares; what sets it apart in accuracy is the threshold its prior moves."
    )


def _remark_on_dempster(scores: Scores) -> str:
    """Describe the effect of the log-ratio on Dempster."""
    difference, ratio, average = (
        100 * scores.auc[:, :, COLUMNS.index(name)].mean() for name in ("Dempster", BY_RATIO, "Probability")
    )
    return (
        f"Dempster: ranked by the paper's difference of masses its mean AUC is {difference:.2f}, by the"
        " log-ratio of the same"
        f" masses {ratio:.2f} (averaging: {average:.2f}): the rule ranks well, its translation into one score does not."
    )


def _wins(table: Floats, one: str, other: str) -> Floats:
    """Return the number of sets (leaf sizes,) on which one column is larger."""
    gap = table[:, :, COLUMNS.index(one)] - table[:, :, COLUMNS.index(other)]
    won: Floats = (gap > 0).sum(axis=0) + 0.5 * (gap == 0).sum(axis=0)
    return won


def _numbers(values: Floats) -> str:
    """Format values by leaf size, with commas."""
    return ", ".join(f"{value:g}" for value in values)


def _data(scores: Scores, program: Scores) -> dict[str, object]:
    """Return the data behind tables and plots as JSON."""
    return {
        "sets": list(scores.sets),
        "leaf sizes": list(LEAF_SIZES),
        "columns": list(COLUMNS),
        "accuracy": np.round(scores.accuracy, 5).tolist(),
        "auc": np.round(scores.auc, 5).tolist(),
        "accuracy of five halves": np.round(program.accuracy, 5).tolist(),
        "auc of five halves": np.round(program.auc, 5).tolist(),
    }
