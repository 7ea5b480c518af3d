"""Explanation of one prediction of a classifier."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hedgerow.explain.cases import Case
from hedgerow.explain.words import sentence_words


class Cause(NamedTuple):
    """One cause of doubt.

    Attributes
    ----------
    cause : {"few", "overlap", "disagree", "missing", "outside"}
        Name of the cause.
    share, amount : float
        Its share of all the doubt, and its amount between 0 and 1.
    text : str
        The cause in words, with its figures.
    """

    cause: str
    share: float
    amount: float
    text: str


class NovelFeature(NamedTuple):
    """That a sample is unlike the training rows: its p-value, the strangest feature, and how far it is trusted."""

    p_value: float
    feature: str
    trust: float


class ShapOf(NamedTuple):
    """What each feature adds to the probability (or log-odds) of the label, and to the width of its interval."""

    features: list[str]
    label: list[float]
    width: list[float] | None
    unit: str
    base: dict[str, float | None]


class Remedy(NamedTuple):
    """What would leave one class.

    Attributes
    ----------
    confirmed : list of (class, number)
        Further cases like this one, fewest first.
    caution : (number, class) or None
        The largest caution at which one class remains, and this class.
    measure : list of (feature, share, class)
        Missing values, the most useful first; the share of its possible values that leave one class.
    change : dict or None
        The smallest change of features, as in `Explanation.to_dict`; None if there was no search.
    """

    confirmed: list[tuple[Any, int]]
    caution: tuple[float, Any] | None
    measure: list[tuple[str, float, Any]]
    change: dict[str, Any] | None


class Explained:
    """Base class of explanations: a title, and how notebooks show them."""

    row: int
    name: str | None

    @property
    def title(self) -> str:
        """The number of the row, and its name if it has one."""
        return f"Row {self.row}" if self.name is None else f"Row {self.row} ({self.name})"

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The answer and where its doubt comes from."""

    def to_html(self) -> str:
        """The explanation as a self-contained fragment of HTML; every name and value is escaped."""
        from hedgerow.explain.html import html_from

        return html_from(self)

    @abstractmethod
    def html_sections(self) -> str:
        """Return the sections of `to_html` below the sentence."""

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title}: {self.sentence})"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Explained):
    """Why a forest gives its answer for one sample, and what would settle it. Made by ``forest.explain(X)``.

    Attributes
    ----------
    row : int
        Number of the sample in the table.
    label : class
        The most probable class.
    set : list of classes
        The classes that remain.
    classes, probability, lower, upper : lists of length K
        All classes, their probabilities and bounds.
    caution, rule, decision : float, str, str
        The settings of the answer.
    values : dict of str to value
        The sample; None where a value is missing or a new category.
    doubt : list of Cause
        The largest first; shares sum to one (all are zero if there is no doubt).
    cases : list of Case or None
        The training rows with the largest weights; None if they are not known.
    rules : list of str
        Rules of leaves in words.
    shap : ShapOf or None
        None if no answer of the rule is a sum over trees, or if it was not asked for.
    settle : SettledBy or None
        None for a determinate sample.
    name : str or None
        Name of the sample, if it has one.
    strange : Strange or None
        That the sample is a stranger, if the forest has a level of `novelty` and the sample is below it.
    unknown : list of str
        Features of which no training row had such a value: new categories, unexpected gaps, numbers far outside.
    """

    row: int
    label: Any
    set: list[Any]
    classes: list[Any]
    probability: list[float]
    lower: list[float]
    upper: list[float]
    caution: float
    rule: str
    decision: str
    values: dict[str, Any]
    doubt: list[Cause]
    cases: list[Case] | None
    rules: list[str]
    shap: ShapOf | None
    settle: Remedy | None
    name: str | None = None
    strange: NovelFeature | None = None
    unknown: list[str] = field(default_factory=list)

    @property
    def likely(self) -> list[Any]:
        """The classes that remain, the most probable first."""
        return sorted(self.set, key=lambda label: -self.probability[self.classes.index(label)])

    @property
    def is_determinate(self) -> bool:
        """Whether one class remains."""
        return len(self.set) == 1

    @property
    def doubt_amount(self) -> float:
        """The total doubt, 0 to 1."""
        return math.fsum(each.amount for each in self.doubt)

    @property
    def sentence(self) -> str:
        """The set and where the doubt comes from, in one sentence."""
        return sentence_words(self)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data for JSON; ``docs/explain.md`` lists the keys."""
        settle = self.settle
        return {
            "row": self.row,
            "name": self.name,
            "label": self.label,
            "set": list(self.set),
            "determinate": self.is_determinate,
            "classes": list(self.classes),
            "probability": list(self.probability),
            "lower": list(self.lower),
            "upper": list(self.upper),
            "caution": self.caution,
            "rule": self.rule,
            "decision": self.decision,
            "values": finite(self.values),
            "doubt": [each._asdict() for each in self.doubt],
            "doubt_amount": self.doubt_amount,
            "cases": None if self.cases is None else [finite(case._asdict()) for case in self.cases],
            "rules": list(self.rules),
            "shap": None if self.shap is None else self.shap._asdict(),
            "settle": None if settle is None else _remedies(settle),
            "strange": None if self.strange is None else self.strange._asdict(),
            "unknown": list(self.unknown),
            "sentence": self.sentence,
        }

    def to_text(self) -> str:
        """The explanation as lines for a terminal or a letter, without colours."""
        from hedgerow.explain.text import text_from_explanation

        return text_from_explanation(self)

    def html_sections(self) -> str:
        """Return intervals, sources of uncertainty, remedies, nearest cases, rules and contributions."""
        from hedgerow.explain.html import sections_of_class

        return sections_of_class(self)


def _remedies(settle: Remedy) -> dict[str, Any]:
    """What would settle a sample -> the keys of ``settle``."""
    return {
        "confirmed": [{"class": label, "number": number} for label, number in settle.confirmed],
        "caution": None if settle.caution is None else settle.caution[0],
        "caution_label": None if settle.caution is None else settle.caution[1],
        "measure": [{"feature": feature, "settles": share, "label": label} for feature, share, label in settle.measure],
        "change": None if settle.change is None else finite(settle.change),
    }


def finite(value: Any) -> Any:
    """Values -> the same with text instead of infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [finite(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
