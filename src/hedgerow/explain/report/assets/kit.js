/* Shared by the pages of classifiers and regressors: elements, the list of cases, the values of a case, answers.

   Text from the data becomes text nodes, never markup. */

const TYPES = {u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i16: Int16Array, f64: Float64Array};

function unpack(array) {
  const text = atob(array.d);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new TYPES[array.t](bytes.buffer);
}

function clip(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

const data = JSON.parse(document.getElementById("data").textContent);
const rows = unpack(data.rows), nCases = rows.length;
const MOST_LISTED = 80, FIRST_VALUES = 12;

/* ---- words ----------------------------------------------------------------------------------------------- */

const byId = (id) => document.getElementById(id);

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
  node.append(...children.filter((child) => child !== null && child !== undefined).map((child) => (typeof child === "string" ? unbroken(child) : child)));
  return node;
}

const percent = (share) => `${(100 * share).toFixed(1)}%`;
const count = (number) => number.toLocaleString("en");
const plural = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;
const short = (value, digits = 4) => {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
  const size = Math.abs(value);
  return size >= 10 ** digits - 0.5 ? Math.round(value).toLocaleString("en") : `${Number(value.toPrecision(digits))}`;
};
const amount = (value) => (value < 999.5 ? short(value) : Math.round(value).toLocaleString("en"));
const signed = (words, value) => `${value < 0 ? "−" : "+"}${words(Math.abs(value))}`;
const caseName = (number) => (data.names ? data.names[number] : `row\u00a0${rows[number]}`);
/* No line break between a number and its sign. */
const unbroken = (text) => text.replace(/(?<=±) (?=\d)/g, "\u00a0");

function joined(words, last) {
  return words.length < 2 ? `${words[0]}` : `${words.slice(0, -1).join(", ")} ${last} ${words[words.length - 1]}`;
}

/* A text with line breaks allowed after underscores, and not within dates. */
function broken(text) {
  if (typeof text !== "string") return [text];
  return text.split(/(\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)/).flatMap((part, i) => (i % 2 ? [element("span", {class: "exact"}, part)]
    : part.split(/(?<=_)/).flatMap((piece, j) => (j ? [element("wbr"), piece] : [piece]))));
}

/* Whether a cell contains words, which are aligned left and may wrap, unlike numbers. */
const isText = (cell) => !/^(?:[-−+]?[\d.,]+(?:e[-+]?\d+)?|\d{4}-\d\d-\d\d.*|missing|\?|–|)$/i.test(cell);

function table(heads, lines, firstNumber, classes = null) {
  const numeric = heads.map((_, i) => i >= firstNumber && !lines.some((line) => isText(line[i])));
  const cell = (tag) => (text, i) => element(tag, {class: numeric[i] ? "number" : null}, ...broken(text));
  return element("div", {class: "scroll"}, element("table", {class: classes},
    element("thead", {}, element("tr", {}, ...heads.map(cell("th")))),
    element("tbody", {}, ...lines.map((line) => element("tr", {}, ...line.map(cell("td")))))));
}

function bulleted(title, lines) {
  return lines.length ? [element("h4", {}, title), element("ul", {}, ...lines.map((line) => element("li", {}, line)))] : [];
}

function nearest(near, what) {
  if (!near) return [];
  const lines = [["this\u00a0case", "", "", ...near.own], ...near.cases.map(([row, weight, label, ...values]) => [`row\u00a0${row}`, percent(weight), label, ...values])];
  return [element("h4", {}, "Nearest training cases"), table(["", "weight", what, ...near.names], lines, 3, "near")];
}

/* Width of charts, so that their text keeps its size. It is measured before the page changes, because reading sizes afterwards would force
   another layout, which took more than half of the time of a slider. */
let chartWidth = 540;

function measure() {
  chartWidth = clip(byId("case").clientWidth - 40, 280, 540);
}

/* ---- the list of cases ----------------------------------------------------------------------------------- */

/* Defined by each page: filters (words and test by key), columns (title, sort value, largest first, cell and class by key), pane (elements
   of a case) and `refresh`. */
const view = {};
let listed = [], selected = -1, everything = false, shown = "open", sorting = {key: "width", down: true};

function prepareList() {
  if (data.marks) view.filters.marked = ["answered", (number) => marks.has(number)];
  for (const [key, [words]] of Object.entries(view.filters)) {
    const input = element("input", {type: "radio", name: "show", value: key, checked: key === shown});
    input.addEventListener("change", () => { shown = key; everything = false; view.refresh(); });
    byId("filter").append(element("label", {}, input, words, element("b", {"data-count": key})));
  }
  for (const [key, [title, , down, , classes]] of Object.entries(view.columns)) {
    const button = element("button", {type: "button"}, title);
    button.addEventListener("click", () => {
      sorting = {key, down: sorting.key === key ? !sorting.down : down};
      view.refresh();
    });
    document.querySelector("#list thead tr").append(element("th", {scope: "col", class: classes, "data-key": key}, button));
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

function showFilter(key) {
  shown = key;
  document.querySelector(`#filter input[value="${key}"]`).checked = true;
}

function showList() {
  const [, value] = view.columns[sorting.key], keep = view.filters[shown][1], sign = sorting.down ? -1 : 1;
  const every = Array.from({length: nCases}, (_, number) => number);
  listed = every.filter(keep);
  listed.sort((a, b) => sign * (value(a) - value(b)) || a - b);
  for (const [key, [, test]] of Object.entries(view.filters)) {
    document.querySelector(`[data-count="${key}"]`).textContent = count(every.filter(test).length);
  }
  for (const head of document.querySelectorAll("#list th[data-key]")) {
    const is = head.dataset.key === sorting.key;
    head.setAttribute("aria-sort", is ? (sorting.down ? "descending" : "ascending") : "none");
  }
  const visible = everything ? listed : listed.slice(0, MOST_LISTED);
  document.querySelector("#list tbody").replaceChildren(...visible.map(listRow));
  byId("none").hidden = listed.length > 0;
  byId("more").hidden = visible.length === listed.length;
  byId("more").textContent = `Show all ${count(listed.length)}`;
}

function listRow(number) {
  const cells = Object.values(view.columns).map(([, , , cell, classes]) => {
    const [node, more] = cell(number);
    return element("td", {class: [classes, more].filter(Boolean).join(" ") || null}, ...[node].flat().flatMap(broken));
  });
  const row = element("tr", {"data-case": number, "aria-selected": String(number === selected)}, ...cells);
  row.addEventListener("click", () => select(number));
  return row;
}

const nameCell = (number) => [[
  element("button", {type: "button", class: caseName(number).length > 16 ? "pick" : "pick exact"}, caseName(number)), marks.has(number) ? element("span", {class: "tickmark", title: "answered"}, " ✓") : null]];

function select(number) {
  selected = number;
  for (const row of document.querySelectorAll("#list tbody tr")) {
    row.setAttribute("aria-selected", String(Number(row.dataset.case) === selected));
  }
  showCase();
}

function showCase() {
  const nodes = selected < 0 ? [element("p", {class: "aside"}, "Choose a case from the list.")] : view.pane(selected);
  byId("case").replaceChildren(...nodes);
}

/* ---- values of a case ------------------------------------------------------------------------------------ */

/* Format days since 1970 as a date, or as a date and time, as in Python. */
function dateWords(days, kind) {
  const when = new Date(60000 * Math.floor(days * 1440 + 1e-6));
  if (Number.isNaN(when.getTime())) return `${days}`;
  const text = when.toISOString();
  return kind === "date" ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}

function valueRow(feature, number) {
  const value = feature.values[number], named = feature.categories, absent = named ? value < 0 : value === null;
  const range = feature.range, outside = !absent && range && (value < range[0] || value > range[1]);
  const label = feature.labels && feature.labels[`${value}`];
  const known = feature.date ? dateWords(value, feature.date) : label ? `${label} (${value})` : `${value}`;
  const words = absent ? (named ? "missing or new category" : "missing") : named ? named[value] : known;
  return element("tr", {}, element("th", {scope: "row"}, ...broken(feature.name)),
    element("td", {class: [outside || absent ? "outside" : "", named || label ? "" : "exact"].join(" ").trim() || null}, words),
    element("td", {}, ...broken(feature.usual)));
}

function valuesTable(number) {
  if (!data.features.length) return [];
  const head = () => element("thead", {}, element("tr", {},
    ...["feature", "this case", data.usual].map((text) => element("th", {scope: "col"}, text))));
  const lines = data.features.map((feature) => valueRow(feature, number));
  const parts = [element("h4", {}, "Values, the most important features first"),
    element("table", {class: "values"}, head(), element("tbody", {}, ...lines.slice(0, FIRST_VALUES)))];
  const rest = lines.slice(FIRST_VALUES);
  if (rest.length) {
    const more = element("details", {}, element("summary", {}, `${plural(rest.length, "more value")}`),
      element("table", {class: "values"}, head(), element("tbody", {}, ...rest)));
    more.open = showsAllValues;
    more.addEventListener("toggle", () => { showsAllValues = more.open; });
    parts.push(more);
  }
  if (data.hidden) parts.push(element("p", {class: "aside"}, `${plural(data.hidden, "further feature")} omitted to limit the size of the report.`));
  return parts;
}

let showsAllValues = false;

/* ---- answers --------------------------------------------------------------------------------------------- */

/* Answers of the reader by case: {answer, note}. */
const marks = new Map();
let unsaved = false;

/* Question about one case. `choices` is a list of [value, words], or null if the answer is a number. */
function question(number, choices) {
  const mark = marks.get(number) ?? {answer: null, note: ""};
  const keep = (change) => {
    const now = {...(marks.get(number) ?? {answer: null, note: ""}), ...change};
    if (now.answer === null && !now.note) marks.delete(number); else marks.set(number, now);
    unsaved = true;
    showAnswers();
    showList();
  };
  const note = element("input", {type: "text", maxlength: 500, value: mark.note, placeholder: "Note", "aria-label": "Note", class: "note"});
  note.addEventListener("input", () => keep({note: note.value}));
  const parts = choices === null ? [numberBox(mark, keep)] : choices.length > 7 ? [choiceList(mark, choices, keep)] : choiceButtons(mark, choices, keep);
  return [element("fieldset", {class: "answer"}, element("legend", {}, "Do you know the true " + (choices === null ? "value" : "class") + "?"), ...parts, note)];
}

function choiceButtons(mark, choices, keep) {
  return choices.map(([value, words]) => {
    const input = element("input", {type: "radio", name: "answer", value, checked: mark.answer === value});
    input.addEventListener("click", () => {
      const again = mark.answer === value; // a second click removes the answer
      mark.answer = again ? null : value;
      if (again) input.checked = false;
      keep({answer: mark.answer});
    });
    return element("label", {}, input, words);
  });
}

function choiceList(mark, choices, keep) {
  const box = element("select", {"aria-label": "Answer"}, element("option", {value: ""}, "no answer"),
    ...choices.map(([value, words]) => element("option", {value, selected: mark.answer === value}, words)));
  box.addEventListener("change", () => keep({answer: box.value === "" ? null : choices.find(([value]) => `${value}` === box.value)[0]}));
  return box;
}

function numberBox(mark, keep) {
  const known = typeof mark.answer === "number";
  const box = element("input", {type: "number", step: "any", value: known ? mark.answer : "", "aria-label": "True value", placeholder: "True value"});
  const unsure = element("input", {type: "checkbox", checked: mark.answer === "unsure"});
  box.addEventListener("input", () => { unsure.checked = false; keep({answer: box.value === "" ? null : Number(box.value)}); });
  unsure.addEventListener("change", () => { box.value = ""; keep({answer: unsure.checked ? "unsure" : null}); });
  return element("span", {class: "pair"}, box, element("label", {}, unsure, "unsure"));
}

/* Input of `hedgerow learn`. */
function answersFile() {
  const answers = [...marks].sort((a, b) => a[0] - b[0]).map(([number, {answer, note}]) => ({
    row: rows[number], name: data.names ? data.names[number] : null, answer: answer === "unsure" ? null : answer,
    label: typeof answer === "number" && data.classes ? data.classes[answer] : null, unsure: answer === "unsure", note,
  }));
  return JSON.stringify({format: "hedgerow answers", version: 1, ...data.marks, answers}, null, 1) + "\n";
}

function showAnswers() {
  byId("answers").hidden = marks.size === 0;
  byId("answers-count").textContent = `${plural(marks.size, "case")} answered${unsaved ? ", not saved yet" : ""}`;
}

function prepareAnswers() {
  byId("save").addEventListener("click", () => {
    const link = element("a", {href: URL.createObjectURL(new Blob([answersFile()], {type: "application/json"})), download: "answers.json"});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    unsaved = false;
    showAnswers();
  });
  addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
}

/* ---- start ----------------------------------------------------------------------------------------------- */

let waiting = false;

/* Draw at most once per frame. */
function soon(draw) {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    measure();
    draw();
    showList();
    if (selected < 0 && listed.length) select(listed[0]); else showCase();
  });
}

function begin() {
  addEventListener("resize", measure);
  prepareList();
  prepareAnswers();
  showAnswers();
  byId("live").hidden = false;
}
