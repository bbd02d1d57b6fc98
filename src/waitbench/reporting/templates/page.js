"use strict";
// The page is whole without this: it sorts and filters tables of many rows.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function keyOf(row, column) {
  const cell = row.cells[column];
  const text = cell.dataset.sort ?? cell.textContent.trim();
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

function compare(one, other) {
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return typeof one === "number" ? one - other : one.localeCompare(other, undefined, { numeric: true });
}

function sort(table, column) {
  const heading = table.tHead.rows[0].cells[column];
  const isDown = heading.ariaSort === "ascending";
  for (const cell of table.tHead.rows[0].cells) cell.ariaSort = null;
  heading.ariaSort = isDown ? "descending" : "ascending";
  const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, column), row]);
  rows.sort(([one], [other]) => (isDown ? compare(other, one) : compare(one, other)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

for (const part of all(".long")) {
  const table = part.querySelector("table");
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    if (heading.matches(".plot")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, column));
    heading.append(button);
  });
  if (!part.matches(".stacks")) {
    const headings = [...table.tHead.rows[0].cells].map((heading) => heading.textContent);
    // A page with these in its text would be much longer.
    for (const cell of all("tbody :is(th, td)", table)) cell.dataset.heading = headings[cell.cellIndex];
    part.classList.add("stacks");
  }
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Filter";
  field.setAttribute("aria-label", `Filter ${part.querySelector(".caption").textContent}`);
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  part.querySelector(".caption").append(field);
}
