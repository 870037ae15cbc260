// One cell: its search with the winner, and the curves of its trainings, live while they run.

import { api, fetchFigure, fetchJson, Gone, grouped, make, onScreen, percent } from "./page.js";
import { CurvesChart } from "./charts.js";

/** Curves that are drawn of trials that have ended. */
const MOST = 24;
const BEST = "#f2b705";

export class CellPanel {
  constructor(names) {
    this.names = names;
    this.title = make("h3", { tabindex: "-1" }, "Choose a cell of the map");
    this.facts = make("p", { class: "cell-facts" });
    this.sheet = make("div", { class: "sheet", tabindex: "0", role: "region", "aria-label": "The search of the cell" });
    this.chart = new CurvesChart("Training curves; the arrow keys walk along them");
    this.which = make("select", { change: () => this.curves(), "aria-label": "Trials" });
    this.what = make("select", { change: () => this.curves(), "aria-label": "What is drawn" },
      make("option", { value: "loss" }, "training loss"), make("option", { value: "error" }, "validation error"));
    this.remark = make("p", { class: "small" });
    const training = make("div", { class: "card" },
      make("div", { class: "tools" }, make("label", {}, "Trials ", this.which), make("label", {}, "Shown ", this.what)),
      this.chart.element, this.remark);
    this.body = make("div", { class: "split wide", hidden: "" }, make("div", { class: "card" }, this.sheet), training);
    this.element = make("div", {}, this.title, this.facts, this.body);
    this.ended = [];
  }

  /** Shows a cell of `study`, towards goal number `goal`. */
  async choose(study, goal, cell) {
    const anew = !this.cell || this.cell.batch_size !== cell.batch_size || this.cell.sparsity !== cell.sparsity;
    [this.study, this.goal, this.cell] = [study, goal, cell];
    if (anew) {
      this.which.replaceChildren();
      this.ended = [];
      this.sheet.replaceChildren();
    }
    this.body.hidden = false;
    this.describe();
    await this.refresh();
  }

  describe() {
    const { batch_size, sparsity } = this.cell;
    const known = this.study.goals[this.goal].cells.find((it) => it.batch_size === batch_size && it.sparsity === sparsity);
    this.title.textContent = `B = ${grouped(batch_size)}, ${percent(sparsity)} sparse`;
    const fact = (name, value) => make("span", {}, `${name} `, make("b", {}, value));
    const facts = [];
    if (known?.steps_to_result) facts.push(fact("steps-to-result", grouped(known.steps_to_result)));
    else if (known?.best_so_far) facts.push(fact("best so far", `${grouped(known.best_so_far)} steps`));
    else if (known?.state === "not-reached") facts.push(fact("goal", "not reached"));
    if (known) facts.push(fact("trials done", `${known.done} of ${known.trials}`));
    if (known && known.best_trial !== null) facts.push(fact("best trial", known.best_trial));
    this.facts.replaceChildren(...facts);
    this.known = known;
  }

  /** Fetches what the store has of the cell. */
  async refresh() {
    const { batch_size, sparsity } = this.cell;
    const place = `cells/${batch_size}/${sparsity}`;
    const still = () => this.cell.batch_size === batch_size && this.cell.sparsity === sparsity;
    try {
      const told = await fetchJson(api(this.names, place));
      if (!still()) return;
      this.ended = told.trials;
      this.goals = told.goal_errors;
      if (this.ended.length === 0) {
        this.sheet.replaceChildren(make("p", { class: "waiting" }, "No trial of this cell is done yet."));
      } else {
        const figure = await fetchFigure(api(this.names, `${place}/search.svg?goal=${this.goal}`));
        if (still()) this.sheet.replaceChildren(figure);
      }
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      this.sheet.replaceChildren(make("p", { class: "waiting" }, `Nothing to show: ${error.message}.`));
    }
    this.curves();
  }

  /** Shows what runs right now. */
  update(live) {
    this.live = live;
    if (this.cell) this.curves();
  }

  curves() {
    const { batch_size, sparsity } = this.cell;
    const ours = (trial) => trial.batch_size === batch_size && trial.sparsity === sparsity;
    const over = new Set(this.ended.map(({ trial }) => trial));
    const running = (this.live?.running ? this.live.heartbeat.trials : []).filter((it) => ours(it) && !over.has(it.trial));
    const rank = (trial) => trial.reached[this.goal] ?? Infinity;
    const ended = [...this.ended].sort((a, b) => rank(a) - rank(b) || b.steps - a.steps);
    const all = [
      ...running.map((it) => ({ trial: it.trial, running: true, checks: it })),
      ...ended.map((it) => ({ trial: it.trial, running: false, checks: it.checks })),
    ];
    this.offer(all);
    const chosen = this.which.value;
    const picked = chosen === "" ? all.slice(0, MOST) : all.filter((it) => String(it.trial) === chosen);
    const what = this.what.value;
    const colour = onScreen(this.study.sparsities.find((it) => it.sparsity === sparsity)?.colour ?? "#0072b2");
    const best = this.known?.best_trial;
    const curves = picked.map(({ trial, running, checks }) => ({
      name: `trial ${trial}${running ? ", running" : ""}${trial === best ? ", best" : ""}`,
      colour: trial === best ? BEST : running || picked.length === 1 ? colour : `${colour}55`,
      width: trial === best ? 3 : running ? 2 : 1.2,
      step: checks.step, value: checks[what],
    }));
    // The best one is drawn last, over the others.
    curves.sort((a, b) => a.width - b.width);
    const nothing = curves.every(({ step }) => step.length === 0);
    this.chart.element.hidden = nothing;
    if (!nothing) this.chart.show(curves, what === "error" ? (this.goals ?? []) : [], what === "error" ? "error" : "loss");
    const count = running.length;
    this.chart.element.dataset.running = nothing ? 0 : count;
    this.remark.textContent = nothing
      ? "No goal check was made in this cell yet."
      : `${count ? `${count} ${count === 1 ? "trial runs" : "trials run"} now; ` : ""}${curves.length} of ${all.length} trials shown${best === null || best === undefined ? "" : "; gold is the best"}.${what === "error" ? " Checks that ended early give a lower bound of the error." : ""}`;
  }

  offer(all) {
    const options = [["", "the first"], ...all.map(({ trial, running }) => [String(trial), `trial ${trial}${running ? " (running)" : ""}`])];
    options[0][1] = all.length > MOST ? `the ${MOST} nearest to the goal` : "all";
    const told = JSON.stringify(options);
    if (told === this.offered) return;
    this.offered = told;
    const chosen = this.which.value;
    this.which.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
    this.which.value = options.some(([value]) => value === chosen) ? chosen : "";
  }
}
