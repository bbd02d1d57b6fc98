// Flame graphs: a click zooms in, Find marks functions, and Show all undoes both.
for (const figure of all(".flame")) {
  const boxes = all("b", figure).map((element) => ({
    element, left: parseFloat(element.style.left), width: parseFloat(element.style.width),
    depth: parseFloat(element.style.top),
  }));
  const told = figure.querySelector(".told bdi");
  const field = figure.querySelector("input");

  const zoom = (to) => {
    for (const { element, left, width, depth } of boxes) {
      const isCaller = depth < to.depth && left <= to.left + 1e-3 && left + width >= to.left + to.width - 1e-3;
      const isWithin = depth >= to.depth && left >= to.left - 1e-3 && left + width <= to.left + to.width + 1e-3;
      element.hidden = !(isCaller || isWithin);
      element.style.left = isCaller ? "0%" : `${((left - to.left) / to.width) * 100}%`;
      element.style.width = isCaller ? "100%" : `${(width / to.width) * 100}%`;
    }
    told.textContent = to.element.title;
  };
  const find = () => {
    const wanted = field.value.trim().toLowerCase();
    const found = boxes.filter(({ element }) => wanted && element.textContent.toLowerCase().includes(wanted));
    for (const box of boxes) box.element.classList.toggle("match", found.includes(box));
    if (wanted) told.textContent = `${found.length} found. ${found[0]?.element.title ?? ""}`;
    return found;
  };
  for (const box of boxes) box.element.addEventListener("click", () => zoom(box));
  field.addEventListener("input", find);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") find().slice(0, 1).forEach(zoom);
    if (event.key === "Escape") zoom(boxes[0]);
  });
  figure.querySelector("button").addEventListener("click", () => {
    field.value = "";
    find();
    zoom(boxes[0]);
  });
  figure.querySelector(".find").hidden = false;
}
