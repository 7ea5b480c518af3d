"""Arguments of `explain`, and the explanation of one prediction of a classifier."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from hedgerow.explain.cases import Case, Label, Value
from hedgerow.explain.words import sentence_words

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hedgerow.explain.survival import FollowedCase
    from hedgerow.table.schema import TableLike


class Cause(NamedTuple):
    """A source of uncertainty.

    Attributes
    ----------
    cause : {"few", "overlap", "disagree", "missing", "out_of_range"}
        Name of the source.
    share, amount : float
        Its share of the total uncertainty, and its amount between 0 and 1.
    text : str
        Description with details.
    """

    cause: str
    share: float
    amount: float
    text: str


class RowNovelty(NamedTuple):
    """Novelty of a sample: its p-value, its most unusual feature, and the weight of the leaves in its opinion."""

    p_value: float
    feature: str
    trust: float


class ShapOf(NamedTuple):
    """Feature contributions to the probability (or log-odds) of the label, and to the width of its interval."""

    features: list[str]
    label: list[float]
    width: list[float] | None
    unit: str
    base: dict[str, float | None]


Move = TypedDict("Move", {"feature": str, "from": Value, "to": Value})


class Counterfactual(TypedDict):
    """The smallest change after which one class remains.

    See `hedgerow.explain.change.Change`.
    """

    found: bool
    changes: list[Move]
    label: Label | None
    cost: float | None
    bound: float
    gap: float | None
    optimal: bool
    seconds: float


class Remedies(NamedTuple):
    """Ways to decide an undecided sample.

    Attributes
    ----------
    confirmed : list of (class, number)
        Numbers of further similar cases of a class, fewest first.
    caution : (number, class) or None
        The largest caution at which one class remains, and this class.
    measure : list of (feature, share, class)
        Missing values, the most informative first; the share of its possible values that leave one class, and the
        class most of these leave.
    counterfactual : dict or None
        The smallest change of features, as in `Explanation.to_dict`; None if there was no search.
    """

    confirmed: list[tuple[Label, int]]
    caution: tuple[float, Label] | None
    measure: list[tuple[str, float, Label | None]]
    counterfactual: Counterfactual | None


class Explained:
    """Base class of explanations: a title, and their display in notebooks."""

    row: int
    name: str | None
    values: dict[str, Value]
    cases: Sequence[Case | FollowedCase] | None

    @property
    def title(self) -> str:
        """The number of the row, and its name if it has one."""
        return f"Row {self.row}" if self.name is None else f"Row {self.row} ({self.name})"

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The prediction and the sources of its uncertainty."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data for JSON."""

    @abstractmethod
    def to_text(self) -> str:
        """Return the explanation as plain text."""

    def to_html(self) -> str:
        """Return the explanation as a self-contained fragment of HTML.

        Every name and value is escaped.
        """
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
    """Explanation of one prediction of a classifier, as returned by ``forest.explain(X)``.

    Attributes
    ----------
    row : int
        Number of the sample in the table.
    label : class
        The most probable class.
    set : list of classes
        The prediction set.
    classes, probability, lower, upper : lists of length K
        All classes, their probabilities, and lower and upper probabilities.
    caution, rule, decision : float, str, str
        Caution, combination rule and decision rule of the prediction.
    values : dict of str to value
        The sample; None where a value is missing or a new category.
    uncertainty : list of Cause
        Sources of uncertainty, the largest first; shares sum to one (all are zero without uncertainty).
    cases : list of Case or None
        The training rows with the largest weights; None if they are not available.
    rules : list of str
        Rule of the strongest leaf for each class of the set.
    shap : ShapOf or None
        Feature contributions; None if no quantity of the rule is a sum over trees, or if not requested.
    remedies : Remedies or None
        What would decide the sample; None if it is decided. With `wanted`, a decided sample of another class has a
        counterfactual alone.
    name : str or None
        Name of the sample, if it has one.
    novelty : RowNovelty or None
        For a novel sample of a forest with the parameter `novelty`; otherwise None.
    out_of_support : list of str
        Features with out-of-support values: new categories, unexpected missing values, numbers far outside the
        training range.
    actions : list of str or None
        Actions of a decision with a utility that are not ruled out; the prediction set is then that of interval
        dominance. None if the decision chooses classes.
    """

    row: int
    label: Label
    set: list[Label]
    classes: list[Label]
    probability: list[float]
    lower: list[float]
    upper: list[float]
    caution: float
    rule: str
    decision: str
    values: dict[str, Value]
    uncertainty: list[Cause]
    cases: list[Case] | None
    rules: list[str]
    shap: ShapOf | None
    remedies: Remedies | None
    name: str | None = None
    novelty: RowNovelty | None = None
    out_of_support: list[str] = field(default_factory=list)
    actions: list[str] | None = None

    @property
    def likely(self) -> list[Label]:
        """The classes of the set, the most probable first."""
        return sorted(self.set, key=lambda label: -self.probability[self.classes.index(label)])

    @property
    def is_determinate(self) -> bool:
        """True if the set contains one class."""
        return len(self.set) == 1

    @property
    def total_uncertainty(self) -> float:
        """Sum of the amounts of all sources, between 0 and 1."""
        return math.fsum(each.amount for each in self.uncertainty)

    @property
    def sentence(self) -> str:
        """The prediction set and the sources of uncertainty, in one or two sentences."""
        return sentence_words(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data for JSON; ``docs/reference/explanation-schema.md`` lists them."""
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
            "uncertainty": [each._asdict() for each in self.uncertainty],
            "total_uncertainty": self.total_uncertainty,
            "cases": None if self.cases is None else [finite(case._asdict()) for case in self.cases],
            "rules": list(self.rules),
            "shap": None if self.shap is None else self.shap._asdict(),
            "remedies": None if self.remedies is None else _plain_remedies(self.remedies),
            "novelty": None if self.novelty is None else self.novelty._asdict(),
            "out_of_support": list(self.out_of_support),
            "actions": None if self.actions is None else list(self.actions),
            "sentence": self.sentence,
        }

    def to_text(self) -> str:
        """Return the explanation as plain text, without colours."""
        from hedgerow.explain.text import text_from_explanation

        return text_from_explanation(self)

    def html_sections(self) -> str:
        """Return intervals, sources of uncertainty, remedies, nearest cases, rules and contributions."""
        from hedgerow.explain.html import sections_of_class

        return sections_of_class(self)


def _plain_remedies(remedies: Remedies) -> dict[str, Any]:
    """Return the keys of ``remedies`` for JSON."""
    measure = [{"feature": feature, "decides": share, "label": label} for feature, share, label in remedies.measure]
    return {
        "confirmed": [{"class": label, "number": number} for label, number in remedies.confirmed],
        "caution": None if remedies.caution is None else remedies.caution[0],
        "caution_label": None if remedies.caution is None else remedies.caution[1],
        "measure": measure,
        "counterfactual": None if remedies.counterfactual is None else finite(remedies.counterfactual),
    }


def finite(value: object) -> object:
    """Replace infinities and NaN, which JSON does not have, by text."""
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, eq=False)
class ExplainRequest:
    """Arguments of `hedgerow.explain.explain`, which documents them."""

    train: TableLike | None = None
    y_train: ArrayLike | None = None
    cases: int = 5
    shap: bool | None = None
    immutable: Iterable[int | str] | None = None
    increasing: Iterable[int | str] = ()
    decreasing: Iterable[int | str] = ()
    wanted: Label | None = None
    time_limit: float | None = None
    coverage: float | None = None
    time: float | None = None


def check_numbers(cases: int, time_limit: float | None) -> None:
    """Check the number of cases and the time limit."""
    if not (isinstance(cases, int | np.integer) and cases >= 0):
        raise ValueError(f"cases must be an int >= 0, got {cases!r}.")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must be a number of seconds >= 0 or None, got {time_limit!r}.")
