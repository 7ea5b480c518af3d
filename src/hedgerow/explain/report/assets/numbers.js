/* Numbers: predictions, spreads and residuals -> a list to sort, a case to look into, both following the coverage. */

const means = unpack(data.mean), spreads = data.spread && unpack(data.spread), scaled = data.scaled && unpack(data.scaled);
const truth = data.truth && unpack(data.truth);
let coverage = data.coverage, intervals = [];

/* ---- intervals ------------------------------------------------------------------------------------------- */

/* The low and the high scaled residual at a coverage, at the ranks of conformal prediction; infinite if there are too few. */
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
    const [below, above] = data.wider[number] ?? [0, 0]; // how far unseen values widen the interval at the coverage of the report
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
  if (nCases < data.nRows) byId("note").textContent = `The page holds ${count(nCases)} of ${count(data.nRows)} rows, those with the widest intervals first.`;
  byId("note").hidden = nCases === data.nRows;
}

function showTally() {
  byId("coverage").value = Math.round(100 * coverage);
  byId("coverage-words").textContent = `${Math.round(100 * coverage)}\u00a0%`;
  const tiles = [[nCases < data.nRows ? "cases in this page" : "rows", count(nCases)]];
  if (intervals.length) {
    const order = intervals.map(([low, high]) => high - low).sort((a, b) => a - b);
    tiles.push(["middle width of the intervals", short(order[Math.floor(order.length / 2)])]);
    if (truth) tiles.push(["targets in their interval", percent(intervals.filter((_, number) => !isOut(number)).length / nCases)]);
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
  if (!intervals.length) return `Predicted: ${short(means[number])}. The model has no out-of-bag rows, so it gives no interval.`;
  return `Predicted: ${short(means[number])}; ${Math.round(100 * coverage)}\u00a0% of such targets lie between ${short(intervals[number][0])} and ${short(intervals[number][1])}.`;
}

function picture(number) {
  const [low, high] = data.scale;
  return element("div", {class: "intervals"}, element("span", {}, "target"), bar(number, false),
    element("span", {class: "numbers"}, intervals.length ? ends(number) : short(means[number])),
    element("span"), element("span", {class: "scale"}, element("span", {}, short(low)), element("span", {}, short(high))), element("span"));
}

function added(adds) {
  if (!adds || !adds.rows.length) return [];
  const words = (value) => signed(short, value);
  return [element("h4", {}, `What its values add to the mean of all targets, ${short(adds.base)}`),
    table(["", "prediction", "width of its bounds"], adds.rows.map(([text, value, wide]) => [text, words(value), words(wide)]), 1)];
}

function whySections(number) {
  const why = data.why[number];
  if (!why) return [element("p", {class: "aside"}, "This case is not explained in words: the report explains the hundred with the widest intervals and those with the largest errors. Make it with --cases all to have all.")];
  return [...bulleted("What it rests on", why.rests), ...nearest(why.near, "target"), ...added(why.adds)];
}

function pane(number) {
  const chips = [];
  if (intervals.length) chips.push(element("span", {class: width(number) >= limit ? "chip open" : "chip"}, width(number) >= limit ? "among the widest tenth" : "interval"));
  if (truth) chips.push(element("span", {class: isOut(number) ? "mistaken" : null}, `true target: ${short(truth[number])}${isOut(number) ? ", outside" : ""}`));
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
    ...(truth ? {missed: ["target outside", (number) => isOut(number)]} : {}),
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
