// Charts with uPlot: a figure of the report with hover and toggles, and curves of trainings.

import { grouped, make, onScreen, onThemeChange, short, styleColour } from "./page.js";

const uPlot = window.uPlot;
/** How near the pointer must be to a mark, in pixels. */
const NEAR = 32;

/** What both kinds of charts share: size, theme, and a note at the mark that is pointed at. */
class Chart {
  constructor(label) {
    this.element = make("div", { class: "chart", tabindex: "0", role: "group", "aria-label": label, keydown: (event) => this.step(event) });
    this.tip = make("div", { class: "tip", role: "status", hidden: "" });
    new ResizeObserver(() => this.resize()).observe(this.element);
    onThemeChange(() => this.draw());
  }

  size() {
    const width = this.element.clientWidth;
    return { width, height: Math.round(Math.max(280, Math.min(460, width * 0.62))) };
  }

  resize() {
    if (this.plot && this.element.clientWidth && this.plot.width !== this.element.clientWidth) this.plot.setSize(this.size());
  }

  /** Draws anew: columns of values over `xs`, with the options of uPlot and of its axes. */
  plotWith(options, xs, columns) {
    this.plot?.destroy();
    this.element.replaceChildren();
    const font = "12px Inter, system-ui, sans-serif";
    const axis = { stroke: styleColour("--soft"), font, labelFont: font, labelGap: 0, labelSize: 20, ticks: { show: false }, grid: { stroke: styleColour("--line"), width: 1 } };
    const { x, y, hooks, ...rest } = options;
    this.plot = new uPlot({
      ...this.size(),
      ...rest,
      legend: { show: false },
      axes: [{ ...axis, size: 30, ...x }, { ...axis, size: 58, ...y }],
      cursor: { points: { show: false }, drag: { setScale: false }, x: false, y: false },
      hooks: { ...hooks, setCursor: [(plot) => this.point(plot)] },
    }, [xs, ...columns], this.element);
    this.element.append(this.tip);
  }

  point(plot) {
    const { left, top } = plot.cursor;
    if (left === undefined || left < 0) return this.tell(null);
    let nearest = null;
    let least = NEAR;
    for (const mark of this.marks()) {
      const distance = Math.hypot(plot.valToPos(mark.x, "x") - left, this.height(plot, mark) - top);
      if (distance < least) [nearest, least] = [mark, distance];
    }
    this.tell(nearest);
  }

  height(plot, mark) {
    return mark.above ? 10 : plot.valToPos(mark.y, "y");
  }

  /** Left and right walk along the marks. */
  step(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") this.tell(null);
    if (!by || !this.plot) return;
    event.preventDefault();
    const marks = [...this.marks()];
    const index = marks.indexOf(this.told);
    this.tell(marks[(index + by + marks.length) % marks.length] ?? null);
  }

  tell(mark) {
    this.told = mark;
    this.tip.hidden = !mark;
    if (!mark) return;
    this.tip.textContent = mark.note;
    const box = this.plot.over;
    const x = box.offsetLeft + this.plot.valToPos(mark.x, "x");
    const y = box.offsetTop + this.height(this.plot, mark);
    const left = Math.max(4, Math.min(x - this.tip.offsetWidth / 2, this.element.clientWidth - this.tip.offsetWidth - 4));
    this.tip.style.left = `${left}px`;
    this.tip.style.top = y > this.tip.offsetHeight + 18 ? `${y - this.tip.offsetHeight - 12}px` : `${y + 14}px`;
  }
}

/** Points of several lines over one common axis, as uPlot wants them. */
function align(lines) {
  const xs = [...new Set(lines.flatMap((line) => line.map(([x]) => x)))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, index) => [x, index]));
  const columns = lines.map((line) => {
    const column = new Array(xs.length).fill(null);
    for (const [x, y] of line) column[place.get(x)] = y;
    return column;
  });
  return [xs, columns];
}

/** A figure of the report with one panel. */
export class FigureChart extends Chart {
  constructor(label) {
    super(label);
    this.off = new Set();
    this.tools = make("div", { class: "tools", role: "group", "aria-label": "Sparsities" });
    this.keys = make("ul", { class: "keys" });
    this.criticals = make("ul", { class: "criticals" });
    this.whole = make("div", {}, this.tools, this.element, this.keys, this.criticals);
  }

  show(figure) {
    this.figure = figure;
    this.legend(figure);
    this.draw();
  }

  legend({ legend, panels }) {
    const sparsities = legend.find((group) => group.title)?.entries ?? [];
    const focus = document.activeElement?.dataset?.colour;
    this.tools.replaceChildren(...sparsities.map(({ colour, label }) => {
      const dot = make("span", { class: "swatch-dot" });
      dot.style.background = onScreen(colour);
      return make("button", {
        type: "button", class: "toggle", "data-colour": colour, "aria-pressed": String(!this.off.has(colour)),
        click: (event) => this.toggle(colour, event.currentTarget),
      }, dot, label);
    }));
    if (focus) this.tools.querySelector(`[data-colour="${focus}"]`)?.focus();
    const others = legend.filter((group) => !group.title).flatMap((group) => group.entries);
    const sign = ({ stroke, mark }) => ({ dashed: "┄ ", dotted: "┈ ", thin: "─ " })[stroke] ?? (mark?.[1] ? "○ " : "● ");
    this.keys.replaceChildren(...others.map((entry) => make("li", {}, sign(entry), entry.label)));
    this.criticals.replaceChildren(...panels[0].spans.map((span) => make("li", {}, span.note)));
  }

  toggle(colour, button) {
    if (!this.off.delete(colour)) this.off.add(colour);
    button.setAttribute("aria-pressed", String(!this.off.has(colour)));
    this.draw();
  }

  *marks() {
    const [panel] = this.figure.panels;
    for (const { colour, marks } of panel.series) {
      if (this.off.has(colour)) continue;
      for (const mark of marks) yield (mark.shown ??= { x: mark.at[0], y: mark.at[1], note: mark.note, shape: mark.shape, open: mark.open, colour });
    }
    for (const mark of panel.above?.marks ?? []) {
      if (!this.off.has(mark.colour)) yield (mark.shown ??= { ...mark, above: true });
    }
  }

  draw() {
    if (!this.figure || !this.element.clientWidth) return;
    const [panel] = this.figure.panels;
    const lines = panel.series.filter(({ colour }) => !this.off.has(colour)).flatMap(({ colour, stroke, lines }) => lines.map((line) => ({ colour, stroke, line })));
    // There is always something to draw, or uPlot has no scales.
    const corners = { colour: "#000000", stroke: "none", line: [[panel.x.range[0], panel.y.range[0]], [panel.x.range[1], panel.y.range[1]]] };
    const [xs, columns] = align([corners, ...lines].map(({ line }) => line));
    const dash = { dashed: [7, 5], dotted: [2, 4] };
    const series = [corners, ...lines].map(({ colour, stroke }) => ({
      stroke: stroke === "none" ? "transparent" : onScreen(colour), width: stroke === "solid" ? 2 : 1.4,
      dash: dash[stroke], spanGaps: true, points: { show: false },
    }));
    // Room for the spans under the curves.
    const rows = panel.spans.length;
    const low = panel.y.range[0] / 2 ** (rows ? 0.4 + rows * 0.22 : 0);
    const ticks = ({ ticks }, most) => {
      const every = Math.ceil(ticks.length / most);
      return ticks.filter((_, index) => index % every === 0);
    };
    const axis = (from, most) => ({
      label: from.label, splits: () => ticks(from, most).map(({ value }) => value),
      filter: (_, splits) => splits,
      values: () => ticks(from, most).map(({ label }) => label),
    });
    this.plotWith({
      scales: {
        x: { time: false, distr: 3, log: 2, range: () => panel.x.range },
        y: { distr: 3, log: 2, range: () => [low, panel.y.range[1]] },
      },
      series: [{}, ...series],
      x: axis(panel.x, Math.max(3, Math.floor((this.element.clientWidth - 100) / 48))),
      y: axis(panel.y, 12),
      hooks: { draw: [(plot) => this.drawMarks(plot, panel)] },
    }, xs, columns);
    this.element.dataset.marks = [...this.marks()].length;
    if (panel.remark) this.element.append(make("p", { class: "waiting" }, panel.remark));
  }

  drawMarks(plot, panel) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.lineWidth = 2 * ratio;
    for (const mark of this.marks()) {
      const y = mark.above ? bbox.top + 10 * ratio : plot.valToPos(mark.y, "y", true);
      drawShape(ctx, mark, plot.valToPos(mark.x, "x", true), y, 4.6 * ratio);
    }
    panel.spans.forEach((span, row) => {
      if (this.off.has(span.colour)) return;
      const y = bbox.top + bbox.height - (8 + 9 * (panel.spans.length - 1 - row)) * ratio;
      const at = (value) => Math.max(bbox.left, Math.min(bbox.left + bbox.width, plot.valToPos(value, "x", true)));
      const from = span.low > 0 ? at(span.low) : bbox.left;
      const to = span.high === null ? bbox.left + bbox.width : at(span.high);
      ctx.strokeStyle = onScreen(span.colour);
      ctx.lineWidth = 2 * ratio;
      ctx.beginPath();
      ctx.moveTo(from, y);
      ctx.lineTo(to, y);
      ctx.stroke();
      if (span.value) drawShape(ctx, span, at(span.value), y, 3.6 * ratio);
    });
    ctx.restore();
  }
}

const POLYGONS = {
  square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  triangle: [[0, -1.2], [1.2, 0.9], [-1.2, 0.9]],
  "down-triangle": [[0, 1.2], [1.2, -0.9], [-1.2, -0.9]],
  pentagon: [[0, -1.2], [1.15, -0.35], [0.7, 1], [-0.7, 1], [-1.15, -0.35]],
};

function drawShape(ctx, { shape, open, colour }, x, y, radius) {
  ctx.strokeStyle = onScreen(colour);
  ctx.fillStyle = open ? styleColour("--paper") : onScreen(colour);
  ctx.beginPath();
  if (shape === "arrow") {
    ctx.moveTo(x, y + radius);
    ctx.lineTo(x, y - radius);
    ctx.moveTo(x - radius, y);
    ctx.lineTo(x, y - radius);
    ctx.lineTo(x + radius, y);
    ctx.stroke();
    return;
  }
  const polygon = POLYGONS[shape];
  if (polygon) polygon.forEach(([dx, dy], index) => ctx[index ? "lineTo" : "moveTo"](x + dx * radius, y + dy * radius));
  else ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.closePath();
  ctx.fill();
  ctx.stroke();
}

/** Curves of trainings: error or loss against steps. */
export class CurvesChart extends Chart {
  /** `curves` have `name`, `colour`, `width`, `step` and `value`; `goals` are errors. */
  show(curves, goals, label) {
    this.curves = curves.filter(({ step }) => step.length > 0);
    this.goals = goals;
    this.label = label;
    this.draw();
  }

  *marks() {
    for (const curve of this.curves) {
      curve.marks ??= curve.step.map((x, index) => ({ x, y: curve.value[index], note: `${curve.name}: step ${grouped(x)}, ${this.label} ${short(curve.value[index])}` }));
      yield* curve.marks;
    }
  }

  draw() {
    if (!this.curves?.length || !this.element.clientWidth) return;
    // A logarithm needs numbers above zero.
    const positive = (value) => (value > 1e-6 ? value : 1e-6);
    const lines = this.curves.map(({ step, value }) => step.map((x, index) => [x, positive(value[index])]));
    const [xs, columns] = align(lines);
    const all = lines.flat().map(([, y]) => y).filter(Number.isFinite).concat(this.goals);
    const range = [Math.min(...all) * 0.85, Math.max(...all) * 1.15];
    this.plotWith({
      scales: { x: { time: false, range: () => [0, xs.at(-1) || 1] }, y: { distr: 3, range: () => range } },
      series: [{}, ...this.curves.map(({ colour, width }) => ({ stroke: colour, width, spanGaps: true, points: { show: xs.length < 3 } }))],
      x: { label: "Steps →", values: (_, splits) => splits.map((it) => (Number.isInteger(it) ? grouped(it) : "")) },
      y: { label: `↑ ${this.label}`, filter: (_, splits) => splits, splits: () => decades(range), values: (_, splits) => splits.map(short) },
      hooks: { draw: [(plot) => this.drawGoals(plot)] },
    }, xs, columns);
  }

  drawGoals(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = styleColour("--live");
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.lineWidth = devicePixelRatio;
    ctx.font = `${11 * devicePixelRatio}px Inter, system-ui, sans-serif`;
    ctx.textAlign = "right";
    for (const goal of this.goals) {
      const y = plot.valToPos(goal, "y", true);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.fillText(`goal ${goal}`, bbox.left + bbox.width - 6 * devicePixelRatio, y - 5 * devicePixelRatio);
    }
    ctx.restore();
  }
}

/** 1, 2 and 5 times powers of ten within a range; of a wide one only as many powers as have room. */
function decades([low, high]) {
  const splits = [];
  const span = Math.log10(high / low);
  const every = Math.ceil(span / 8);
  const factors = span > 3 ? [1] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    if (power % every === 0) for (const factor of factors) splits.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  return splits.filter((it) => it >= low && it <= high);
}
