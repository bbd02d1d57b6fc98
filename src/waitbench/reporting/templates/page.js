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
