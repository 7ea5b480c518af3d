/* Page of a classifier: a list of cases and the details of one, which follow the controls. */

const K = data.classes.length, evidence = readEvidence(data.evidence, K);
const truth = data.truth && unpack(data.truth), MOST_BARS = 8, PALETTE = 8;
data.labels = unpack(data.label);

/* Opinions of novel cases and of those with out-of-support values, which depend on more than leaves. */
const adjusted = new Map(adjustedCases(data.adjusted));

function adjustedCases({cases, parts}) {
  const of = Object.entries(parts).map(([name, packed]) => [name, unpack(packed)]);
  return cases.map((number, at) => [number, Object.fromEntries(of.map(([name, all]) => [name, Array.from(all.subarray(at * K, (at + 1) * K))]))]);
}

/* ---- state ----------------------------------------------------------------------------------------------- */

const own = data.settings;
const settings = {};
let answers = [];

function takeOwn() {
  settings.caution = own.caution;
  settings.rule = own.rule.name ?? "average";
  settings.decision = own.decision.name ?? "dominance";
}

/* Parameters of the rule; the model's own rule keeps its own. */
function ruleSetting(caution) {
  const options = settings.rule === own.rule.name ? own.rule.options : {};
  return {...options, caution, prior: data.prior};
}

/* Whether rule, decision and this caution are those with which the page starts. */
function isOwn(caution) {
  return settings.rule === (own.rule.name ?? "average") && settings.decision === (own.decision.name ?? "dominance") && caution === own.caution;
}

/* Prediction from the opinion of the leaves. For novel cases and out-of-support values the model's own opinion is wider: it is used at the
   model's own settings, and its bounds remain at all others. */
function answerOf(opinion, number, caution = settings.caution) {
  const wide = adjusted.get(number), asOwn = wide && isOwn(caution);
  if (asOwn) opinion = {...opinion, ...wide};
  else if (wide) {
    const lower = opinion.lower.map((value, k) => Math.min(value, wide.lower[k])), upper = opinion.upper.map((value, k) => Math.max(value, wide.upper[k]));
    opinion = {...opinion, lower, upper};
  }
  const options = settings.decision === own.decision.name ? own.decision.options : {};
  const chosen = asOwn ? data.classes.map((_, k) => data.sets[number].includes(k)) : decide(opinion, settings.decision, options);
  const label = opinion.probability.reduce((first, value, k) => (value > opinion.probability[first] ? k : first), 0);
  return {...opinion, chosen, label, size: chosen.filter(Boolean).length, width: opinion.upper[label] - opinion.lower[label]};
}

function answerAll() {
  const combine = combiner(evidence, settings.rule, ruleSetting(settings.caution));
  answers = Array.from({length: nCases}, (_, number) => answerOf(combine(number), number));
}

/* ---- words ----------------------------------------------------------------------------------------------- */

const colour = (k) => `k${k % PALETTE}`;
const isWrong = (number) => truth && answers[number].label !== truth[number];

function setWords(chosen) {
  const names = data.classes.filter((_, k) => chosen[k]);
  if (names.length === K && K > 4) return `any of the ${count(K)} classes`;
  if (names.length > 4) return `${names.slice(0, 3).join(", ")} or ${count(names.length - 3)} others`;
  return names.length < 2 ? names[0] : `${names.slice(0, -1).join(", ")} or ${names[names.length - 1]}`;
}

/* ---- controls -------------------------------------------------------------------------------------------- */

function prepareControls() {
  const most = Math.max(10, 2 * own.caution);
  for (const [id, known] of [["rule", RULES], ["decision", DECISIONS]]) {
    for (const [name, {title}] of Object.entries(known)) byId(id).append(element("option", {value: name}, title));
    byId(id).addEventListener("change", (event) => { settings[id] = event.target.value; refresh(); });
  }
  Object.assign(byId("caution"), {max: most, step: 0.05});
  for (const id of ["caution", "caution-number"]) {
    byId(id).addEventListener("input", (event) => {
      const value = Number(event.target.value);
      if (event.target.value === "" || !(value >= 0 && value < Infinity)) return;
      settings.caution = value;
      refresh(id);
    });
  }
  byId("reset").addEventListener("click", () => { takeOwn(); refresh(); });
  showNotes();
}

function showNotes() {
  const parts = [];
  if (!own.rule.name) parts.push(`the rule ${own.rule.text}`);
  if (!own.decision.name) parts.push(`the decision ${own.decision.text}`);
  const notes = [];
  if (parts.length) {
    notes.push(`This page does not support ${parts.join(" and ")} and starts from a similar one. ` +
      "The other sections show the model’s own predictions.");
  }
  if (own.rule.options.map) {
    notes.push("The model is calibrated on out-of-bag rows. Other rules than its own are uncalibrated.");
  }
  if (nCases < data.nRows) {
    notes.push(`The page contains ${count(nCases)} of ${count(data.nRows)} rows: undecided ones and a sample of the decided ones. ` +
      "The figures below are estimates for all rows.");
  }
  byId("note").textContent = notes.join(" ");
  byId("note").hidden = notes.length === 0;
}

function showControls(besides) {
  if (besides !== "caution") byId("caution").value = settings.caution;
  if (besides !== "caution-number") byId("caution-number").value = Number(settings.caution.toFixed(4));
  byId("caution").setAttribute("aria-valuetext", `${settings.caution}`);
  byId("rule").value = settings.rule;
  byId("decision").value = settings.decision;
  byId("rule-hint").textContent = RULES[settings.rule].hint;
  byId("decision-hint").textContent = DECISIONS[settings.decision].hint;
}

/* ---- tally ----------------------------------------------------------------------------------------------- */

/* Number of rows of the table that a case stands for. */
function standsFor(number) {
  return data.sets[number].length > 1 ? data.standsFor.undecided : data.standsFor.decided;
}

function tallied() {
  const sum = (of) => answers.reduce((all, answer, number) => all + standsFor(number) * of(answer, number), 0);
  const n = sum(() => 1), nDecided = sum((answer) => answer.size === 1);
  const tiles = [["rows", count(data.nRows)], ["undecided", count(Math.round(n - nDecided))], ["decided", percent(nDecided / n)]];
  if (truth) {
    const holds = (answer, number) => answer.chosen[truth[number]];
    const right = sum((answer, number) => answer.size === 1 && holds(answer, number));
    const u65 = sum((answer, number) => (holds(answer, number) ? quadratic(0.65)(answer.size) : 0)) / n;
    tiles.push(["accuracy of decided rows", nDecided ? percent(right / nDecided) : "–"]);
    tiles.push(["coverage", percent(sum(holds) / n)], ["u65", u65.toFixed(3)]);
  }
  return tiles;
}

function showTally() {
  byId("tally").replaceChildren(
    ...tallied().map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/* ---- one case -------------------------------------------------------------------------------------------- */

/* Interval of a class, with its probability as a tick, and the cut of the decision. */
function bar(answer, k, small = false) {
  const {lower, upper, probability, chosen} = answer, cut = Math.max(...lower);
  const out = !chosen[k];
  return drawn("svg", {viewBox: "0 0 1000 40", preserveAspectRatio: "none", "aria-hidden": "true"},
    drawn("rect", {class: "track", x: 0, y: 14, width: 1000, height: 12}),
    small ? null : drawn("line", {class: "grid", x1: 500, x2: 500, y1: 0, y2: 40}),
    drawn("rect", {class: colour(k) + (out ? " faint" : ""), x: 1000 * lower[k], y: small ? 6 : 10,
      width: Math.max(3, 1000 * (upper[k] - lower[k])), height: small ? 28 : 20}),
    drawn("rect", {class: "tick", x: clip(1000 * probability[k] - 2, 0, 996), y: small ? 2 : 6, width: small ? 8 : 4, height: small ? 36 : 28}),
    small || !DECISIONS[settings.decision].cuts ? null
      : drawn("line", {class: "bound", x1: 1000 * cut, x2: 1000 * cut, y1: 0, y2: 40}));
}

function verdict(answer) {
  const rule = RULES[settings.rule].title, decision = DECISIONS[settings.decision].title;
  const how = `${rule}, caution ${Number(settings.caution.toFixed(4))}, ${decision.toLowerCase()}`;
  if (answer.size === 1) return `Decided: ${data.classes[answer.chosen.indexOf(true)]}. (${how})`;
  return `Undecided between ${setWords(answer.chosen).replace(/ or ([^,]*)$/, " and $1")}. (${how})`;
}

function intervals(answer) {
  const order = answer.upper.map((_, k) => k).sort((a, b) => answer.upper[b] - answer.upper[a] || a - b);
  const box = element("div", {class: "intervals"});
  for (const k of order.slice(0, MOST_BARS)) {
    const state = answer.chosen[k] ? null : "out";
    box.append(
      element("span", {class: state}, data.classes[k], answer.chosen[k] ? "" : " (ruled out)"),
      bar(answer, k),
      element("span", {class: `numbers ${state ?? ""}`, "data-class": k}, `${percent(answer.lower[k])} to ${percent(answer.upper[k])}`));
  }
  box.append(element("span"), element("span", {class: "scale"}, ...["0", "50", "100%"].map((text) => element("span", {}, text))), element("span"));
  const rest = order.slice(MOST_BARS);
  const more = rest.length ? [element("p", {class: "aside"}, `and ${plural(rest.length, "class").replace(/classs$/, "classes")} with an upper bound of at most ${percent(answer.upper[rest[0]])}`)] : [];
  return [box, ...more];
}

/* Predictions for a case at sixty cautions. They do not depend on the slider, so the last ones are cached: they took 20 of 65 ms per move. */
let known = {};

function pathOf(number, most) {
  const key = `${number} ${settings.rule} ${settings.decision}`;
  if (known.key !== key) {
    const steps = 60, alone = evidenceOf(evidence, number);
    const at = (caution) => answerOf(combiner(alone, settings.rule, ruleSetting(caution))(0), number, caution);
    const path = Array.from({length: steps + 1}, (_, i) => ({caution: (most * i) / steps, ...at((most * i) / steps)}));
    known = {key, path, words: turningWords(path, at)};
  }
  return known;
}

/* Bounds of the two most probable classes against caution. */
function cautionPath(number) {
  const most = Number(byId("caution").max), answer = answers[number], {path, words} = pathOf(number, most);
  const [first, second] = answer.probability.map((_, k) => k).sort((a, b) => answer.probability[b] - answer.probability[a] || a - b);
  const wide = chartWidth, x = (caution) => 34 + ((wide - 50) * Math.min(caution, most)) / most, y = (share) => 8 + 132 * (1 - share);
  const chart = drawn("svg", {class: "chart", viewBox: `0 0 ${wide} 176`, role: "img",
    "aria-label": `Bounds of ${data.classes[first]} and ${data.classes[second] ?? ""} as caution grows`});
  for (const share of [0, 0.5, 1]) {
    chart.append(drawn("line", {class: "grid", x1: 34, x2: wide - 16, y1: y(share), y2: y(share)}),
      drawn("text", {x: 28, y: y(share) + 4, "text-anchor": "end"}, `${100 * share}`));
  }
  for (const k of [second, first].filter((each) => each !== undefined)) {
    const up = path.map((point) => `${x(point.caution).toFixed(1)},${y(point.upper[k]).toFixed(1)}`);
    const down = path.map((point) => `${x(point.caution).toFixed(1)},${y(point.lower[k]).toFixed(1)}`);
    chart.append(drawn("polygon", {class: `band ${colour(k)}`, points: [...up, ...down.reverse()].join(" ")}),
      drawn("polyline", {class: `line ${colour(k)}`, points: up.join(" ")}),
      drawn("polyline", {class: `line ${colour(k)}`, points: down.join(" ")}));
  }
  chart.append(drawn("line", {class: "now", x1: x(settings.caution), x2: x(settings.caution), y1: 4, y2: 144}));
  for (let i = 0; i <= 5; i++) {
    chart.append(drawn("text", {x: x((most * i) / 5), y: 156, "text-anchor": "middle"}, `${Number(((most * i) / 5).toFixed(2))}`));
  }
  chart.append(drawn("text", {x: 9 + wide / 2, y: 172, "text-anchor": "middle"}, "caution"));
  return [element("h4", {}, "Effect of caution"), element("p", {class: "aside"}, words), chart, key([first, second])];
}

/* Describe the cautions at which a case is decided. */
function turningWords(path, answerAt) {
  const isOpen = path.map((point) => point.size > 1), turn = isOpen.findIndex((is, i) => i > 0 && is !== isOpen[i - 1]);
  if (turn < 0) return isOpen[0] ? "Undecided at every caution shown." : "Decided at every caution shown.";
  let low = path[turn - 1].caution, high = path[turn].caution;
  for (let i = 0; i < 40; i++) {
    const middle = (low + high) / 2;
    if (answerAt(middle).size > 1 === isOpen[turn]) high = middle; else low = middle;
  }
  const where = Number(low.toFixed(2));
  return isOpen[turn] ? `Decided up to caution ${where}, undecided above.` : `Decided from caution ${where}.`;
}

function key(classes) {
  return element("p", {class: "key"}, ...classes.filter((k) => k !== undefined).map((k) =>
    element("span", {}, element("i", {class: `swatch ${colour(k)}`}), data.classes[k])));
}

/* Histogram of trees by the share of the label in their leaf, coloured by the largest class of the leaf. */
function treeChart(number) {
  const answer = answers[number], k = answer.label, bins = 20, stacks = Array.from({length: bins}, () => new Map());
  let smallest = Infinity, largest = 0;
  for (let at = evidence.start[number]; at < evidence.start[number + 1]; at++) {
    const d = evidence.content[at], total = evidence.total[d];
    smallest = Math.min(smallest, total);
    largest = Math.max(largest, total);
    if (!(total > 0)) continue;
    const bin = Math.min(bins - 1, Math.floor((evidence.counts[d * K + k] / total) * bins)), winner = evidence.winner[d];
    stacks[bin].set(winner, (stacks[bin].get(winner) ?? 0) + evidence.times[at]);
  }
  const wide = chartWidth, step = (wide - 50) / bins;
  const tallest = Math.max(1, ...stacks.map((stack) => [...stack.values()].reduce((a, b) => a + b, 0)));
  const chart = drawn("svg", {class: "chart", viewBox: `0 0 ${wide} 128`, role: "img", "aria-label": "Trees by the share of the label in their leaf"});
  chart.append(drawn("line", {class: "grid", x1: 34, x2: wide - 16, y1: 96, y2: 96}), drawn("text", {x: 28, y: 16, "text-anchor": "end"}, count(tallest)));
  stacks.forEach((stack, bin) => {
    let from = 96;
    for (const [winner, times] of [...stack].sort((a, b) => a[0] - b[0])) {
      const height = (86 * times) / tallest;
      chart.append(drawn("rect", {class: colour(winner), x: 35 + bin * step, y: from - height, width: step - 2, height}));
      from -= height;
    }
  });
  for (const share of [0, 25, 50, 75, 100]) {
    chart.append(drawn("text", {x: 34 + ((wide - 50) * share) / 100, y: 110, "text-anchor": "middle"}, `${share}`));
  }
  chart.append(drawn("text", {x: 9 + wide / 2, y: 125, "text-anchor": "middle"}, `share of ${data.classes[k].slice(0, 40)} in the leaf (%)`));
  const held = smallest === largest ? amount(smallest) : `${amount(smallest)} to ${amount(largest)}`;
  const winners = [...new Set(stacks.flatMap((stack) => [...stack.keys()]))].sort((a, b) => a - b).slice(0, MOST_BARS);
  return [element("h4", {}, `Leaves of the ${plural(data.nTrees, "tree")}`),
    element("p", {class: "aside"}, `Number of trees by class share, coloured by the largest class of the leaf. The leaves have ${held} ${data.ofGroups ? "groups of training rows" : "training rows"}.`), chart, key(winners)];
}

/* ---- why ------------------------------------------------------------------------------------------------- */

const className = (k) => (data.classNumbers ? `class ${data.classes[k]}` : data.classes[k]);

/* The text of forest.explain or, at other settings than the model's own, the same recomputed. */
function whySections(number) {
  const why = data.why[number];
  const changed = !isOwn(settings.caution);
  if (!why && !changed) {
    const wasOpen = data.sets[number].length > 1 && data.unexplained > 0;
    return wasOpen ? [element("p", {class: "aside"}, "Not explained: the report explains the hundred most uncertain cases and a few of each group. Use --cases all to explain all.")] : [];
  }
  const {sentence, uncertainty, remedies} = changed ? explained(number, why) : why;
  const parts = [element("h4", {class: "why"}, changed ? "Explanation at these settings" : "Explanation"), element("p", {}, sentence), ...sourceBars(uncertainty),
    ...bulleted("What would decide it", remedies)];
  if (!why) return parts;
  return [...parts, ...bulleted("Strongest leaf for each class of the set", why.rules), ...nearest(why.near, "class"), ...contributionTable(why.contributions, data.classes[data.labels[number]])];
}

function sourceBars(lines) {
  if (!lines.length) return [];
  const bars = element("div", {class: "sources"});
  for (const [share, text] of lines) {
    bars.append(element("span", {class: "number"}, `${share}%`),
      drawn("svg", {class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true"},
        drawn("rect", {class: "track", width: 100, height: 10}), drawn("rect", {class: "open-solid", width: share, height: 10})),
      element("span", {}, text));
  }
  return [bars];
}

/* The explanation at the settings of the page. Parts that need the whole forest stay those of the model's own settings. */
function explained(number, why) {
  const answer = answers[number], found = uncertaintyOf(evidence, number, settings.caution);
  const causes = Object.keys(found).sort((a, b) => found[b] - found[a]), total = sum(Object.values(found), 0, 3);
  const shares = percents(causes.map((cause) => (total > 0 ? found[cause] / total : 0)));
  const words = causeWords(number);
  const uncertainty = causes.map((cause, i) => [shares[i], `${CAUSES[cause]}: ${words[cause]}`]).filter(([share]) => share > 0);
  const listed = causes.map((cause, i) => [shares[i], `${CAUSES[cause]} ${shares[i]}%`]).filter(([share]) => share > 0).map(([, text]) => text);
  const remedies = answer.size > 1 ? confirmedWords(number, answer) : [];
  const partial = why && why.partial ? " Without the parts of missing and out-of-range values." : "";
  return {sentence: answerWords(answer, listed) + partial, uncertainty, remedies};
}

function answerWords(answer, causes) {
  const likely = answer.probability.map((_, k) => k).filter((k) => answer.chosen[k]).sort((a, b) => answer.probability[b] - answer.probability[a] || a - b);
  if (likely.length === 1) {
    const k = likely[0], start = `Decided: ${className(k)}, probability ${Math.round(100 * answer.lower[k])}% to ${Math.round(100 * answer.upper[k])}%.`;
    return causes.length ? `${start} Remaining uncertainty: ${causes.join(", ")}.` : `${start} No uncertainty.`;
  }
  const names = likely.map(className), named = names.length > 5 ? [...names.slice(0, 4), `${count(names.length - 4)} others`] : names;
  const start = `Undecided between ${joined(named, "and")}.`;
  return causes.length ? `${start} Uncertainty: ${causes.join(", ")}.` : `${start} They are equally probable.`;
}

function causeWords(number) {
  const leaves = leavesOf(evidence, number), mean = new Array(K).fill(0), votes = new Array(K + 1).fill(0);
  for (const {weight, times, total, shares} of leaves) {
    shares.forEach((share, k) => { mean[k] += weight * share; });
    const top = Math.max(...shares), tied = shares.filter((share) => share === top).length;
    votes[total > 0 && tied === 1 ? shares.indexOf(top) : K] += times;
  }
  const most = (values, least) => values.map((_, k) => k).filter((k) => k < K && values[k] >= least).sort((a, b) => values[b] - values[a] || a - b).slice(0, 3);
  const votesWords = most(votes, 1).map((k, i) => `${i ? count(votes[k]) : plural(votes[k], "vote")} for ${className(k)}`);
  if (votes[K]) votesWords.push(`${count(votes[K])} tied`);
  const sizes = leaves.flatMap(({times, total}) => new Array(times).fill(total)).sort((a, b) => a - b), half = sizes.length / 2;
  const median = sizes.length % 2 ? sizes[Math.floor(half)] : (sizes[half - 1] + sizes[half]) / 2;
  const unit = !data.ofGroups ? "" : amount(median) === "1" ? " group" : " groups";
  return {
    few: `${amount(median)}${unit} in the ${data.nTrees === 1 ? "leaf" : "median leaf"}, caution ${short(settings.caution)}`,
    overlap: `similar training rows: ${most(mean, 0.005).map((k) => `${Math.round(100 * mean[k])}% ${className(k)}`).join(", ")}`,
    disagree: joined(votesWords, "and"),
  };
}

/* Numbers of labelled cases that would leave one class; not for rules that use more than counts. */
function confirmedWords(number, answer) {
  if (BY_WEIGHT.includes(settings.rule)) return [];
  const likely = answer.probability.map((_, k) => k).filter((k) => answer.chosen[k]).sort((a, b) => answer.probability[b] - answer.probability[a] || a - b).slice(0, 8);
  const alone = (k) => (n) => {
    const {chosen, size} = answerOf(withMore(evidence, number, settings.rule, ruleSetting(settings.caution), k, n), number);
    return size === 1 && chosen[k];
  };
  const found = likely.map((k) => [k, fewestCases(alone(k))]).filter(([, n]) => n < Infinity).sort((a, b) => a[1] - b[1]);
  if (!found.length) return ["not even 1,000 more training rows of one class in the same leaf of every tree"];
  const [[first, n], ...others] = found;
  const more = others.length ? ` (or ${joined(others.slice(0, 3).map(([k, m]) => `${count(m)} labelled ${className(k)}`), "or")})` : "";
  return [`${count(n)} more training row${n === 1 ? "" : "s"} in the same leaf of every tree, labelled ${className(first)}${more}`];
}

function contributionTable(contributions, label) {
  if (!contributions || !contributions.rows.length) return [];
  const words = (value) => (value === null ? "–" : signed((size) => size.toFixed(3), value));
  const lines = contributions.rows.map(([text, onLabel, onWidth]) => [text, words(onLabel), words(onWidth)]);
  return [element("h4", {}, `Feature contributions to the ${contributions.unit} of ${label}`), table(["", contributions.unit, "width of the interval"], lines, 1)];
}

/* ---- one case, and all ----------------------------------------------------------------------------------- */

function pane(number) {
  const answer = answers[number], isOpen = answer.size > 1;
  const chips = [element("span", {class: isOpen ? "chip open" : "chip"}, isOpen ? "undecided" : "decided")];
  if (truth) chips.push(element("span", {class: isWrong(number) ? "mistaken" : null}, `true class: ${data.classes[truth[number]]}`));
  return [
    element("h3", {}, caseName(number)),
    element("p", {}, ...chips),
    element("p", {class: "verdict"}, verdict(answer)),
    ...intervals(answer),
    ...question(number, [...data.classes.map((name, k) => [k, name]), ["unsure", "unsure"]]),
    ...whySections(number),
    ...cautionPath(number),
    ...treeChart(number),
    ...valuesTable(number)];
}

function refresh(besides) {
  showControls(besides);
  soon(() => { answerAll(); showTally(); });
}

Object.assign(view, {
  pane, refresh,
  filters: {
    open: ["undecided", (number) => answers[number].size > 1],
    ...(truth ? {
      wrong: ["wrong label", (number) => isWrong(number)],
      missed: ["decided and wrong", (number) => isWrong(number) && answers[number].size === 1],
    } : {}),
    all: ["all", () => true],
  },
  columns: {
    name: ["Case", (number) => number, false, nameCell],
    size: ["Prediction set", (number) => answers[number].size, true, (number) => [setWords(answers[number].chosen)]],
    probability: ["Most probable", (number) => answers[number].probability[answers[number].label], true, (number) => {
      const answer = answers[number];
      return [[`${data.classes[answer.label]} ${percent(answer.probability[answer.label])}`, bar(answer, answer.label, true)]];
    }, "mini"],
    width: ["Width", (number) => answers[number].width, true, (number) => [percent(answers[number].width)], "number width"],
    ...(truth ? {truth: ["True class", (number) => truth[number], false, (number) => [data.classes[truth[number]], isWrong(number) ? "mistaken" : null]]} : {}),
  },
});

takeOwn();
prepareControls();
begin();
answerAll();
if (!answers.some((answer) => answer.size > 1)) showFilter("all");
refresh();
globalThis.hedgerow = {data, rows, dateWords, evidence, combiner, decide, uncertaintyOf, answersFile, rules: Object.keys(RULES), decisions: Object.keys(DECISIONS)};
