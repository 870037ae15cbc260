// The heat map: steps-to-result by batch size and sparsity, with what runs right now.

import { duration, grouped, make, percent } from "./page.js";

const key = (batch, sparsity) => `${batch}/${sparsity}`;

export class HeatMap {
  /** `choose` is called with the cell that a person picks. */
  constructor(choose) {
    this.choose = choose;
    this.element = make("div", {});
    this.buttons = new Map();
    this.live = new Map();
    this.shown = "";
  }

  /** Shows a study towards one of its goals. */
  show(study, goal) {
    const shape = JSON.stringify([study.study, study.batch_sizes, study.sparsities]);
    if (shape !== this.shown) this.build(study, shape);
    const cells = study.goals[goal].cells;
    const steps = cells.map((cell) => cell.steps_to_result).filter((it) => it !== null).map(Math.log2);
    [this.least, this.most] = [Math.min(...steps), Math.max(...steps)];
    this.cells = new Map(cells.map((cell) => [key(cell.batch_size, cell.sparsity), cell]));
    this.paint();
  }

  /** Shows what runs right now. */
  update(live) {
    this.running = live.running;
    this.live = new Map(live.cells.map((cell) => [key(cell.batch_size, cell.sparsity), cell]));
    this.paint();
  }

  /** Marks the cell that is chosen. */
  mark(cell) {
    for (const [place, button] of this.buttons) {
      button.setAttribute("aria-current", String(cell !== null && place === key(cell.batch_size, cell.sparsity)));
    }
  }

  build({ batch_sizes, sparsities }, shape) {
    this.shown = shape;
    this.buttons.clear();
    const dot = (colour) => {
      const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      mark.setAttribute("viewBox", "0 0 10 10");
      mark.setAttribute("class", "swatch");
      mark.innerHTML = `<circle cx="5" cy="5" r="5" fill="${colour}"/>`;
      return mark;
    };
    const head = make("tr", {}, make("th", { scope: "col" }, "batch size"),
      sparsities.map(({ label, colour }) => make("th", { scope: "col" }, dot(colour), label)));
    const rows = batch_sizes.map((batch) => make("tr", {}, make("th", { scope: "row" }, grouped(batch)),
      sparsities.map(({ sparsity }) => {
        const button = make("button", { type: "button", click: () => this.choose({ batch_size: batch, sparsity }) });
        this.buttons.set(key(batch, sparsity), button);
        return make("td", {}, button);
      })));
    const table = make("table", { class: "heat", keydown: (event) => this.walk(event) },
      make("thead", {}, head), make("tbody", {}, rows));
    const scale = make("p", { class: "scale" }, "few steps", make("span", { class: "bar" }), "many steps");
    this.element.replaceChildren(
      make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Steps-to-result by batch size and sparsity" }, table),
      scale);
  }

  /** Arrow keys walk from cell to cell. */
  walk(event) {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const place = event.target.closest("td");
    if (!by || !place) return;
    event.preventDefault();
    const row = place.parentElement.parentElement.rows[place.parentElement.sectionRowIndex + by[0]];
    row?.cells[place.cellIndex + by[1]]?.querySelector("button")?.focus();
  }

  paint() {
    if (!this.cells) return;
    for (const [place, button] of this.buttons) {
      const cell = this.cells.get(place);
      if (cell) this.paintCell(button, cell, this.live.get(place));
    }
  }

  paintCell(button, cell, live) {
    const running = Boolean(this.running && live && live.running > 0 && cell.state === "open");
    const left = this.running && live?.seconds_left ? duration(live.seconds_left).split(" ").slice(0, 2).join(" ") : null;
    let main = "–";
    if (cell.state === "reached") main = grouped(cell.steps_to_result);
    else if (cell.state === "open") main = cell.best_so_far === null ? "…" : `≤ ${grouped(cell.best_so_far)}`;
    const more = [];
    if (cell.state === "open") {
      more.push(running ? `at ${grouped(live.steps)}` : `${cell.done}/${cell.trials}`);
      if (left) more.push(left);
    }
    if (cell.failed) more.push(`${cell.failed} failed`);
    const text = [main, ...more].join("|");
    const fresh = button.dataset.state === "open" && cell.state !== "open";
    if (button.dataset.text !== text) {
      button.dataset.text = text;
      button.replaceChildren(main, more.length ? make("small", {}, more.map((it) => make("span", {}, it))) : "");
    }
    button.dataset.state = cell.state;
    const share = this.most > this.least ? (Math.log2(cell.steps_to_result) - this.least) / (this.most - this.least) : 0.3;
    button.style.setProperty("--heat", `${(share * 100).toFixed(1)}%`);
    const kinds = [cell.state === "reached" ? "result" : cell.state, running && "running",
      cell.state === "reached" && share > 0.55 && "strong", fresh && "fresh"];
    button.className = kinds.filter(Boolean).join(" ");
    button.setAttribute("aria-label", describe(cell, running, left));
  }
}

function describe(cell, running, left) {
  const words = [`Batch size ${grouped(cell.batch_size)}, sparsity ${percent(cell.sparsity)}`];
  if (cell.state === "reached") words.push(`${grouped(cell.steps_to_result)} steps`);
  else if (cell.state === "not-reached") words.push("goal not reached");
  else words.push(`${cell.done} of ${cell.trials} trials done`, cell.best_so_far === null ? "no best yet" : `best so far ${grouped(cell.best_so_far)} steps`);
  if (running) words.push("running");
  if (left) words.push(`about ${left} left`);
  return words.join(", ");
}
