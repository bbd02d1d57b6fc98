"use strict";

const root = document.documentElement;
const drawings = JSON.parse(document.getElementById("drawings").textContent);
const say = (text) => { document.getElementById("said").textContent = text; };
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Charts: each is drawn when it is first looked at, and anew when the colours change.

const drawn = new Map();

function specification(number) {
  const { spec, description, data } = drawings.charts[number];
  const { fields, rows } = drawings.data[data];
  const values = rows.map((row) => Object.fromEntries(fields.map((name, place) => [name, row[place]])));
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    ...drawings.specs[spec],
    description,
    width: "container",
    autosize: { type: "fit-x", contains: "padding" },
    data: { values },
  };
}

async function draw(figure) {
  const place = figure.querySelector(".drawing");
  const options = {
    renderer: "svg",
    actions: { export: true, source: false, compiled: false, editor: false },
    theme: root.dataset.theme === "dark" ? "dark" : undefined,
    config: { background: "transparent", font: "system-ui", axis: { labelFontSize: 12, titleFontSize: 12 } },
    tooltip: { theme: "custom" },
  };
  drawn.get(figure)?.finalize();
  drawn.set(figure, null);
  try {
    drawn.set(figure, await vegaEmbed(place, specification(Number(figure.dataset.chart)), options));
    place.querySelector("summary")?.setAttribute("aria-label", "Save this chart");
  } catch (error) {
    place.textContent = `This chart cannot be drawn: ${error.message}`;
  }
}

const watch = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting && !drawn.has(target)) draw(target);
  }
}, { rootMargin: "200px" });

async function copyChart(figure) {
  const canvas = await drawn.get(figure).view.toCanvas(2);
  const image = new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
}

// Tables: sorted by a column, filtered by what a row or heading is called, copied with tabs.

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

function sort(table, column) {
  const heading = table.tHead.rows[0].cells[column];
  const down = heading.getAttribute("aria-sort") === "ascending";
  all("th", table.tHead).forEach((cell) => cell.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
  rows.sort(([one], [other]) => (down ? compare(other, one) : compare(one, other)));
  body.append(...rows.map(([, row]) => row));
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

function filter() {
  const wanted = (id) => document.getElementById(id).value.trim().toLowerCase();
  const [revision, scenario] = [wanted("revisions"), wanted("scenarios")];
  const lacks = (text, part) => !text.toLowerCase().includes(part);
  for (const table of all("#summary table, .scenario table")) {
    // Others have rows of something else, such as system calls.
    if (textOf(table.tHead.rows[0].cells[0]) !== "revision") continue;
    for (const row of table.tBodies[0].rows) {
      row.classList.toggle("away", lacks(row.cells[0].textContent, revision));
    }
  }
  for (const section of all(".scenario")) {
    section.classList.toggle("away", lacks(section.querySelector("h2").textContent, scenario));
  }
  for (const table of all(".matrix table")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const away = column > 0 && lacks(heading.textContent, scenario);
      for (const row of table.rows) row.cells[column].classList.toggle("away", away);
    });
  }
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

function choose(theme) {
  root.dataset.theme = theme;
  document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
  [...drawn.keys()].forEach(draw);
}

function showCost() {
  const chosen = document.getElementById("cost")?.value;
  all(".matrix").forEach((matrix, number) => matrix.classList.toggle("away", String(number) !== chosen));
}

function follow() {
  // Filtered away, it could not be gone to.
  const section = location.hash && document.getElementById(location.hash.slice(1));
  if (section) {
    section.classList.remove("away");
    const details = section.querySelector("details");
    if (details) details.open = true;
    section.scrollIntoView();
  }
}

root.classList.add("scripted");
all(".controls").forEach((part) => { part.hidden = false; });
for (const table of all("table")) {
  const name = table.caption.textContent;
  table.caption.append(copyButton(`the table ${name}`, () => copyTable(table)));
  if (!table.classList.contains("sortable")) continue;
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const called = [...heading.children].map((part) => part.textContent).join(", ");
    heading.append(button("⇅", `Sort by ${called}`, () => sort(table, column)));
  });
}
for (const figure of all("figure.chart")) {
  const caption = figure.querySelector("figcaption");
  caption.append(copyButton(`the chart ${caption.textContent}`, () => copyChart(figure)));
  watch.observe(figure);
}
for (const figure of all("figure.flame")) new FlameGraph(figure);
document.getElementById("revisions").addEventListener("input", filter);
document.getElementById("scenarios").addEventListener("input", filter);
document.getElementById("cost")?.addEventListener("change", showCost);
document.getElementById("theme").addEventListener(
  "click", () => choose(root.dataset.theme === "dark" ? "light" : "dark"));
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => {
  all("section > details").forEach((part) => { part.open = true; });
  all("figure.chart").filter((figure) => !drawn.has(figure)).forEach(draw);
});
choose(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
matchMedia("(prefers-color-scheme: dark)").addEventListener(
  "change", (event) => choose(event.matches ? "dark" : "light"));
showCost();
follow();
