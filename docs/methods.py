"""Pages of the rules and decision rules, with formula, code and capabilities.

Names, descriptions, parameters and results come from the library itself; only the formulas and the advice are in this
file. If a method has no formula, or a formula no method, the build stops. ``python docs/methods.py`` writes the tables
of what each method can do into ``reference/capabilities.md``; a test compares them.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hedgerow import combine, decide
from hedgerow.criteria import CRITERIA, Criterion
from hedgerow.decisions import Decision, all_decisions
from hedgerow.decisions.base import ActionDecision
from hedgerow.rules import Rule, resolve_rule, rule_names

#: The leaves of two trees that every page combines: a small pure one, and a large one that contradicts it.
LEAVES = np.array([[[4, 0], [10, 40]]])
CAUTION = 1.0


class Told(NamedTuple):
    """Text of a page in addition to the docstrings of the library."""

    title: str
    formula: str
    when: str


RULES: dict[str, Told] = {
    "average": Told(
        "Average",
        r"""
        p_k = \frac1T \sum_t \frac{n_{tk}}{n_t}, \qquad
        \underline p_k = \frac1T \sum_t \frac{n_{tk}}{n_t + s}, \qquad
        \overline p_k = \frac1T \sum_t \frac{n_{tk} + s}{n_t + s}
        """,
        "The default: the mean of the trees. With a bootstrap, its probabilities are calibrated out of bag.",
    ),
    "laplace": Told(
        "Laplace",
        r"p_k = \frac1T \sum_t \frac{n_{tk} + \alpha}{n_t + K\alpha}",
        "If leaves are small, and probabilities of exactly 0 and 1 do harm, as with log-loss.",
    ),
    "plausibility": Told(
        "Plausibility",
        r"""
        \pi_{tk} = \sup_\theta \min\bigl(L_t(\theta),\ \theta_k - \max_{j \ne k} \theta_j\bigr), \quad
        L_t(\theta) = \prod_k \Bigl(\frac{\theta_k}{\hat\theta_{tk}}\Bigr)^{n_{tk}}, \quad
        \hat\theta_{tk} = \frac{n_{tk}}{n_t}
        \\[1ex]
        u_e = \text{second largest } \pi_{tk}, \quad u_a = 1 - \max_k \pi_{tk}, \quad s_t = 1 - u_e - u_a, \qquad
        p_k = \frac1T \sum_t \Bigl(s_t\,[k = \hat k_t] + \frac{1 - s_t}{K}\Bigr)
        """,
        "For trees that are grown without the labels (`RandomDecisionTreesClassifier`): a leaf counts more the more"
        " clearly its rows prefer a class. Small leaves count little.",
    ),
    "epistemic_weighted": Told(
        "Epistemic-weighted",
        r"p_k = \frac1T \sum_t \Bigl((1 - u_{e,t})\, s_t\,[k = \hat k_t] + \frac{1 - (1 - u_{e,t})\, s_t}{K}\Bigr)",
        "Like plausibility, but small leaves count even less.",
    ),
    "confidence_bounds": Told(
        "Confidence bounds",
        r"""
        \text{two classes: } p_1 = \frac12 + \frac1T \sum_t (1 - c_t)\Bigl(\frac{n_{t1}}{n_t} - \frac12\Bigr), \qquad
        c_t = \frac{f_t(n_t/2)}{\max f_t}, \quad f_t = \mathrm{BetaBinomial}(n_t, n_{t1} + 1, n_{t0} + 1)
        """,
        "Like plausibility, but with a forecast of as many new rows instead of a likelihood. `model` chooses other"
        " forecasts.",
    ),
    "weighted_average": Told(
        "Weighted average",
        r"p_k = \frac{\sum_t w_t\, n_{tk} / n_t}{\sum_t w_t}, \quad w_t = \sum_k \Bigl(\frac{n_{tk}}{n_t}\Bigr)^2,"
        r"\ \sqrt{n_t},\ n_t \text{ or } \frac{n_t}{n_t + s}",
        "If pure leaves, or large ones, should count more than others.",
    ),
    "imprecise_weights": Told(
        "Imprecise weights",
        r"\underline p_k = (1 - \epsilon)\, \frac1T \sum_t \underline p_{tk} + \epsilon \min_t \underline p_{tk},"
        r"\quad \overline p_k = (1 - \epsilon)\, \frac1T \sum_t \overline p_{tk} + \epsilon \max_t \overline p_{tk}",
        "If it is not known how far each tree can be trusted: trees that disagree widen the bounds.",
    ),
    "credal_trees": Told(
        "Credal set of trees",
        r"\underline p_k = \min_{t \in S} \underline p_{tk}, \quad \overline p_k = \max_{t \in S} \overline p_{tk},"
        r"\quad \text{chosen} = \{k : \nexists j\ \forall t \in S:\ \underline p_{tj} > \overline p_{tk}\},"
        r"\quad S = \text{the trees nearest to the median}",
        "If every tree may be right, except for outliers. A class is dropped only if another class beats it in all"
        " trees of the set. It is not a fold, so it is slower.",
    ),
    "vote": Told(
        "Vote",
        r"p_k = \frac1T \sum_t \frac{[n_{tk} = \max_j n_{tj}]}{\#\{j : n_{tj} = \max_i n_{ti}\}}",
        "Breiman's forest. Probabilities are shares of trees, not of rows: good for labels, poor as probabilities.",
    ),
    "pool": Told(
        "Pool",
        r"p_k = \frac{\sum_t n_{tk}}{\sum_t n_t}, \qquad \underline p_k = \frac{\sum_t n_{tk}}{\sum_t n_t + T s}",
        "If large leaves should count more than small ones. The intervals are narrow if leaves are large.",
    ),
    "belief": Told(
        "Belief",
        r"""
        A_t = \{k : n_{tk} + s > \max_j n_{tj}\} \cup \text{arg max}_j n_{tj}, \quad
        \underline p_k = \sum_t w_t [A_t = \{k\}], \quad
        \overline p_k = \sum_t w_t [k \in A_t], \quad
        p_k = \sum_t w_t \frac{[k \in A_t]}{|A_t|}
        """,
        "For cautious forests: each tree gives the set of classes that it cannot tell apart. With"
        ' `weights="learned"` the weights of trees are learned on out-of-bag rows.',
    ),
    "mva": Told(
        "MVA",
        r"\text{chosen} = \text{arg max}_k \overline p_k = \text{arg min}_k"
        r" \sum_t w_t\,[k \notin A_t]",
        "If there are several classes and one must be chosen: the class that the fewest trees rule out.",
    ),
    "dominance_vote": Told(
        "Dominance vote",
        r"p_k = \frac{\sum_t w_t [A_t = \{k\}]}{\sum_t w_t [\,|A_t| = 1]}, \quad"
        r" \underline p_k = \frac{\sum_t w_t [A_t = \{k\}]}{\sum_t w_t}",
        "Only decided trees vote. `weights` are those of the rule `belief`.",
    ),
    "cdm_vote": Told(
        "CDM-Vote",
        r"\text{chosen} = \text{arg max}_A\ g(|A|) \sum_t w_t\,[A_t \subseteq A]",
        "For sets among many classes, if trees hesitate between a few of them: it finds sets of classes that occur"
        " together.",
    ),
    "dempster": Told(
        "Dempster",
        r"""
        m_t(\{\hat k_t\}) = s_t, \quad m_t(\Omega) = 1 - s_t, \qquad
        W_k = \sum_{t : \hat k_t = k} -\log(1 - s_t), \qquad
        \mathrm{Bel}(k) = \frac{(e^{W_k} - 1)}{1 + \sum_j (e^{W_j} - 1)}
        """,
        "For trees with independent evidence. The trees of one forest are not independent, so opinions become very"
        " certain very quickly; they still rank samples well.",
    ),
    "cautious": Told(
        "Cautious",
        r"W_k = \max_{t : \hat k_t = k} -\log(1 - s_t), \qquad \mathrm{Bel}(k) \text{ as in Dempster's rule}",
        "For trees grown on the same rows: repeated evidence counts once. A single confident tree can decide.",
    ),
    "dubois_prade": Told(
        "Dubois and Prade",
        r"m(\{k : \text{some leaf supports } k\}), \text{ each leaf supporting } \hat k_t \text{ with } s_t;"
        r" \quad \overline p_k = 1 - e^{-W_k}\bigl(1 - e^{-\sum_{j \ne k} W_j}\bigr)",
        "If classes with contradicting leaves should stay possible, and no others. `DuboisPrade(pooled=False)` does not"
        " pool leaves by class first. Yager's rule, which keeps all classes possible, is `Dempster(normalised=False)`.",
    ),
    "lns": Told(
        "LNS",
        r"""
        m_k = \alpha_k \bigl(1 - e^{-W_k}\bigr), \quad
        \alpha_k = \text{share of } k \text{ among the } \hat k_t, \quad
        m(k) \propto m_k \prod_{j \ne k} (1 - m_j)
        """,
        "For many trees: leaves that agree are combined as by Dempster's rule, but count as much as they are many. So a"
        " few sure leaves do not outweigh a majority.",
    ),
    "pcr6": Told(
        "PCR6",
        r"""
        m(k) = \sum_{S} \prod_{t \in S} s_t \prod_{t \notin S} (1 - s_t)\,
        \frac{\sum_{t \in S,\, \hat k_t = k} s_t}{\sum_{t \in S} s_t}, \quad S \text{ over all sets of trees}
        """,
        "If conflict should go back to its sources, in proportion to their masses, instead of being divided"
        " out. It is not a fold, so it is slower.",
    ),
    "eva": Told(
        "EVA",
        r"p_k \propto P(k) \prod_t \frac{(n_{tk} + \epsilon) / (n_t + K\epsilon)}{P(k)}",
        "For ranking (AUC) with many random trees: evidence accumulates, and probabilities tend to 0 and 1.",
    ),
    "interval_average": Told(
        "Interval average",
        r"\text{chosen} = \{k : \overline p_k \ge \max_{j \ne k} \underline p_j\} \text{ with the bounds of average}",
        "The average with its own decision: the baseline of the literature on cautious forests. With"
        ' `weights="learned"` or `"minimax"` the weights of trees are learned on out-of-bag rows.',
    ),
    "interval_conjunction": Told(
        "Interval conjunction",
        r"\underline p_k = \max_t \frac{n_{tk}}{n_t + s}, \quad \overline p_k = \min_t \frac{n_{tk} + s}{n_t + s}"
        r"\quad \text{where these hold a distribution, else the average}",
        "If every tree is right about its bounds. This is seldom so; check the conflict.",
    ),
    "interval_disjunction": Told(
        "Interval disjunction",
        r"\underline p_k = \min_t \frac{n_{tk}}{n_t + s}, \quad \overline p_k = \max_t \frac{n_{tk} + s}{n_t + s}",
        "If at least one tree is right. These are the most cautious and the widest bounds.",
    ),
    "median": Told(
        "Median",
        r"p_k \propto \text{median}_t \frac{n_{tk}}{n_t}",
        "If some trees are far off. It is not a fold, so it is slower.",
    ),
    "generalised_mixture": Told(
        "Generalised mixture",
        r"p_k \propto \frac{1}{T - 1} \sum_t x_t \Bigl(1 - \frac{|x_t - \theta|}{\sum_j |x_j - \theta|}\Bigr),"
        r"\quad x_t = \frac{n_{tk}}{n_t}",
        "If trees far from the others should count less, but not be dropped. It is not a fold, so it is slower.",
    ),
    "signed_maximum": Told(
        "Signed maximum",
        r"d_k = \max_t \Bigl(\frac{n_{tk}}{n_t} - \max_{j \ne k} \frac{n_{tj}}{n_t}\Bigr)_+, \qquad"
        r" p = \text{the largest } d_k \text{ to its class, the rest to all}",
        "The clearest leaf decides alone. It is mostly useful for comparisons.",
    ),
    "cdm_ave": Told(
        "CDM-Ave",
        r"\text{chosen} = \text{arg max}_A\ g(|A|)\, \mathrm{Bel}(A), \quad"
        r" \mathrm{Bel}(A) = \sum_{k \in A} \underline p_k, \ \mathrm{Bel}(\Omega) = 1",
        "Chooses sets by their utility, with caution: the less is known, the larger the sets.",
    ),
    "ndc": Told(
        "NDC",
        r"\text{chosen} = \text{arg max}_A\ g(|A|) \sum_{k \in A} p_k",
        "Chooses sets by their utility, without caution: the best sets if the probabilities are right.",
    ),
    "cr": Told(
        "CR",
        r"\text{chosen} = \text{fewest classes, most probable first, with } \sum p_k \ge 1 - \epsilon",
        "Chooses a set that contains the class with a given probability, if the probabilities are right. For a"
        " guarantee, use the decision `Coverage`.",
    ),
}

DECISIONS: dict[str, Told] = {
    "dominance": Told(
        "Interval dominance",
        r"k \text{ remains} \iff \overline p_k \ge \max_j \underline p_j",
        "The default for rules that do not choose sets themselves (see `auto`). It is cheap and easy to explain: a"
        " class is dropped if the worst case of another class is better than its best case.",
    ),
    "maximality": Told(
        "Maximality",
        r"k \text{ remains} \iff \nexists j:\ \min_{p} \sum_i p_i (u_{ji} - u_{ki}) > 0",
        "If each mistake has its own cost (`utility=`). Without costs, it equals dominance.",
    ),
    "e_admissibility": Told(
        "E-admissibility",
        r"k \text{ remains} \iff \exists p:\ k \in \text{arg max}_j \sum_i p_i u_{ji}",
        "The smallest sets that hold the best class for every distribution between the bounds.",
    ),
    "maximin": Told(
        "Maximin", r"\text{arg max}_k \underline p_k", "If one class is needed and the worst case matters."
    ),
    "maximax": Told(
        "Maximax",
        r"\text{arg max}_k \overline p_k",
        "If one class is needed and the best case matters, as in screening.",
    ),
    "hurwicz": Told(
        "Hurwicz",
        r"\text{arg max}_k\ \gamma\, \overline p_k + (1 - \gamma)\, \underline p_k",
        "A compromise between maximin and maximax.",
    ),
    "pignistic": Told(
        "Pignistic",
        r"\text{arg max}_k\ \underline p_k + (\overline p_k - \underline p_k)"
        r"\frac{1 - \sum \underline p}{\sum (\overline p - \underline p)}",
        "One class to bet on: the rest above the lower bounds is shared in proportion to the interval widths.",
    ),
    "expected_utility": Told(
        "Expected utility",
        r"\text{arg max}_k p_k",
        "The class that `predict` returns; with costs, the best action.",
    ),
    "u65": Told(
        "Best set by u65",
        r"\text{arg max}_A \Bigl(\frac{1.6}{|A|} - \frac{0.6}{|A|^2}\Bigr) \sum_{k \in A} p_k",
        "A correct pair is worth 0.65 of a correct class. This gives small sets.",
    ),
    "u80": Told(
        "Best set by u80",
        r"\text{arg max}_A \Bigl(\frac{2.2}{|A|} - \frac{1.2}{|A|^2}\Bigr) \sum_{k \in A} p_k",
        "A correct pair is worth 0.80 of a correct class. This gives larger sets, and fewer mistakes.",
    ),
    "f1": Told(
        "Best set by F1",
        r"\text{arg max}_A \frac{2}{1 + |A|} \sum_{k \in A} p_k",
        "Sets with the best expected F1 measure, as in information retrieval.",
    ),
    "top_probability": Told(
        "Top probability",
        r"\text{fewest classes, most probable first, with } \sum p_k \ge 1 - \epsilon",
        "The smallest sets that are probable enough, if the probabilities are right.",
    ),
    "coverage": Told(
        "Coverage",
        r"\{k : -\log p_k \le \tau\}, \quad \tau = \text{the } \lceil (n + 1)(1 - \alpha) \rceil\text{-th smallest of"
        r" } -\log p_{y_i}(x_i)",
        "Guarantees how often the true class is inside, even if the probabilities are wrong (conformal prediction). See"
        " {doc}`/explanation/guarantees`.",
    ),
    "risk": Told(
        "Risk",
        r"\{\text{arg max}_k p_k\} \text{ if } \max_k p_k > \tau, \text{ else all classes;} \quad \tau = \text{the"
        r" last of descending thresholds that pass } P(\text{Binomial}(n_\tau, \epsilon) \le w_\tau) \le \delta_\tau",
        "Guarantees, with confidence 1 − δ, that at most a share ε of decisions is wrong; n labelled rows"
        " lie above the threshold, and w of them would be decided wrongly. The levels δ of the tests are those of a"
        " fallback procedure. See {doc}`/how-to/coverage-and-risk`.",
    ),
    "screening": Told(
        "Screening",
        r"\text{without class } c \text{ if } p_c < \tau_{\text{low}}, \; \{c\} \text{ if } p_c > \tau_{\text{high}},"
        r" \text{ else all classes}",
        "Guarantees sensitivity, specificity and predictive values for one class, together with a confidence. See"
        " {doc}`/how-to/coverage-and-risk`.",
    ),
    "auto": Told(
        "Auto",
        r"\text{what the rule has chosen, else interval dominance}",
        "The default: a rule that chooses sets itself is used as its authors describe it.",
    ),
    "rule": Told(
        "The rule's own choice",
        r"\text{what the rule has chosen, else interval dominance}",
        "For rules that are decisions by themselves: MVA, CDM-Ave, CDM-Vote, NDC, CR, interval average, dominance"
        " vote, credal set of trees.",
    ),
}


#: Columns of the capability tables, with the attribute of the class for each.
RULE_COLUMNS: dict[str, Callable[[Rule], str | bool]] = {
    "merge": lambda rule: rule.merge,
    "tree weights": lambda rule: rule.weighable,
    "adds up": lambda rule: ", ".join(rule.adds_up),
    "own sets": lambda rule: rule.chooses,
    "equally wide": lambda rule: rule.even,
    "scale-free": lambda rule: rule.scale_free,
    "smooth": lambda rule: rule.smooth,
    "steady": lambda rule: rule.steady,
    "page": lambda rule: rule.page or False,
    "ONNX": lambda rule: rule.onnx,
    "scikit-learn, treelite": lambda rule: "probability" in rule.adds_up,
}
DECISION_COLUMNS: dict[str, Callable[[Decision], str | bool]] = {
    "actions": lambda decision: isinstance(decision, ActionDecision),
    "calibrated": lambda decision: decision.needs_calibration,
    "drops by bounds": lambda decision: decision.by_bounds,
    "follows dominance": lambda decision: decision.follows_dominance,
    "page": lambda decision: (decision.on_page() or [False])[0],
    "ONNX": lambda decision: decision.onnx,
}
CRITERION_COLUMNS: dict[str, Callable[[Criterion], str | bool]] = {
    "in the core": lambda criterion: criterion.compiled,
    "chosen by `fit`": lambda criterion: len(criterion.candidates()) > 1,
    "scikit-learn": lambda criterion: criterion.in_sklearn or False,
}
#: The lines around the tables in ``reference/capabilities.md``.
BEGIN, END = "<!-- what each can do: written by docs/methods.py -->\n", "<!-- end -->\n"


def abilities() -> str:
    """Return tables of the capabilities of rules, decisions and criteria."""
    rules = {name: resolve_rule(name) for name in RULES}
    criteria = {name: kind() for name, kind in CRITERIA.items()}
    return f"""## Rules

{_matrix("rule", rules, RULE_COLUMNS)}

## Decisions

{_matrix("decision", all_decisions(), DECISION_COLUMNS)}

## Criteria

{_matrix("criterion", criteria, CRITERION_COLUMNS)}
"""


def write_abilities(page: Path) -> None:
    """Replace the tables in a page."""
    before, rest = page.read_text().split(BEGIN)
    page.write_text(f"{before}{BEGIN}{abilities()}{END}{rest.split(END)[1]}")


def write_pages(folder: Path) -> None:
    """Write a page for each rule, one for all decisions, and an index, as Markdown; unchanged files are not written."""
    folder.mkdir(parents=True, exist_ok=True)
    check_complete()
    pages = {name: rule_page(name) for name in rule_names()}
    pages |= {"decisions": decisions_page(), "index": index_page()}
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        page = folder / f"{name}.md"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def check_complete() -> None:
    """Raise an error if a method has no formula, or a formula no method."""
    for told, known in ((RULES, rule_names()), (DECISIONS, all_decisions())):
        if set(told) != set(known):
            raise ValueError(
                f"docs/methods.py must describe {sorted(known)}, got {sorted(told)}; add or drop the others"
            )


def index_page() -> str:
    """All rules in a table, and the symbols of their formulas."""
    rows = "\n".join(
        f"| [{told.title}]({name}.md) | `{name}` | {_first_sentence(resolve_rule(name))} |"
        for name, told in RULES.items()
    )
    toc = "\n".join([*RULES, "decisions"])
    return rf"""# Methods

A sample reaches a leaf in each of $T$ trees. The leaf of tree $t$ holds $n_t$ training rows, of which $n_{{tk}}$ are of
class $k$; there are $K$ classes. A **rule** combines the leaves into one opinion: a probability $p_k$ of each class,
between a lower bound $\underline p_k$ and an upper bound $\overline p_k$. The **caution** $s$ is the pseudo-count of
the imprecise Dirichlet model in each leaf. A [**decision rule**](decisions.md) chooses the prediction set.

Unless a page says otherwise, a rule that averages distributions $p_t$ holds back the share $r_t = s / (n_t + s)$ of
each leaf: $\underline p_k = \frac1T \sum_t (1 - r_t)\, p_{{tk}}$ and $\overline p_k = \underline p_k + \frac1T \sum_t
r_t$. An empty leaf holds back everything. $[\cdot]$ is 1 if the condition holds, otherwise 0. $\hat k_t$ is the class
with most rows in the leaf, $w_t$ the weight of a tree (weights sum to one), and $g$ the
[utility of a set](decisions.md) by its size.

| rule | name | what it does |
|---|---|---|
{rows}

Most rules come from these papers:

{_sources()}

```{{toctree}}
:hidden:

{toc}
```
"""


def rule_page(name: str) -> str:
    """The page of one rule: formula, when to use it, an example of two leaves, code and parameters."""
    rule, told = resolve_rule(name), RULES[name]
    kind = type(rule)
    return f"""# {told.title}

{_first_sentence(rule)}

```{{math}}
{_lines(told.formula)}
```

**When.** {told.when}

```python
forest.set_params(rule="{name}")  # on a fitted forest, without another fit
```

## An example of two leaves

The leaf of one tree holds four rows of the first class. The leaf of the other tree holds ten rows of the first class
and forty of the second. The caution is {CAUTION:g}.

{_example_table(rule)}

## The code

`lift` is called once for each leaf, the states of leaves are merged by `{rule.merge}`, and `finish` is called once for
each sample.

{_source(kind, "lift")}
{_source(kind, "finish")}

## Reference

```{{eval-rst}}
.. autoclass:: hedgerow.rules.{kind.__name__}
   :no-index:
```
"""


def decisions_page() -> str:
    """The page of all decisions."""
    parts = [
        f"""## {told.title}

```{{math}}
{_lines(told.formula)}
```

{told.when}

```python
forest.set_params(decision="{name}")
```
"""
        for name, told in DECISIONS.items()
    ]
    return rf"""# Decisions

An opinion has a lower bound $\underline p_k$, an upper bound $\overline p_k$ and a probability $p_k$ of each class. A
decision keeps some classes: one, or those that cannot be told apart. Bounds are first made reachable: each is attained
by some distribution between the bounds. A class that is tied (to $10^{{-12}}$) is kept.

{_decisions_table()}

{chr(10).join(parts)}
"""


def _lines(formula: str) -> str:
    """Formulas in one line -> formulas below each other, for narrow screens."""
    return re.sub(r",\s*\\q?quad\s*", r",\\\\\n", textwrap.dedent(formula).strip())


def _sources() -> str:
    """The papers that introduced the rules, from the files of the experiments that reproduce them."""
    lines = []
    for name in ("zhang_2021", "busch_2021", "sutton_2012"):
        paper = json.loads((files("hedgerow.study.experiments") / name / "paper.json").read_text(encoding="utf-8"))
        command = f"hedgerow reproduce {name.replace('_', '-')}"
        lines.append(f"* {paper['authors']}: *{paper['title']}*, {name[-4:]}; `{command}`")
    return "\n".join(lines)


def _first_sentence(rule: Rule) -> str:
    """The first paragraph of the docstring of the class."""
    lines = (inspect.getdoc(type(rule)) or "").split("\n\n")[0]
    return " ".join(lines.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _example_table(rule: Rule) -> str:
    """The opinion about two leaves, as a table."""
    weights = np.ones(LEAVES.shape[1]) if rule.needs_weights else None
    opinion = combine(LEAVES, rule, caution=CAUTION, weights=weights)
    head = "| | lower | probability | upper |\n|---|---|---|---|\n"
    rows = "".join(
        f"| class {k + 1} | {opinion.lower[0, k]:.3f} | {opinion.probability[0, k]:.3f} | {opinion.upper[0, k]:.3f} |\n"
        for k in range(opinion.n_classes)
    )
    return f"{head}{rows}\nconflict {opinion.conflict[0]:.3f}, vacuity {opinion.vacuity[0]:.3f}"


def _decisions_table() -> str:
    """The sets that decisions choose from one opinion about three classes."""
    opinion = combine([[[6, 5, 1], [4, 6, 0], [7, 3, 2]]], caution=2.0)
    names = ("a", "b", "c")
    bounds = ", ".join(
        f"{name} in [{opinion.lower[0, k]:.2f}, {opinion.upper[0, k]:.2f}]" for k, name in enumerate(names)
    )
    rows = []
    for name, decision in all_decisions().items():
        if decision.needs_calibration:
            continue
        chosen = decide(opinion, decision)[0]
        rows.append(f"| `{name}` | {{{', '.join(each for each, kept in zip(names, chosen, strict=True) if kept)}}} |")
    return f"For an opinion with {bounds}:\n\n| decision | remains |\n|---|---|\n" + "\n".join(rows)


def _matrix(head: str, things: Mapping[str, Any], columns: Mapping[str, Callable[[Any], str | bool]]) -> str:
    """Name -> rule, decision or criterion; column -> its attribute -> a table."""
    lines = [f"| {head} | {' | '.join(columns)} |", f"|---{'|---' * len(columns)}|"]
    for name, thing in things.items():
        said = [ask(thing) for ask in columns.values()]
        cells = ["yes" if each is True else "" if each is False else each for each in said]
        lines.append(f"| `{name}` | {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |"))
    return "\n".join(lines)


def _source(kind: type[Any], method: str) -> str:
    """The source of a method, of the class itself or of the class from which it is inherited."""
    home = next(each for each in kind.__mro__ if method in vars(each))
    source = textwrap.dedent(inspect.getsource(getattr(home, method)))
    note = "" if home is kind else f"As in `{home.__name__}`:\n\n"
    return f"{note}```python\n{source}```\n"


if __name__ == "__main__":
    write_abilities(Path(__file__).parent / "reference" / "capabilities.md")
