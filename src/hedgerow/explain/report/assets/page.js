/* Page: the cases and their evidence -> a list to sort, a case to look into, both following the sliders.

   Text from the data becomes text nodes, never markup. */

const data = JSON.parse(document.getElementById("data").textContent);
const K = data.classes.length, evidence = readEvidence(data.evidence, K);
data.labels = unpack(data.label);
const rows = unpack(data.rows), truth = data.truth && unpack(data.truth), nCases = rows.length;
const MOST_LISTED = 80, MOST_BARS = 8, PALETTE = 8;

/* ---- state ----------------------------------------------------------------------------------------------- */

const own = data.settings;
const settings = {};
let answers = [], listed = [], selected = -1, everything = false;
let sorting = {key: "width", down: true}, show = "open";

function takeOwn() {
  settings.caution = own.caution;
  settings.rule = own.rule.name ?? "average";
  settings.decision = own.decision.name ?? "dominance";
}

/* What the rule is asked with; the model's own rule keeps its parameters. */
function ruleSetting(caution) {
  const options = settings.rule === own.rule.name ? own.rule.options : {};
  return {...options, caution, prior: data.prior};
}

function answerOf(opinion) {
  const options = settings.decision === own.decision.name ? own.decision.options : {};
  const chosen = decide(opinion, settings.decision, options);
  const label = opinion.probability.reduce((first, value, k) => (value > opinion.probability[first] ? k : first), 0);
  return {...opinion, chosen, label, size: chosen.filter(Boolean).length, width: opinion.upper[label] - opinion.lower[label]};
}

function answerAll() {
  const combine = combiner(evidence, settings.rule, ruleSetting(settings.caution));
  answers = Array.from({length: nCases}, (_, number) => answerOf(combine(number)));
}

/* ---- words ----------------------------------------------------------------------------------------------- */

function element(tag, attributes = {}, ...children) {
  return built(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return built(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function built(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
const count = (number) => number.toLocaleString("en");
const plural = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;
const caseName = (number) => (data.names ? data.names[number] : `row\u00a0${rows[number]}`);
const colour = (k) => `k${k % PALETTE}`;
const isWrong = (number) => truth && answers[number].label !== truth[number];

function setWords(chosen) {
  const names = data.classes.filter((_, k) => chosen[k]);
  if (names.length === K && K > 4) return `any of the ${K} classes`;
  if (names.length > 4) return `${names.slice(0, 3).join(", ")} or ${names.length - 3} others`;
  return names.length < 2 ? names[0] : `${names.slice(0, -1).join(", ")} or ${names[names.length - 1]}`;
}

/* ---- controls -------------------------------------------------------------------------------------------- */

const byId = (id) => document.getElementById(id);

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
  sayWhatIsNotRepeated();
}

function sayWhatIsNotRepeated() {
  const parts = [];
  if (!own.rule.name) parts.push(`the rule ${own.rule.text}`);
  if (!own.decision.name) parts.push(`the decision ${own.decision.text}`);
  const notes = [];
  if (parts.length) {
    notes.push(`The model uses ${parts.join(" and ")}, which this page cannot compute, so it starts from a similar one. ` +
      "The other sections show the model’s own answers.");
  }
  if (own.rule.options.map) {
    notes.push("The model is calibrated: its own rule is shown with the map learned on out-of-bag rows, other rules without.");
  }
  if (nCases < data.nRows) notes.push(`The page holds ${count(nCases)} of ${count(data.nRows)} rows, undecided ones first.`);
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

function tallied() {
  const decided = answers.map((answer) => answer.size === 1);
  const nDecided = decided.filter(Boolean).length;
  const tiles = [
    [nCases < data.nRows ? "cases in this page" : "rows", count(nCases)],
    ["undecided", count(nCases - nDecided)],
    ["decided", percent(nDecided / nCases)],
  ];
  if (truth) {
    const right = decided.filter((is, number) => is && answers[number].chosen[truth[number]]).length;
    const held = answers.filter((answer, number) => answer.chosen[truth[number]]).length;
    const worth = (answer, number) => (answer.chosen[truth[number]] ? quadratic(0.65)(answer.size) : 0);
    const u65 = answers.reduce((all, answer, number) => all + worth(answer, number), 0) / nCases;
    tiles.push(["right where decided", nDecided ? percent(right / nDecided) : "–"]);
    tiles.push(["sets that hold the truth", percent(held / nCases)], ["u65", u65.toFixed(3)]);
  }
  return tiles;
}

function showTally() {
  byId("tally").replaceChildren(
    ...tallied().map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/* ---- list ------------------------------------------------------------------------------------------------ */

const FILTERS = {
  open: ["undecided", (number) => answers[number].size > 1],
  wrong: ["label wrong", (number) => isWrong(number)],
  missed: ["decided and wrong", (number) => isWrong(number) && answers[number].size === 1],
  all: ["all", () => true],
};

const COLUMNS = {
  name: ["Case", (number) => number, false],
  size: ["What remains", (number) => answers[number].size, true],
  probability: ["Most probable", (number) => answers[number].probability[answers[number].label], true],
  width: ["Width", (number) => answers[number].width, true],
  truth: ["True class", (number) => truth[number], false],
};

function prepareList() {
  for (const [key, [words]] of Object.entries(FILTERS)) {
    if (!truth && (key === "wrong" || key === "missed")) continue;
    const input = element("input", {type: "radio", name: "show", value: key, checked: key === show});
    input.addEventListener("change", () => { show = key; everything = false; refresh(); });
    byId("filter").append(element("label", {}, input, words, element("b", {"data-count": key})));
  }
  for (const [key, [title, , down]] of Object.entries(COLUMNS)) {
    if (key === "truth" && !truth) continue;
    const button = element("button", {type: "button"}, title);
    button.addEventListener("click", () => {
      sorting = {key, down: sorting.key === key ? !sorting.down : down};
      refresh();
    });
    const head = element("th", {scope: "col", class: key === "width" ? "number width" : null, "data-key": key}, button);
    document.querySelector("#list thead tr").append(head);
  }
  byId("more").addEventListener("click", () => { everything = true; showList(); });
  document.querySelector("#list tbody").addEventListener("keydown", walk);
}

/* Arrow keys move through the list. */
function walk(event) {
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (!step) return;
  event.preventDefault();
  const at = listed.indexOf(selected) + step;
  if (at < 0 || at >= document.querySelectorAll("#list tbody tr").length) return;
  select(listed[at]);
  document.querySelector(`#list tr[data-case="${selected}"] .pick`).focus();
}

function showList() {
  const [, value] = COLUMNS[sorting.key], keep = FILTERS[show][1], sign = sorting.down ? -1 : 1;
  listed = answers.map((_, number) => number).filter(keep);
  listed.sort((a, b) => sign * (value(a) - value(b)) || a - b);
  for (const [key, [, test]] of Object.entries(FILTERS)) {
    const badge = document.querySelector(`[data-count="${key}"]`);
    if (badge) badge.textContent = count(answers.filter((_, number) => test(number)).length);
  }
  for (const head of document.querySelectorAll("#list th[data-key]")) {
    const is = head.dataset.key === sorting.key;
    head.setAttribute("aria-sort", is ? (sorting.down ? "descending" : "ascending") : "none");
  }
  const some = everything ? listed : listed.slice(0, MOST_LISTED);
  document.querySelector("#list tbody").replaceChildren(...some.map(listRow));
  byId("none").hidden = listed.length > 0;
  byId("more").hidden = some.length === listed.length;
  byId("more").textContent = `Show all ${count(listed.length)}`;
}

function listRow(number) {
  const answer = answers[number], wrong = isWrong(number);
  const pick = element("button", {type: "button", class: "pick"}, caseName(number));
  const row = element("tr", {"data-case": number, "aria-selected": String(number === selected)},
    element("td", {}, pick),
    element("td", {}, setWords(answer.chosen)),
    element("td", {class: "mini"}, `${data.classes[answer.label]} ${percent(answer.probability[answer.label])}`, bar(answer, answer.label, true)),
    element("td", {class: "number width"}, percent(answer.width)),
    truth ? element("td", {class: wrong ? "mistaken" : null}, data.classes[truth[number]]) : null);
  row.addEventListener("click", () => select(number));
  return row;
}

function select(number) {
  selected = number;
  for (const row of document.querySelectorAll("#list tbody tr")) {
    row.setAttribute("aria-selected", String(Number(row.dataset.case) === selected));
  }
  showCase();
}

/* ---- one case -------------------------------------------------------------------------------------------- */

/* The interval of a class, its probability as a tick, and where the decision cuts. */
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
  box.append(element("span"), element("span", {class: "scale"}, ...["0", "50", "100 %"].map((text) => element("span", {}, text))), element("span"));
  const rest = order.slice(MOST_BARS);
  const more = rest.length ? [element("p", {class: "aside"}, `and ${plural(rest.length, "class").replace(/classs$/, "classes")} with an upper bound of at most ${percent(answer.upper[rest[0]])}`)] : [];
  return [box, ...more];
}

/* As wide as there is room for, so that letters keep their size. It is measured before the page changes: a question about sizes after
   a change would lay out the page once more, which took more than half of the time of a slider. */
let chartWidth = 540;

function measure() {
  chartWidth = clip(byId("case").clientWidth - 40, 280, 540);
}

/* Bounds of the two most probable classes against caution. */
function cautionPath(number) {
  const most = Number(byId("caution").max), steps = 60, answer = answers[number];
  const [first, second] = answer.probability.map((_, k) => k).sort((a, b) => answer.probability[b] - answer.probability[a] || a - b);
  const path = Array.from({length: steps + 1}, (_, i) => {
    const caution = (most * i) / steps;
    return {caution, ...answerOf(combiner(evidence, settings.rule, ruleSetting(caution))(number))};
  });
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
  return [element("h4", {}, "With another caution"), element("p", {class: "aside"}, turningWords(number, path)), chart, key([first, second])];
}

/* Between which cautions a case is decided. */
function turningWords(number, path) {
  const isOpen = path.map((point) => point.size > 1), turn = isOpen.findIndex((is, i) => i > 0 && is !== isOpen[i - 1]);
  if (turn < 0) return isOpen[0] ? "It stays undecided at every caution shown." : "It stays decided at every caution shown.";
  let low = path[turn - 1].caution, high = path[turn].caution;
  for (let i = 0; i < 40; i++) {
    const middle = (low + high) / 2, at = answerOf(combiner(evidence, settings.rule, ruleSetting(middle))(number));
    if (at.size > 1 === isOpen[turn]) high = middle; else low = middle;
  }
  const where = Number(low.toFixed(2));
  return isOpen[turn] ? `It is decided up to caution ${where}, and undecided above.` : `It is decided from caution ${where} on.`;
}

function key(classes) {
  return element("p", {class: "key"}, ...classes.filter((k) => k !== undefined).map((k) =>
    element("span", {}, element("i", {class: `swatch ${colour(k)}`}), data.classes[k])));
}

/* How many trees give the label which share, coloured by the class their leaf holds most of. */
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
  const chart = drawn("svg", {class: "chart", viewBox: `0 0 ${wide} 128`, role: "img", "aria-label": "Trees by the share they give the label"});
  chart.append(drawn("line", {class: "grid", x1: 34, x2: wide - 16, y1: 96, y2: 96}), drawn("text", {x: 28, y: 16, "text-anchor": "end"}, `${tallest}`));
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
  chart.append(drawn("text", {x: 9 + wide / 2, y: 125, "text-anchor": "middle"}, `share of ${data.classes[k].slice(0, 40)} in the leaf, in per cent`));
  const amount = smallest === largest ? `${Number(smallest.toFixed(2))}` : `${Number(smallest.toFixed(2))} to ${Number(largest.toFixed(2))}`;
  const winners = [...new Set(stacks.flatMap((stack) => [...stack.keys()]))].sort((a, b) => a - b).slice(0, MOST_BARS);
  return [element("h4", {}, `What the ${plural(data.nTrees, "tree")} say`),
    element("p", {class: "aside"}, `Each bar counts trees; its colour is the class their leaf holds most of. The leaves hold ${amount} training rows.`), chart, key(winners)];
}

function valuesTable(number) {
  if (!data.features.length) return [];
  const cells = data.features.map((feature) => {
    const value = feature.values[number], named = feature.categories;
    const absent = named ? value < 0 : value === null;
    const range = feature.range, outside = !absent && range && (value < range[0] || value > range[1]);
    const words = absent ? (named ? "missing or new" : "missing") : named ? named[value] : `${value}`;
    return element("tr", {}, element("th", {scope: "row"}, feature.name),
      element("td", {class: outside || absent ? "outside" : null}, words),
      element("td", {}, range ? `${Number(range[0].toPrecision(4))} to ${Number(range[1].toPrecision(4))}` : ""));
  });
  const head = element("tr", {}, ...["feature", "this case", "in training"].map((text) => element("th", {scope: "col"}, text)));
  return [element("h4", {}, "Its values, the most important features first"),
    element("table", {class: "values"}, element("thead", {}, head), element("tbody", {}, ...cells))];
}

/* What forest.explain said of the case; it does not follow the sliders. */
const unbroken = (text) => text.replace(/(\d) %/g, "$1\u00a0%");

function whySections(number) {
  const why = data.why[number];
  if (!why) {
    const wasOpen = data.sets[number].length > 1 && data.unexplained > 0;
    return wasOpen ? [element("p", {class: "aside"}, "This case is not explained in words: the report explains the most doubtful hundred and a few of each place. Make it with --cases all to have all.")] : [];
  }
  const changed = settings.rule !== (own.rule.name ?? "average") || settings.caution !== own.caution;
  const parts = [element("h4", {class: "why"}, changed ? "Why, at the model’s own settings" : "Why"), element("p", {}, unbroken(why.sentence))];
  const doubt = element("div", {class: "doubt"});
  for (const [share, text] of why.doubt) {
    doubt.append(element("span", {class: "number"}, `${share}\u00a0%`),
      drawn("svg", {class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true"},
        drawn("rect", {class: "track", width: 100, height: 10}), drawn("rect", {class: "open-solid", width: share, height: 10})),
      element("span", {}, unbroken(text)));
  }
  if (why.doubt.length) parts.push(doubt);
  for (const [title, lines] of [["What would settle it", why.settle], ["Leaves it reaches", why.rules]]) {
    if (lines.length) parts.push(element("h4", {}, title), element("ul", {}, ...lines.map((line) => element("li", {}, unbroken(line)))));
  }
  return [...parts, ...nearest(why.near), ...added(why.adds, data.classes[data.labels[number]])];
}

function table(heads, lines, firstNumber) {
  const cell = (tag) => (text, i) => element(tag, {class: i >= firstNumber ? "number" : null}, text);
  return element("div", {class: "scroll"}, element("table", {},
    element("thead", {}, element("tr", {}, ...heads.map(cell("th")))),
    element("tbody", {}, ...lines.map((line) => element("tr", {}, ...line.map(cell("td")))))));
}

function nearest(near) {
  if (!near) return [];
  const lines = [["this\u00a0case", "", "", ...near.own], ...near.cases.map(([row, weight, label, ...values]) => [`row\u00a0${row}`, percent(weight), label, ...values])];
  return [element("h4", {}, "Nearest training cases"), table(["", "weight", "class", ...near.names], lines, 3)];
}

function added(adds, label) {
  if (!adds || !adds.rows.length) return [];
  const signed = (value) => (value === null ? "–" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`);
  const lines = adds.rows.map(([words, onLabel, onWidth]) => [words, signed(onLabel), signed(onWidth)]);
  return [element("h4", {}, `What its values add to the ${adds.unit} of ${label}`), table(["", adds.unit, "width of the interval"], lines, 1)];
}

function showCase() {
  const box = byId("case");
  if (selected < 0) {
    box.replaceChildren(element("p", {class: "aside"}, "Choose a case from the list."));
    return;
  }
  const answer = answers[selected], isOpen = answer.size > 1;
  const chips = [element("span", {class: isOpen ? "chip open" : "chip"}, isOpen ? "undecided" : "decided")];
  if (truth) chips.push(element("span", {class: isWrong(selected) ? "mistaken" : null}, `true class: ${data.classes[truth[selected]]}`));
  box.replaceChildren(
    element("h3", {}, caseName(selected)),
    element("p", {}, ...chips),
    element("p", {class: "verdict"}, verdict(answer)),
    ...intervals(answer),
    ...whySections(selected),
    ...cautionPath(selected),
    ...treeChart(selected),
    ...valuesTable(selected));
}

/* ---- everything ------------------------------------------------------------------------------------------ */

let waiting = false;

function refresh(besides) {
  showControls(besides);
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    measure();
    answerAll();
    showTally();
    showList();
    if (selected < 0 && listed.length) selected = listed[0];
    select(selected);
  });
}

addEventListener("resize", measure);
takeOwn();
prepareControls();
prepareList();
answerAll();
if (!answers.some((answer) => answer.size > 1)) {
  show = "all";
  document.querySelector('#filter input[value="all"]').checked = true;
}
byId("live").hidden = false;
refresh();
globalThis.hedgerow = {data, evidence, combiner, decide, rules: Object.keys(RULES), decisions: Object.keys(DECISIONS)};
