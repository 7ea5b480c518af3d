"""The report in a real browser: sliders move, numbers are Python's, keys work, hostile text stays text."""

from __future__ import annotations

import copy
import json
import re

import numpy as np
import pytest

from hedgerow import RandomForestClassifier, RandomForestRegressor
from hedgerow.explain.report.answers_file import model_mark, read_answers
from hedgerow.explain.words import remedy_words
from hedgerow.inference.fitted import fitted_of
from hedgerow.table import NamedColumns
from hedgerow.table.bins import date_words

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 2">',
    "<svg/onload=window.hacked=3>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.hacked=4",
    "<!--<script>",
    "\u2028window.hacked=5\u2029</title>",
    "' onmouseover='window.hacked=6",
)


@pytest.fixture(scope="module")
def report(cancer):
    forest, X, y = cancer
    return forest.report(X, y, names=[f"P{number:03}" for number in range(len(X))], time_limit=0.5)


def shown_bounds(page):
    """-> the bounds the case shows, in per cent, one pair a class in the order of the classes."""
    texts = page.locator("#case .numbers").evaluate_all(
        "all => all.map((e) => [Number(e.dataset.class), e.textContent])"
    )
    return [[float(number) for number in re.findall(r"[\d.]+", text)] for _, text in sorted(texts)]


def lines_of(cells):
    """Cells of a table -> the number of lines on which the text of each stands."""
    return cells.evaluate_all(
        "all => all.map((e) => e.firstChild).map((node) => {"
        " const range = document.createRange(); range.selectNodeContents(node);"
        " return range.getClientRects().length; })"
    )


def selected_row(page):
    """-> number of the selected row in the table."""
    return page.evaluate(
        "window.hedgerow.data.names.indexOf(document.querySelector('#case h3').textContent)",
    )


def settle(page):
    """Wait until the page has drawn what was asked."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def set_caution(page, value):
    """Type a caution."""
    page.fill("#caution-number", str(value))
    settle(page)


def test_bounds_shown_are_those_of_python_at_every_setting(open_page, report, cancer):
    forest, X, _ = cancer
    page, evidence = open_page(report), forest.evidence(X)
    for rule, caution in (("average", 2.0), ("average", 0.4), ("dempster", 1.0), ("eva", 3.0), ("belief", 5.0)):
        page.select_option("#rule", rule)
        set_caution(page, caution)
        own = rule == forest.rule  # which is shown with the map of the forest, others without
        row, opinion = selected_row(page), evidence.combine(None if own else rule, caution=caution)
        expected = 100 * np.stack([opinion.lower[row], opinion.upper[row]], axis=1)
        np.testing.assert_allclose(shown_bounds(page), expected, rtol=0, atol=0.05 + 1e-9)
        undecided = int((evidence_sets(opinion).sum(axis=1) > 1).sum())
        assert page.locator('[data-count="open"]').inner_text() == str(undecided)


def evidence_sets(opinion):
    """Opinion -> the sets of interval dominance."""
    return opinion.upper >= opinion.lower.max(axis=1, keepdims=True) - 1e-12


def test_figures_of_a_page_with_some_rows_are_those_of_all_rows(open_page, cancer):
    forest, X, y = cancer
    made = forest.report(X, y, time_limit=0, max_cases=60)
    page = open_page(made)
    shown = dict(zip(*(page.locator(f"#tally {tag}").all_inner_texts() for tag in ("dt", "dd")), strict=True))
    assert shown["rows"] == str(len(X))
    assert shown["undecided"] == str(made.figures["indeterminate"])
    assert shown["decided"] == f"{1 - made.figures['indeterminate'] / len(X):.1%}"
    assert float(shown["accuracy of decided rows"].rstrip("%")) > 80
    assert "estimates for all rows" in page.locator("#note").inner_text()


def test_slider_moves_by_keys_and_everything_follows(open_page, report):
    page = open_page(report)
    before = (shown_bounds(page), page.locator("#tally").inner_text())
    page.focus("#caution")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    settle(page)
    assert float(page.input_value("#caution-number")) == pytest.approx(3.0)
    after = (shown_bounds(page), page.locator("#tally").inner_text())
    assert after[0] != before[0]
    assert after[1] != before[1]
    page.click("#reset")
    settle(page)
    assert (shown_bounds(page), page.locator("#tally").inner_text()) == before


def test_decision_changes_sets_and_not_bounds(open_page, report):
    page = open_page(report)
    before = shown_bounds(page)
    assert "undecided" in page.locator("#case .chip").inner_text()
    page.select_option("#decision", "expected_utility")
    settle(page)
    assert shown_bounds(page) == before
    assert page.locator("#case .chip").inner_text() == "decided"
    assert page.locator('[data-count="open"]').inner_text() == "0"
    assert page.locator("#none").is_visible()


def test_list_sorts_by_each_column_both_ways(open_page, report):
    page = open_page(report)
    page.check('#filter input[value="all"]', force=True)
    settle(page)
    for key, cell in (("width", "td.width"), ("probability", "td.mini")):
        for _ in range(2):
            page.click(f'#list th[data-key="{key}"] button')
            settle(page)
            texts = page.locator(f"#list tbody tr {cell}").all_inner_texts()
            numbers = [float(re.findall(r"([\d.]+)%", text)[0]) for text in texts]
            down = page.get_attribute(f'#list th[data-key="{key}"]', "aria-sort") == "descending"
            assert numbers == sorted(numbers, reverse=down)
            assert numbers[0] != numbers[-1]


def test_arrow_keys_walk_through_the_list(open_page, report):
    page = open_page(report)
    names = page.locator("#list .pick").all_inner_texts()
    page.focus("#list .pick >> nth=0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#case h3").inner_text() == names[2]
    page.keyboard.press("ArrowUp")
    assert page.locator("#case h3").inner_text() == names[1]
    assert page.evaluate("document.activeElement.textContent") == names[1]


def test_filters_list_what_they_say(open_page, report, cancer):
    forest, X, y = cancer
    page = open_page(report)
    wrong = forest.predict(X) != y
    alone = forest.predict_set(X).sum(axis=1) == 1
    for value, expected in (("wrong", wrong), ("missed", wrong & alone), ("open", ~alone)):
        page.check(f'#filter input[value="{value}"]', force=True)
        settle(page)
        found = {int(name[1:]) for name in page.locator("#list .pick").all_inner_texts()}
        assert found == set(np.flatnonzero(expected).tolist())


def test_caution_at_which_a_case_is_decided_is_the_librarys(open_page, report, cancer):
    forest, X, _ = cancer
    page = open_page(report)
    said = page.locator("#case").inner_text()
    turn = float(re.search(r"Decided up to caution ([\d.]+),", said)[1])
    evidence, row = forest.evidence(X), selected_row(page)
    sizes = [int(evidence_sets(evidence.combine(caution=turn + off))[row].sum()) for off in (-0.011, 0.011)]
    assert sizes == [1, 2]


def test_case_shows_what_explain_says_of_it(open_page, report, cancer):
    forest, X, _ = cancer
    page = open_page(report)
    row = selected_row(page)
    explanation = forest.explain(X.iloc[[row]], time_limit=0)[0]
    said = " ".join(page.locator("#case").inner_text().split())
    assert explanation.sentence in said
    for line in explanation.rules:
        assert line in said
    shares = [int(text.removesuffix("%")) for text in page.locator("#case .sources .number").all_inner_texts()]
    assert sum(shares) == 100
    assert shares[0] == round(100 * explanation.uncertainty[0].share)
    assert page.locator("#case h4.why").inner_text() == "Explanation"
    set_caution(page, 4)
    assert page.locator("#case h4.why").inner_text() == "Explanation at these settings"
    more = copy.copy(forest).set_params(caution=4.0).explain(X.iloc[[row]], time_limit=0)[0]
    found = page.evaluate("(number) => window.hedgerow.uncertaintyOf(window.hedgerow.evidence, number, 4)", row)
    gaps = any(each.amount > 0 for each in more.uncertainty if each.cause in ("missing", "out_of_range"))
    for each in more.uncertainty if not gaps else ():
        if each.cause in found:
            assert found[each.cause] == pytest.approx(each.amount, abs=1e-9)
    said = " ".join(page.locator("#case").inner_text().split())
    assert remedy_words(more)[0] in said


@pytest.mark.parametrize("scripts", [True, False])
def test_hostile_names_values_and_classes_stay_text(open_page, browser, tmp_path, scripts):
    pandas = pytest.importorskip("pandas")
    draw = np.random.default_rng(0)
    n_rows = 80
    X = pandas.DataFrame({name: draw.normal(size=n_rows) for name in HOSTILE})
    X[HOSTILE[0] + "2"] = pandas.Categorical(np.array(HOSTILE)[draw.integers(0, 3, n_rows)])
    y = np.array(HOSTILE)[(X[HOSTILE[0]] + 0.7 * draw.normal(size=n_rows) > 0).astype(int) + (X[HOSTILE[1]] > 0.6)]
    forest = RandomForestClassifier(20, caution=3.0, random_state=0).fit(X[:40], y[:40])
    report = forest.report(X[40:], y[40:], names=np.array(HOSTILE)[np.arange(40) % 8], title=HOSTILE[0], time_limit=0.5)
    if scripts:
        page = open_page(report)
        for row in range(min(8, page.locator("#list .pick").count())):
            page.locator("#list .pick").nth(row).click()
        assert page.locator("#case h3").inner_text() in HOSTILE or "window" in page.locator("#case h3").inner_text()
    else:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(report.save(tmp_path / "plain.html").as_uri())
        assert page.locator("noscript table").count() == 1
    assert page.locator("h1").inner_text() == HOSTILE[0]
    assert page.locator("img, iframe, object, embed, svg[onload], [onmouseover], [onerror]").count() == 0
    assert page.locator("script").count() == 2
    if scripts:
        assert page.evaluate("window.hacked") is None
        assert not page.evaluate("[...document.querySelectorAll('*')].some((e) => e.textContent === '49')")
    else:
        context.close()


def test_policy_lets_no_other_script_run(browser, report, tmp_path):
    page = browser.new_page()
    page.goto(report.save(tmp_path / "report.html").as_uri())
    blocked = page.evaluate(
        """() => new Promise((done) => {
          document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
          const intruder = document.createElement("div");
          intruder.innerHTML = '<b onclick="window.hacked = 1"></b>';
          document.body.append(intruder);
          intruder.firstChild.click();
          setTimeout(() => done(null), 500);
        })"""
    )
    assert blocked == "script-src-attr"
    assert page.evaluate("window.hacked") is None
    page.close()


@pytest.mark.parametrize(
    ("name", "size", "options"),
    [
        ("desktop", (1280, 900), {}),
        ("dark", (1280, 900), {"color_scheme": "dark"}),
        ("phone", (390, 844), {"has_touch": True}),
    ],
)
def test_page_fits_the_screen_and_is_kept_as_a_picture(open_page, report, artefacts, name, size, options):
    page = open_page(report, width=size[0], height=size[1], **options)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.screenshot(path=artefacts / f"report-{name}.png", full_page=True)
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (light[0] > light[1]) == (name == "dark")


def test_printed_page_has_the_case_and_no_buttons(open_page, report, artefacts):
    page = open_page(report)
    page.emulate_media(media="print")
    assert page.locator("#case h3").is_visible()
    assert page.locator("nav").is_hidden()
    assert page.locator("#reset").is_hidden()
    page.pdf(path=artefacts / "report.pdf", format="A4", print_background=True)
    assert (artefacts / "report.pdf").read_bytes().startswith(b"%PDF")


def test_doubt_of_all_cases_is_the_librarys(open_page, report, cancer):
    forest, X, _ = cancer
    page = open_page(report)
    ask = "() => window.hedgerow.data.sets.map((_, n) => window.hedgerow.uncertaintyOf(window.hedgerow.evidence, n, 2))"
    compared = 0
    for said, explanation in zip(page.evaluate(ask), forest.explain(X, time_limit=0, cases=0, shap=False), strict=True):
        amounts = {each.cause: each.amount for each in explanation.uncertainty}
        if amounts["out_of_range"] == 0 and None not in explanation.values.values():
            compared += 1
            assert said == {cause: pytest.approx(amounts[cause], abs=1e-9) for cause in said}
    assert compared > 100


def test_answers_of_the_reader_are_saved_as_a_file(open_page, report, cancer):
    forest, _, _ = cancer
    page = open_page(report)
    assert page.locator("#answers").is_hidden()
    row = selected_row(page)
    page.check('.answer input[value="1"]')
    page.fill(".answer .note", "seen again in May")
    page.locator("#list .pick").nth(1).click()
    other = selected_row(page)
    page.check('.answer input[value="unsure"]')
    assert page.locator("#answers-count").inner_text() == "2 cases answered, not saved yet"
    assert page.locator('[data-count="marked"]').inner_text() == "2"
    with page.expect_download() as saved:
        page.click("#save")
    assert saved.value.suggested_filename == "answers.json"
    held = read_answers(saved.value.path().read_text(encoding="utf-8"))
    assert held.model == model_mark(fitted_of(forest))
    assert {each.row: each[1:] for each in held.answers} == {
        row: (1, False, "seen again in May"),
        other: (None, True, ""),
    }
    assert json.loads(page.evaluate("window.hedgerow.answersFile()"))["answers"]


@pytest.fixture(scope="module")
def numbers():
    """A regressor, rows and targets."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(240, 4))
    y = 10 * X[:, 0] + X[:, 1] ** 2 + draw.normal(size=240)
    X[::11, 2] = np.nan
    return RandomForestRegressor(30, random_state=0).fit(X[:120], y[:120]), X[120:], y[120:]


def test_intervals_of_the_page_are_those_of_python_at_every_coverage(open_page, numbers):
    forest, X, y = numbers
    page = open_page(forest.report(X, y))
    for coverage in (0.9, 0.5, 0.8):
        page.locator("#coverage").fill(str(round(100 * coverage)))
        settle(page)
        np.testing.assert_allclose(page.evaluate("window.hedgerow.ends()"), forest.predict_interval(X, coverage))
    page.fill(".answer input[type=number]", "12.5")
    answer = json.loads(page.evaluate("window.hedgerow.answersFile()"))["answers"][0]
    assert (answer["answer"], answer["label"]) == (12.5, None)


def test_no_column_is_cut_on_a_phone(open_page, numbers, report):
    forest, X, y = numbers
    for made in (report, forest.report(X, y)):
        page = open_page(made, width=375, height=812, has_touch=True)
        cut = "() => [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        assert page.evaluate(cut) == 0


@pytest.mark.parametrize("part", [0.0, 0.52], ids=["days", "times"])
def test_dates_of_a_case_are_those_of_python(open_page, part):
    rng = np.random.default_rng(0)
    days = np.floor(rng.uniform(-30_000, 30_000, 120)) + part
    table = NamedColumns(("admitted", "dose"), [days, rng.normal(size=120)], {"admitted"})
    forest = RandomForestClassifier(10, random_state=0).fit(table, np.where(days > 0, "new", "old"))
    page = open_page(forest.report(table, time_limit=0))
    feature = "window.hedgerow.data.features.find((each) => each.name === 'admitted')"
    shown = page.evaluate(f"{feature}.values.map((day) => window.hedgerow.dateWords(day, {feature}.date))")
    rows = page.evaluate("Array.from(window.hedgerow.rows)")
    assert shown == [date_words(float(days[row]), "time" if part else "date") for row in rows]
    assert page.locator("#case .values tr", has_text="admitted").locator("td").first.inner_text() in shown


def test_groups_and_costs_fit_a_phone_and_no_number_is_broken(open_page):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, "tested_positive_again", "tested_negative_again")
    forest = RandomForestClassifier(20, random_state=0).fit(X[:200], y[:200])
    by = {"weight_of_the_patient": X[200:, 1], "station": np.where(X[200:, 2] > 0, "internal_medicine", "surgery")}
    costs = {"tested_negative_again": [0, 1234.5], "tested_positive_again": [100.25, 0], "look again": [7, 2]}
    page = open_page(forest.report(X[200:], y[200:], time_limit=0, by=by, costs=costs), width=375)
    assert page.locator("table.breakdown").count() == 3
    cut = "all => all.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText)"
    assert page.locator("#performance .scroll").evaluate_all(cut) == []
    assert set(lines_of(page.locator("table.breakdown td.number"))) == {1}


def test_names_and_p_values_of_strangers_are_not_broken_on_a_phone(open_page, numbers):
    forest, X, y = numbers
    names = [f"F{number:05}" for number in range(len(X))]
    page = open_page(forest.report(X + 9, y, names=names, time_limit=0), width=375)
    for column in (1, 2):
        assert set(lines_of(page.locator(f"#novel td:nth-child({column})"))) == {1}


@pytest.fixture(scope="module")
def prices():
    """A report about large numbers."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3)) * [1, 50_000, 3_000_000]
    y = 1_500_000 + 300_000 * X[:, 0] + rng.normal(size=400) * 100_000
    forest = RandomForestRegressor(20, random_state=0).fit(X[:200], y[:200])
    return forest.report(X[200:], y[200:])


def test_a_number_and_its_sign_stay_on_one_line(open_page, report, prices):
    for page in (open_page(report), open_page(prices)):
        page.check('#filter input[value="all"]', force=True)
        settle(page)
        assert torn(page) == []
    page = open_page(report)
    set_caution(page, 0.3)
    assert torn(page) == []


def torn(page):
    """A page -> what it says where a line may break between a number and its sign; tables of data are not asked."""
    said = page.evaluate("document.body.textContent.replace(document.getElementById('data').textContent, '')")
    script = said.find("(() => {")
    return re.findall(r".{0,20}(?:\d[ \n]%|±[ \n]\d).{0,20}", said[:script])


def test_counts_have_separators(open_page, prices):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 3))
    y = np.where(np.where(np.abs(X[:, 0]) < 0.5, rng.normal(size=9000), X[:, 0]) > 0, "yes", "no")
    forest = RandomForestClassifier(
        10, caution=1000.0, decision="dominance", min_samples_leaf=1100, random_state=0
    ).fit(X, y)
    page = open_page(forest.report(X * 1.2, y, time_limit=0))
    for said in (*page.locator(".places .count").all_inner_texts(), page.locator("#novel .aside").inner_text()):
        assert not re.search(r"\d{4}", said), said
    assert re.search(r"[1-9],\d{3} rows undecided", page.locator(".places .count").first.inner_text())
    set_caution(page, 1001)
    words = " ".join(page.locator("#case .aside, #case .sources, #case li").all_inner_texts())
    assert re.search(r"The leaves have 1,\d{3} to [1-9],\d{3} training rows", words)
    assert re.search(r"[1-9],\d{3} in the median leaf", words)
    assert re.search(r": [1-9],\d{3} (yes|no)", page.evaluate("Object.values(window.hedgerow.data.why)[0].rules[0]"))
    page = open_page(prices)
    for part in (".lead", "#performance .metrics", "#case ul", "#model"):
        said = page.locator(part).inner_text()
        assert not re.search(r"\d{5}|e\+0", said), said


def test_leaves_that_count_groups_say_so(open_page):
    """Eight rows of each group; the page, at another caution, writes the sentence of the library."""
    rng = np.random.default_rng(0)
    own, group = rng.normal(size=(60, 3)), np.repeat(np.arange(60), 8)
    X, y = own[group] + 0.1 * rng.normal(size=(480, 3)), (own[:, 0] + rng.normal(size=60) > 0)[group].astype(int)
    forest = RandomForestClassifier(10, leaf_counts="groups", min_samples_leaf=30, caution=3.0, random_state=0)
    forest.fit(X, y, groups=group)
    rows = rng.normal(size=(40, 3))
    page = open_page(forest.report(rows, time_limit=0))
    sentence = forest.explain(rows[:1], time_limit=0)[0].to_text()
    assert re.search(r": \d+ groups in the median leaf, caution 3", sentence)
    set_caution(page, 4)
    words = " ".join(page.locator("#case .aside, #case .sources, #case li").all_inner_texts())
    assert re.search(r"The leaves have \d+ to \d+ groups of training rows", words)
    assert re.search(r": \d+ groups in the median leaf, caution 4", words)


def test_strangers_are_counted_in_plain_words(open_page, report):
    assert "(p ≤ 0.01; about 3 expected by chance)" in open_page(report).locator("#novel .aside").inner_text()


@pytest.mark.parametrize("width", [1400, 375])
def test_nearest_cases_with_words_are_whole_and_their_heads_readable(open_page, width):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    made = {
        "residence_since": rng.integers(1, 5, 200),
        "checking_status": rng.choice(["0<=X<200", "<0", "no checking"], 200),
        "property_magnitude": rng.choice(["no known property", "real estate", "life insurance"], 200),
    }
    X = pandas.DataFrame(made)
    y = np.where(X["residence_since"] + (X["checking_status"] == "<0") + rng.normal(size=200) > 3, "bad", "good")
    forest = RandomForestClassifier(20, caution=2.0, random_state=0).fit(X[:120], y[:120])
    page = open_page(forest.report(X[120:], y[120:], time_limit=0), width=width)
    cut = "all => all.filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    assert page.locator(".near").count() == 1
    assert page.locator(".scroll:has(> .near)").evaluate_all(cut) == 0
    assert page.locator(".near thead th").evaluate_all("all => Math.max(...all.map((e) => e.clientHeight))") < 90
    numbers = page.locator(".near tbody td.number").all_inner_texts()
    assert numbers
    assert set(numbers) <= set("1234")  # words are not aligned like numbers
