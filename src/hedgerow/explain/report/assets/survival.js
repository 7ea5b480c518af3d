/* Page of a survival model: a list of cases and the curve of one, which follow the time and the caution.

   Bounds depend on the caution through every event of a leaf, so the page contains them for each step of the slider. */

const width1 = data.times.length, CURVE_HEIGHT = 230, LEFT = 60, TOP = 10, BOTTOM = 44, RIGHT = 12;
const shares = (array) => Float64Array.from(unpack(array), (value) => value / data.scale);
const survivals = shares(data.survival), lowers = shares(data.lower), uppers = shares(data.upper);
const atRisk = unpack(data.atRisk), risks = unpack(data.risk);
const followed = data.followed && unpack(data.followed), events = data.events && unpack(data.events);
let horizon = data.start, caution = data.own;

const survival = (number, place = horizon) => survivals[number * width1 + place];
const lower = (number, place = horizon) => lowers[(caution * nCases + number) * width1 + place];
const upper = (number, place = horizon) => uppers[(caution * nCases + number) * width1 + place];
const width = (number) => upper(number) - lower(number);

/* ---- words ----------------------------------------------------------------------------------------------- */

const time = (place) => data.times[place];
const when = () => (data.unit ? `${short(time(horizon))} ${data.unit}` : `time ${short(time(horizon))}`);
/* Percentages as in Python, where ties go to even numbers. */
const evenly = (value) => (Math.abs(value % 1) === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));
const whole = (share) => `${evenly(100 * share)}%`;
const ends = (number) => `${percent(lower(number))} to ${percent(upper(number))}`;

const mayHappen = (number) => lower(number) <= 0.5;
const maySurvive = (number) => upper(number) >= 0.5;
const isOpen = (number) => mayHappen(number) && maySurvive(number);

function verdict(number) {
  const between = `between ${whole(lower(number))} and ${whole(upper(number))}`;
  if (isOpen(number)) return `Undecided at ${when()}: survival ${between}.`;
  return mayHappen(number) ? `Event by ${when()} is more likely: survival ${between}.` : `Survival beyond ${when()} is more likely: ${between}.`;
}

const label = (number) => `${short(followed[number])}${events[number] ? "" : "+"}`;
/* Whether a case had the event by the time; null if it was censored before. */
const outcome = (number) => (followed[number] > time(horizon) ? false : events[number] ? true : null);
const isWrong = (number) => followed && !isOpen(number) && outcome(number) !== null && outcome(number) !== mayHappen(number);

/* ---- controls and tally ---------------------------------------------------------------------------------- */

function prepareControls() {
  byId("horizon").max = width1 - 1;
  byId("caution").max = data.cautions.length - 1;
  byId("horizon").addEventListener("input", (event) => { horizon = Number(event.target.value); refresh(); });
  byId("caution").addEventListener("input", (event) => { caution = Number(event.target.value); refresh(); });
  byId("reset").addEventListener("click", () => { horizon = data.start; caution = data.own; refresh(); });
  if (nCases < data.nRows) byId("note").textContent = `The page contains ${count(nCases)} of ${count(data.nRows)} rows, undecided ones first.`;
  byId("note").hidden = nCases === data.nRows;
}

function showTally() {
  byId("horizon").value = horizon;
  byId("horizon-words").textContent = data.unit ? when() : short(time(horizon));
  byId("caution").value = caution;
  byId("caution-words").textContent = short(data.cautions[caution]);
  const every = Array.from({length: nCases}, (_, number) => number), decided = every.filter((number) => !isOpen(number));
  const tiles = [[nCases < data.nRows ? "cases in this page" : "rows", count(nCases)], [`undecided at ${when()}`, count(nCases - decided.length)]];
  if (followed) {
    const known = decided.filter((number) => outcome(number) !== null);
    tiles.push(["wrong among decided rows with known outcome", `${count(known.filter(isWrong).length)} of ${count(known.length)}`]);
  }
  byId("tally").replaceChildren(...tiles.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/* ---- one case -------------------------------------------------------------------------------------------- */

function bar(number) {
  const [from, to, middle] = [lower(number), upper(number), survival(number)].map((share) => 1000 * share);
  return drawn("svg", {viewBox: "0 0 1000 40", preserveAspectRatio: "none", "aria-hidden": "true"},
    drawn("rect", {class: "track", x: 0, y: 14, width: 1000, height: 12}),
    drawn("rect", {class: isOpen(number) ? "open-solid" : "accent", x: from, y: 6, width: Math.max(3, to - from), height: 28}),
    drawn("rect", {class: "tick", x: clip(middle - 4, 0, 992), y: 2, width: 8, height: 36}));
}

/* Round times with steps of 1, 2 or 5 times a power of ten. */
function roundTimes(last, most) {
  const power = 10 ** Math.floor(Math.log10(last / most));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((each) => each * most >= last * (1 - 1e-9));
  return Array.from({length: Math.floor((last / step) * (1 + 1e-9)) + 1}, (_, place) => step * place);
}

function curve(number) {
  const last = data.times[width1 - 1], across = chartWidth - LEFT - RIGHT, up = CURVE_HEIGHT - TOP - BOTTOM;
  const x = (at) => LEFT + across * clip(last > 0 ? at / last : 0, 0, 1), y = (share) => TOP + up * (1 - share);
  const steps = (value) => data.times.flatMap((at, place) => [...(place ? [[x(at), y(value(place - 1))]] : []), [x(at), y(value(place))]]);
  const line = (points) => points.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join("L");
  const band = [...steps((place) => upper(number, place)), ...steps((place) => lower(number, place)).reverse()];
  const parts = [
    drawn("line", {class: "grid", x1: LEFT, x2: LEFT + across, y1: y(0), y2: y(0)}), drawn("line", {class: "grid", x1: LEFT, x2: LEFT, y1: TOP, y2: y(0)}),
    drawn("line", {class: "now", x1: LEFT, x2: LEFT + across, y1: y(0.5), y2: y(0.5)}),
    drawn("path", {class: "band k0", d: `M${line(band)}Z`}), drawn("path", {class: "line k0", d: `M${line(steps((place) => survival(number, place)))}`}),
    drawn("line", {class: "horizon", x1: x(time(horizon)), x2: x(time(horizon)), y1: TOP, y2: y(0)})];
  for (const share of [0, 0.5, 1]) parts.push(drawn("text", {x: LEFT - 6, y: y(share) + 4, "text-anchor": "end"}, `${100 * share}%`));
  for (const at of roundTimes(last, 5)) {
    const place = Math.max(0, data.times.findLastIndex((each) => each <= at)), anchor = {x: Math.min(x(at), LEFT + across - 8), "text-anchor": "middle"};
    parts.push(drawn("text", {...anchor, y: y(0) + 16}, short(at)), drawn("text", {...anchor, y: y(0) + 34}, short(atRisk[number * width1 + place] / 10)));
  }
  parts.push(drawn("text", {x: 0, y: y(0) + 34}, "at risk"));
  if (followed) {
    const at = x(followed[number]);
    parts.push(events[number] ? drawn("circle", {class: "tick", cx: at, cy: y(0), r: 4}) : drawn("line", {class: "horizon", x1: at, x2: at, y1: y(0) - 5, y2: y(0) + 5}));
  }
  return drawn("svg", {class: "chart", viewBox: `0 0 ${chartWidth} ${CURVE_HEIGHT}`, role: "img", "aria-label": verdict(number)}, ...parts);
}

function contributionTable(why) {
  if (!why.contributions || !why.contributions.rows.length) return [];
  const words = (value) => signed((size) => size.toFixed(3), value);
  return [element("h4", {}, `Feature contributions to survival at ${why.when}, added to ${why.contributions.base.toFixed(3)}`),
    table(["", "survival", "width of its bounds"], why.contributions.rows.map(([text, value, wide]) => [text, words(value), words(wide)]), 1)];
}

function whySections(number) {
  const why = data.why[number];
  if (!why) return [element("p", {class: "aside"}, "Not explained: the report explains the hundred cases with the widest bounds, undecided ones first. Use --cases all to explain all.")];
  return [...bulleted("Basis of the prediction", why.support), ...nearest(why.near, "time, + if censored"), ...contributionTable(why)];
}

function pane(number) {
  const chips = [element("span", {class: isOpen(number) ? "chip open" : "chip"}, isOpen(number) ? "undecided" : mayHappen(number) ? "event more likely" : "survival more likely")];
  if (followed) chips.push(element("span", {class: isWrong(number) ? "mistaken" : null}, `${events[number] ? "event at" : "censored at"} ${short(followed[number])}`));
  return [
    element("h3", {}, caseName(number)), element("p", {}, ...chips), element("p", {class: "verdict"}, verdict(number)),
    curve(number), element("p", {class: "key"}, `survival ${percent(survival(number))}, bounds ${ends(number)}`), ...whySections(number), ...valuesTable(number)];
}

/* ---- all ------------------------------------------------------------------------------------------------- */

function refresh() {
  soon(showTally);
}

Object.assign(view, {
  pane, refresh,
  filters: {
    open: ["undecided", isOpen],
    event: ["event more likely", (number) => !maySurvive(number)],
    alive: ["survival more likely", (number) => !mayHappen(number)],
    all: ["all", () => true],
  },
  columns: {
    name: ["Case", (number) => number, false, nameCell],
    survival: ["Survival", (number) => survival(number), false, (number) => [[percent(survival(number)), bar(number)]], "mini"],
    width: ["Bounds", width, true, (number) => [ends(number)], "number"],
    risk: ["Risk", (number) => risks[number], true, (number) => [short(risks[number])], "number width"],
    ...(followed ? {time: ["Time", (number) => followed[number], false, (number) => [label(number), isWrong(number) ? "mistaken" : null], "number"]} : {}),
  },
});

prepareControls();
begin();
if (!Array.from(rows, (_, number) => isOpen(number)).includes(true)) showFilter("all");
refresh();
globalThis.hedgerow = {data, survival, lower, upper, verdict, isOpen, set: (place, step) => { horizon = place; caution = step; refresh(); }};
