/* Page of a regressor: a list of cases and the details of one, which follow the coverage. */

const means = unpack(data.mean), spreads = data.spread && unpack(data.spread), scaled = data.scaled && unpack(data.scaled);
const truth = data.truth && unpack(data.truth);
let coverage = data.coverage, intervals = [];

/* ---- intervals ------------------------------------------------------------------------------------------- */

/* Scaled residuals at the conformal ranks of a coverage; infinite if there are too few. */
function scaledEnds(share) {
  const rank = Math.floor(Number((((1 - share) / 2) * (scaled.length + 1)).toFixed(9)));
  return rank < 1 ? [-Infinity, Infinity] : [scaled[rank - 1], scaled[scaled.length - rank]];
}

function answerAll() {
  if (!spreads) {
    intervals = data.ends ?? [];
    return;
  }
  const [low, high] = scaledEnds(coverage);
  intervals = Array.from(means, (mean, number) => {
    const [below, above] = data.wider[number] ?? [0, 0]; // widening by out-of-support values, at the coverage of the report
    return [mean + spreads[number] * low - below, mean + spreads[number] * high + above];
  });
}

const width = (number) => (intervals.length ? intervals[number][1] - intervals[number][0] : 0);
const error = (number) => means[number] - truth[number];
const isOut = (number) => truth && intervals.length && (truth[number] < intervals[number][0] || truth[number] > intervals[number][1]);
const ends = (number) => `${short(intervals[number][0])} to ${short(intervals[number][1])}`;

function widest() {
  const order = Array.from(means, (_, number) => width(number)).sort((a, b) => b - a);
  return order[Math.min(order.length - 1, Math.floor(order.length / 10))];
}

/* ---- controls and tally ---------------------------------------------------------------------------------- */

function prepareControls() {
  byId("controls").hidden = !spreads;
  byId("coverage").addEventListener("input", (event) => { coverage = Number(event.target.value) / 100; refresh(); });
  byId("reset").addEventListener("click", () => { coverage = data.coverage; refresh(); });
  if (nCases < data.nRows) byId("note").textContent = `The page contains ${count(nCases)} of ${count(data.nRows)} rows, those with the widest intervals first.`;
  byId("note").hidden = nCases === data.nRows;
}

function showTally() {
  byId("coverage").value = Math.round(100 * coverage);
  byId("coverage-words").textContent = `${Math.round(100 * coverage)}%`;
  const tiles = [[nCases < data.nRows ? "cases in this page" : "rows", count(nCases)]];
  if (intervals.length) {
    const order = intervals.map(([low, high]) => high - low).sort((a, b) => a - b);
    tiles.push(["median width of the intervals", short(order[Math.floor(order.length / 2)])]);
    if (truth) tiles.push(["coverage", percent(intervals.filter((_, number) => !isOut(number)).length / nCases)]);
  }
  if (truth) {
    const absolute = Array.from(truth, (_, number) => Math.abs(error(number)));
    tiles.push(["mean absolute error", short(absolute.reduce((a, b) => a + b, 0) / nCases)]);
  }
  byId("tally").replaceChildren(...tiles.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/* ---- one case -------------------------------------------------------------------------------------------- */

/* The interval on the scale of all targets: prediction as a tick, the true target as a line. */
function bar(number, small) {
  const [low, high] = data.scale, place = (value) => clip((1000 * (value - low)) / (high - low || 1), 0, 1000);
  const [from, to] = intervals.length ? intervals[number].map(place) : [place(means[number]), place(means[number])];
  return drawn("svg", {viewBox: "0 0 1000 40", preserveAspectRatio: "none", "aria-hidden": "true"},
    drawn("rect", {class: "track", x: 0, y: 14, width: 1000, height: 12}),
    drawn("rect", {class: "accent", x: from, y: small ? 6 : 10, width: Math.max(3, to - from), height: small ? 28 : 20}),
    drawn("rect", {class: "tick", x: clip(place(means[number]) - 2, 0, 996), y: small ? 2 : 6, width: small ? 8 : 4, height: small ? 36 : 28}),
    truth && !small ? drawn("line", {class: "bound", x1: place(truth[number]), x2: place(truth[number]), y1: 0, y2: 40}) : null);
}

function verdict(number) {
  if (!intervals.length) return `Prediction: ${short(means[number])}. Intervals require out-of-bag rows, which the model does not have.`;
  return `Prediction: ${short(means[number])}, ${Math.round(100 * coverage)}% interval ${ends(number)}.`;
}

function picture(number) {
  const [low, high] = data.scale;
  return element("div", {class: "intervals"}, element("span", {}, "target"), bar(number, false),
    element("span", {class: "numbers"}, intervals.length ? ends(number) : short(means[number])),
    element("span"), element("span", {class: "scale"}, element("span", {}, short(low)), element("span", {}, short(high))), element("span"));
}

function contributionTable(contributions) {
  if (!contributions || !contributions.rows.length) return [];
  const words = (value) => signed(short, value);
  return [element("h4", {}, `Feature contributions, added to ${short(contributions.base)}`),
    table(["", "prediction", "width of its bounds"], contributions.rows.map(([text, value, wide]) => [text, words(value), words(wide)]), 1)];
}

function whySections(number) {
  const why = data.why[number];
  if (!why) return [element("p", {class: "aside"}, "Not explained: the report explains the hundred cases with the widest intervals and those with the largest errors. Use --cases all to explain all.")];
  return [...bulleted("Basis of the prediction", why.support), ...nearest(why.near, "target"), ...contributionTable(why.contributions)];
}

function pane(number) {
  const chips = [];
  if (intervals.length) chips.push(element("span", {class: width(number) >= limit ? "chip open" : "chip"}, width(number) >= limit ? "among the widest tenth" : "interval"));
  if (truth) chips.push(element("span", {class: isOut(number) ? "mistaken" : null}, `true target: ${short(truth[number])}${isOut(number) ? ", outside the interval" : ""}`));
  return [
    element("h3", {}, caseName(number)), element("p", {}, ...chips), element("p", {class: "verdict"}, verdict(number)), picture(number),
    ...question(number, null), ...whySections(number), ...valuesTable(number)];
}

/* ---- all ------------------------------------------------------------------------------------------------- */

let limit = 0;

function refresh() {
  soon(() => { answerAll(); limit = widest(); showTally(); });
}

Object.assign(view, {
  pane, refresh,
  filters: {
    open: ["widest tenth", (number) => intervals.length > 0 && width(number) >= limit],
    ...(truth ? {missed: ["target outside interval", (number) => isOut(number)]} : {}),
    all: ["all", () => true],
  },
  columns: {
    name: ["Case", (number) => number, false, nameCell],
    prediction: ["Predicted", (number) => means[number], true, (number) => [[short(means[number]), bar(number, true)]], "mini"],
    width: ["Interval", width, true, (number) => [intervals.length ? ends(number) : "–"], "number"],
    ...(truth ? {
      truth: ["True", (number) => truth[number], true, (number) => [short(truth[number]), isOut(number) ? "mistaken" : null], "number"],
      error: ["Error", (number) => Math.abs(error(number)), true, (number) => [signed(short, error(number))], "number width"],
    } : {}),
  },
});

prepareControls();
begin();
answerAll();
limit = widest();
if (!intervals.length) showFilter("all");
refresh();
globalThis.hedgerow = {data, scaledEnds, answersFile, ends: () => intervals};
