// All studies of the store, and how far each is.

import { duration, find, grouped, make } from "./page.js";

export class Overview {
  constructor() {
    document.title = "Studies · Parsity";
    find("lede").textContent =
      "How far does data parallelism go? Training steps to a goal error, by batch size and sparsity.";
    this.list = make("ul", { class: "studies" });
    this.compare = make("button", { type: "button", disabled: "", click: () => this.open() }, "Compare chosen studies");
    this.tools = make("p", { class: "tools", hidden: "" }, this.compare);
    find("main").append(this.list, this.tools);
    this.chosen = new Set();
    this.shown = "";
  }

  status({ studies }) {
    const running = studies.filter((study) => study.running);
    if (running.length) return ["running", `Running: ${running.map((study) => study.study).join(", ")}`];
    return ["stopped", studies.length ? "No run is at work." : "The store has no study yet."];
  }

  show({ studies }) {
    const told = JSON.stringify(studies.map(({ beat, ...rest }) => rest));
    if (told === this.shown) return;
    this.shown = told;
    const focus = document.activeElement?.id;
    this.list.replaceChildren(...studies.map((study) => this.item(study)));
    if (focus) find(focus)?.focus();
    // Nothing to compare one study with.
    this.tools.hidden = studies.length < 2;
    for (const label of this.list.querySelectorAll(".compare")) label.hidden = studies.length < 2;
  }

  item(study) {
    const { study: name, cells, decided, trials, done, findings, running } = study;
    const facts = [];
    if (decided === null) facts.push("its records are being read …");
    else facts.push(`${grouped(decided)} of ${grouped(cells)} cells decided, ${grouped(done)} of ${grouped(trials)} trials done`);
    if (findings) facts.push(`${grouped(findings)} ${findings === 1 ? "finding" : "findings"}`);
    if (study.images_per_second) facts.push(`${grouped(study.images_per_second)} images/s`);
    if (study.seconds_left !== null) facts.push(`about ${duration(study.seconds_left)} left`);
    const word = running
      ? make("span", { class: "running-word" }, "● running")
      : make("span", { class: "small" }, decided === cells ? "✓ done" : "■ not running");
    const choose = make("input", {
      type: "checkbox", id: `compare-${name}`, change: (event) => {
        if (event.target.checked) this.chosen.add(name);
        else this.chosen.delete(name);
        this.compare.disabled = this.chosen.size < 2;
      },
    });
    choose.checked = this.chosen.has(name);
    return make("li", { class: "card" },
      make("h2", {}, make("a", { href: `/studies/${encodeURIComponent(name)}`, id: `study-${name}` }, name)),
      make("div", {}, word, " ", make("label", { class: "small compare" }, choose, " compare")),
      make("p", { class: "small" }, study.workload.slice(1).concat(study.protocol).join(" · ")),
      make("p", { class: "small" }, facts.join(" · ")),
      make("progress", { max: trials, value: done ?? 0, "aria-label": `Trials of ${name} that are done` }));
  }

  open() {
    location.href = `/studies/${encodeURIComponent([...this.chosen].join(","))}`;
  }
}
