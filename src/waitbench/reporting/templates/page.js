"use strict";

const root = document.documentElement;
const drawings = JSON.parse(document.getElementById("drawings").textContent);
const say = (text) => { document.getElementById("said").textContent = text; };
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// What was chosen is in the fragment, behind the section that a link leads to, so that a link shows
// what its sender saw: #partitioned-idle&cost=1&theme=dark.

const state = new Map();
let place = "";

function read() {
  state.clear();
  const [first, ...rest] = location.hash.slice(1).split("&");
  place = first.includes("=") ? "" : first;
  for (const part of first.includes("=") ? [first, ...rest] : rest) {
    const [name, value = ""] = part.split("=");
    try {
      state.set(name, decodeURIComponent(value));
    } catch {
      // Somebody cut the link short.
    }
  }
}

function write() {
  const chosen = [...state].map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const hash = [place, ...chosen].filter(Boolean).join("&");
  history.replaceState(null, "", hash ? `#${hash}` : location.href.split("#")[0]);
}

// What is as it would be anyway is not kept.
function keep(name, value, standard = "") {
  if (String(value) === String(standard)) state.delete(name);
  else state.set(name, String(value));
  write();
}

// Charts: each is drawn when it is first looked at, and anew when something else is chosen.

const drawn = new Map();
const chosen = new Map();
const figures = all("figure.chart");
const partOf = (figure) => drawings.charts[Number(figure.dataset.chart)];
const choicesOf = (figure) => drawings.choices[partOf(figure).choices];

const records = ({ fields, rows }) => rows.map(
  (row) => Object.fromEntries(fields.map((name, column) => [name, row[column]])));

// The median of each revision's runs, and the closest of them that enclose it surely enough: once
// for each round, as the dots of rounds stand side by side.
function middles(rows, metric) {
  const found = new Map();
  const rounds = [...new Set(rows.map((row) => row.round))];
  for (const row of rows) {
    if (row[metric] === null || row[metric] === undefined) continue;
    found.set(row.revision, [...(found.get(row.revision) ?? []), row[metric]]);
  }
  return [...found].flatMap(([revision, values]) => {
    values.sort((one, other) => one - other);
    const count = values.length;
    const rank = drawings.ranks[count];
    return rounds.map((round) => ({
      revision,
      round,
      median: (values[Math.floor((count - 1) / 2)] + values[Math.ceil((count - 1) / 2)]) / 2,
      low: values[Math.max(rank, 1) - 1],
      high: values[count - Math.max(rank, 1)],
      band: rank ? "95 % interval" : "range: too few runs",
    }));
  });
}

function specification(figure) {
  const { spec, description, data } = partOf(figure);
  const choices = choicesOf(figure);
  const [, number] = choices[chosen.get(figure) ?? 0] ?? [];
  const fills = drawings.fills[number] ?? {};
  const values = records(drawings.data[data]);
  const filled = JSON.parse(JSON.stringify(drawings.specs[spec]), (name, value) => (
    typeof value === "string" && Object.hasOwn(fills, value) ? fills[value] : value));
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    ...filled,
    description,
    width: "container",
    autosize: { type: "fit-x", contains: "padding" },
    data: { values },
    datasets: fills.$metric ? { middles: middles(values, fills.$metric) } : {},
  };
}

// Drawn in the colour of the text around it, whatever that is and becomes.
const ink = "currentColor";
const lines = { domainColor: ink, domainOpacity: 0.6, tickColor: ink, tickOpacity: 0.6 };
const options = {
  renderer: "svg",
  actions: { export: true, source: false, compiled: false, editor: false },
  config: {
    background: "transparent",
    font: "system-ui",
    axis: {
      labelFontSize: 12, titleFontSize: 12, labelColor: ink, titleColor: ink, gridColor: ink, gridOpacity: 0.15,
      ...lines,
    },
    legend: { labelColor: ink, titleColor: ink },
    view: { stroke: null },
    rule: { color: ink },
    text: { color: ink },
  },
  tooltip: { theme: "custom" },
};

// What draws is a megabyte: it is unpacked when the first chart is looked at.
let library;

async function unpack() {
  const packed = atob(document.getElementById("library").textContent);
  const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

function load() {
  library ??= unpack();
  return library;
}

function draw(figure) {
  const before = drawn.get(figure);
  const drawing = embed(figure, before);
  drawn.set(figure, drawing);
  return drawing;
}

async function embed(figure, before) {
  const area = figure.querySelector(".drawing");
  // One after the other: the last one chosen is what stays.
  (await before)?.finalize();
  try {
    await load();
    const result = await vegaEmbed(area, specification(figure), options);
    area.querySelector("summary")?.setAttribute("aria-label", "Save this chart");
    return result;
  } catch (error) {
    area.textContent = `This chart cannot be drawn: ${error.message}`;
    return null;
  }
}

const watch = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting && !drawn.has(target)) draw(target);
  }
}, { rootMargin: "200px" });

async function copyChart(figure) {
  const result = await (drawn.get(figure) ?? draw(figure));
  if (!result) throw new Error("it cannot be drawn");
  // Elsewhere its ground is not that of the page.
  const canvas = await result.view.background("white").toCanvas(2);
  result.view.background("transparent").run();
  const image = new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
}

function choose(figure, choice) {
  if ((chosen.get(figure) ?? 0) === choice) return;
  chosen.set(figure, choice);
  if (drawn.has(figure)) draw(figure);
}

function choiceOf(figure) {
  const label = document.createElement("label");
  const select = document.createElement("select");
  choicesOf(figure).forEach(([title], number) => select.add(new Option(title, number)));
  select.addEventListener("change", () => {
    choose(figure, Number(select.value));
    keep(`chart${figure.dataset.chart}`, select.value, 0);
  });
  label.classList.add("choice");
  label.append("Show ", select);
  return label;
}

// Tables: sorted by a column, filtered by what a row or heading is called, copied with tabs.

const tables = all("table");
const inOrder = new Map(tables.map((table) => [table, [...table.tBodies[0].rows]]));
const captionOf = (table) => document.getElementById(table.getAttribute("aria-labelledby"));

const keyOf = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
};

function compare(one, other) {
  if (typeof one === typeof other) {
    return typeof one === "number" ? one - other : one.localeCompare(other, undefined, { numeric: true });
  }
  return typeof one === "number" ? -1 : 1;
}

// By the first column where the number is 1, the other way round where it is -1; 0 as it was.
function sort(table, by) {
  all("th", table.tHead).forEach((cell) => cell.removeAttribute("aria-sort"));
  const heading = table.tHead.rows[0].cells[Math.abs(by) - 1];
  heading?.setAttribute("aria-sort", by < 0 ? "descending" : "ascending");
  const rows = inOrder.get(table).map((row) => [heading ? keyOf(row, Math.abs(by) - 1) : 0, row]);
  rows.sort(([one], [other]) => (by < 0 ? compare(other, one) : compare(one, other)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

const textOf = (cell) => [...cell.childNodes]
  .filter((part) => part.nodeName !== "BUTTON")
  .map((part) => part.textContent.trim()).filter(Boolean).join(" ");
const isShown = (part) => !part.classList.contains("away");

function copyTable(table) {
  const rows = [...table.rows].filter(isShown);
  return navigator.clipboard.writeText(
    rows.map((row) => [...row.cells].filter(isShown).map(textOf).join("\t")).join("\n"));
}

function button(text, label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
}

function copyButton(what, act) {
  const made = button("Copy", `Copy ${what}`, async () => {
    try {
      await act();
      say(`Copied: ${what}`);
    } catch (error) {
      say(`This browser does not let it be copied: ${error.message}`);
    }
  });
  made.classList.add("copy");
  return made;
}

// Filters.

const fields = ["revisions", "scenarios"].map((name) => document.getElementById(name));

function filter() {
  const [revision, scenario] = fields.map((field) => field.value.trim().toLowerCase());
  const lacks = (text, part) => !text.toLowerCase().includes(part);
  for (const table of all("#summary table, .scenario table")) {
    // Others have rows of something else, such as system calls.
    if (textOf(table.tHead.rows[0].cells[0]) !== "revision") continue;
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) row.classList.toggle("away", lacks(row.cells[0].textContent, revision));
    table.closest(".table").classList.toggle("away", !rows.some(isShown));
  }
  for (const section of all(".scenario")) {
    section.classList.toggle("away", lacks(section.querySelector("h2").textContent, scenario));
  }
  for (const matrix of all(".matrix")) {
    const table = matrix.querySelector("table");
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const away = column > 0 && lacks(heading.textContent, scenario);
      for (const row of table.rows) row.cells[column].classList.toggle("away", away);
    });
    if (!headings.slice(1).some(isShown)) matrix.querySelector(".table").classList.add("away");
  }
  sayNothing(revision, scenario);
}

// Instead of tables that have nothing in them.
function sayNothing(revision, scenario) {
  const shown = all(".matrix .table");
  const none = Boolean(revision || scenario) && (shown.length
    ? !shown.some(isShown) : !all(".scenario").some(isShown));
  const message = document.getElementById("nothing");
  message.classList.toggle("away", !none);
  document.querySelector(".legend")?.classList.toggle("away", none);
  const asked = [revision && `revision “${revision}”`, scenario && `scenario “${scenario}”`];
  message.replaceChildren(`Nothing here has ${asked.filter(Boolean).join(" and ")} in its name. `);
  const clear = button("Show all", "Show all revisions and scenarios", () => {
    for (const field of fields) {
      field.value = "";
      keep(field.id, "");
    }
    filter();
    fields[0].focus();
  });
  message.append(clear);
}

// Flame graphs: callers above, as wide as what both revisions spend there together, coloured by
// what differs.

const treeOf = ({ nodes }) => {
  const path = [];
  return nodes.map(([depth, name, kind, wakeups, cpu]) => {
    const node = { depth, name, kind, wakeups, cpu, parent: path[depth - 1] ?? null, children: [] };
    node.parent?.children.push(node);
    path[depth] = node;
    return node;
  });
};

class FlameGraph {
  constructor(figure) {
    const { labels, nodes } = drawings.flames[Number(figure.dataset.flame)];
    this.labels = labels;
    this.nodes = treeOf({ nodes });
    this.figure = figure;
    this.graph = figure.querySelector(".graph");
    this.measure = figure.querySelector(".measure");
    this.find = figure.querySelector(".find");
    this.root = this.nodes[0];
    if (!this.widthOf(this.root)) this.measure.value = "cpu";
    this.measure.addEventListener("change", () => this.zoom(this.nodes[0]));
    this.find.addEventListener("input", () => this.mark());
    figure.querySelector(".whole").addEventListener("click", () => this.zoom(this.nodes[0]));
    this.graph.addEventListener("keydown", (event) => this.press(event));
    this.zoom(this.root);
  }

  widthOf(node) { return node[this.measure.value].reduce((sum, one) => sum + one, 0); }

  figureOf(value) {
    if (this.measure.value === "cpu") return `${(value * 100).toFixed(2)} % of a CPU`;
    return `${value.toLocaleString("en", { maximumSignificantDigits: 4 })} wake-ups a second`;
  }

  textOf(node) {
    const values = node[this.measure.value];
    const said = values.map((value, place) => `${this.labels[place]} ${this.figureOf(value)}`);
    return `${node.name}: ${said.join(", ")}`;
  }

  toneOf(node) {
    const [before, after] = node[this.measure.value];
    if (after === undefined || !(before + after)) return "same";
    const share = (after - before) / (after + before);
    if (Math.abs(share) < 0.1) return "same";
    return `${share < 0 ? "less" : "more"}${Math.min(4, Math.ceil(Math.abs(share) * 4))}`;
  }

  // What is zoomed into is as wide as the graph; its callers stay above it.
  zoom(root) {
    this.root = root;
    this.shown = [];
    this.graph.replaceChildren();
    const whole = this.widthOf(root) || 1;
    const callers = [];
    for (let node = root.parent; node; node = node.parent) callers.unshift(node);
    for (const caller of callers) this.draw(caller, 0, 1);
    const place = (node, left) => {
      const width = this.widthOf(node) / whole;
      if (width < 0.002) return;
      this.draw(node, left, width);
      let next = left;
      for (const child of [...node.children].sort((one, other) => this.widthOf(other) - this.widthOf(one))) {
        place(child, next);
        next += this.widthOf(child) / whole;
      }
    };
    place(root, 0);
    const deepest = Math.max(0, ...this.shown.map((node) => node.depth));
    this.graph.style.height = `${(deepest + 1) * 1.5}rem`;
    if (!this.shown.length) this.tell("Nothing to show.");
    else this.reach(root, false);
    this.mark();
  }

  draw(node, left, width) {
    const item = document.createElement("div");
    item.setAttribute("role", "treeitem");
    item.setAttribute("aria-level", node.depth + 1);
    item.setAttribute("aria-label", this.textOf(node));
    item.className = `${this.toneOf(node)} ${node.kind}`;
    item.tabIndex = -1;
    item.textContent = node.name;
    item.title = this.textOf(node);
    Object.assign(item.style, {
      left: `${left * 100}%`, width: `${width * 100}%`, top: `${node.depth * 1.5}rem`,
    });
    item.addEventListener("click", () => { this.zoom(node); this.reach(node, true); });
    item.addEventListener("focus", () => this.reach(node, false));
    node.item = item;
    this.shown.push(node);
    this.graph.append(item);
  }

  reach(node, focus) {
    if (!this.shown.includes(node)) return;
    for (const one of this.shown) one.item.tabIndex = one === node ? 0 : -1;
    this.tell(this.textOf(node));
    if (focus) node.item.focus();
  }

  tell(text) { this.figure.querySelector(".told bdi").textContent = text; }

  mark() {
    const wanted = this.find.value.trim().toLowerCase();
    const fits = (node) => wanted !== "" && node.name.toLowerCase().includes(wanted);
    for (const node of this.shown) node.item.classList.toggle("match", fits(node));
    if (!wanted) return;
    const within = (node) => {
      for (let one = node.parent; one; one = one.parent) if (fits(one)) return true;
      return false;
    };
    const found = this.nodes.filter(fits);
    const top = found.filter((node) => !within(node));
    const [before, after] = [0, 1].map((place) =>
      top.reduce((sum, node) => sum + (node[this.measure.value][place] ?? 0), 0));
    const shares = this.labels.map((label, place) => `${label} ${this.figureOf([before, after][place])}`);
    this.tell(`${found.length} found for “${this.find.value.trim()}”: ${shares.join(", ")}`);
  }

  press(event) {
    const now = this.shown.find((node) => node.item === document.activeElement);
    if (!now) return;
    const row = this.shown.filter((node) => node.depth === now.depth)
      .sort((one, other) => parseFloat(one.item.style.left) - parseFloat(other.item.style.left));
    const beside = (step) => row[row.indexOf(now) + step];
    const below = this.shown.filter((node) => node.parent === now)
      .sort((one, other) => this.widthOf(other) - this.widthOf(one))[0];
    const target = {
      ArrowUp: now.parent, ArrowDown: below, ArrowLeft: beside(-1), ArrowRight: beside(1),
      Home: this.nodes[0], End: row.at(-1),
    }[event.key];
    if (event.key === "Enter" || event.key === " ") { this.zoom(now); this.reach(now, true); }
    else if (event.key === "Escape") { this.zoom(this.nodes[0]); this.reach(this.nodes[0], true); }
    else if (target) this.reach(target, true);
    else return;
    event.preventDefault();
  }
}

// The page as a whole.

const dark = matchMedia("(prefers-color-scheme: dark)");
const standardTheme = () => (dark.matches ? "dark" : "light");

function setTheme(theme) {
  root.dataset.theme = theme;
  document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function showCost() {
  const cost = document.getElementById("cost")?.value ?? "0";
  all(".matrix").forEach((matrix, number) => matrix.classList.toggle("away", String(number) !== cost));
}

const folds = all("details").filter((part) => !part.closest("figure"));
const openOnes = () => folds.flatMap((part, number) => (part.open ? [number] : [])).join(".");
let isPrinting = false;

// Everything as the fragment says, and as it was made where that says nothing.
function apply() {
  setTheme(["dark", "light"].includes(state.get("theme")) ? state.get("theme") : standardTheme());
  for (const field of fields) field.value = state.get(field.id) ?? "";
  const cost = document.getElementById("cost");
  if (cost) {
    cost.value = state.get("cost") ?? "0";
    if (!cost.value) cost.value = "0";
  }
  const opened = new Set((state.get("open") ?? "").split("."));
  folds.forEach((part, number) => { part.open = opened.has(String(number)); });
  tables.forEach((table, number) => sort(table, Number(state.get(`sort${number}`)) || 0));
  for (const figure of figures) {
    const choice = Number(state.get(`chart${figure.dataset.chart}`)) || 0;
    const known = choicesOf(figure)[choice] ? choice : 0;
    choose(figure, known);
    const select = figure.querySelector(".choice select");
    if (select) select.value = String(known);
  }
  filter();
  showCost();
}

function follow() {
  // Filtered away, it could not be gone to.
  const section = place && document.getElementById(place);
  if (section) {
    section.classList.remove("away");
    const details = section.querySelector("details");
    if (details) details.open = true;
    section.scrollIntoView();
  }
}

root.classList.add("scripted");
all(".controls").forEach((part) => { part.hidden = false; });
tables.forEach((table, number) => {
  const caption = captionOf(table);
  const name = caption.textContent;
  caption.after(copyButton(`the table ${name}`, () => copyTable(table)));
  if (!table.closest(".sortable")) return;
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const called = [...heading.children].map((part) => part.textContent).join(", ");
    heading.append(button("⇅", `Sort by ${called}`, () => {
      const by = heading.getAttribute("aria-sort") === "ascending" ? -(column + 1) : column + 1;
      sort(table, by);
      keep(`sort${number}`, by, 0);
    }));
  });
});
for (const figure of figures) {
  const caption = figure.querySelector("figcaption");
  const name = caption.textContent;
  if (choicesOf(figure).length > 1) caption.append(choiceOf(figure));
  caption.append(copyButton(`the chart ${name}`, () => copyChart(figure)));
  watch.observe(figure);
}
for (const figure of all("figure.flame")) new FlameGraph(figure);
for (const field of fields) {
  field.addEventListener("input", () => {
    keep(field.id, field.value.trim());
    filter();
  });
}
document.getElementById("cost")?.addEventListener("change", ({ target }) => {
  keep("cost", target.value, "0");
  showCost();
});
document.getElementById("theme").addEventListener("click", () => {
  const theme = root.dataset.theme === "dark" ? "light" : "dark";
  setTheme(theme);
  keep("theme", theme, standardTheme());
});
dark.addEventListener("change", () => {
  if (!state.has("theme")) setTheme(standardTheme());
});
for (const part of folds) {
  part.addEventListener("toggle", () => {
    if (!isPrinting) keep("open", openOnes());
  });
}
addEventListener("hashchange", () => {
  const before = new Map(state);
  read();
  // A link within the page says only where to go.
  if (place && !state.size) before.forEach((value, name) => state.set(name, value));
  apply();
  write();
  follow();
});
addEventListener("beforeprint", () => {
  isPrinting = true;
  folds.forEach((part) => { part.open = true; });
  figures.filter((figure) => !drawn.has(figure)).forEach(draw);
});
addEventListener("afterprint", () => {
  const opened = new Set((state.get("open") ?? "").split("."));
  folds.forEach((part, number) => { part.open = opened.has(String(number)); });
  setTimeout(() => { isPrinting = false; });
});
read();
apply();
follow();
