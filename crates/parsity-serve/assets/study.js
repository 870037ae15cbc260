// The page of a study, or of several that are compared: everything the report shows, live.

import { api, duration, fetchFigure, fetchJson, find, Gone, grouped, learnColours, make, withCode } from "./page.js";
import { FigureChart } from "./charts.js";
import { HeatMap } from "./heat.js";
import { CellPanel } from "./cell.js";

export class StudyPage {
  constructor(names) {
    this.names = names;
    this.one = !names.includes(",");
    this.edition = null;
    this.beat = null;
    this.figures = new Map();
    this.parts = new Map();
    document.title = `${names} · Parsity`;
    find("title").textContent = names.split(",").join(", ");
    const asked = new URLSearchParams(location.search);
    this.goal = Number(asked.get("goal") ?? -1);
    const [batch, share] = (asked.get("cell") ?? "").split(",").map(Number);
    this.cell = batch > 0 && share >= 0 ? { batch_size: batch, sparsity: share } : null;
    this.seen = new IntersectionObserver((entries) => this.see(entries), { rootMargin: "400px" });
  }

  /** What the status line says. */
  status({ studies, at }) {
    const ours = studies.filter(({ study }) => this.names.split(",").includes(study));
    if (!ours.length) return ["lost", "The store has no such study."];
    const running = ours.filter((study) => study.running);
    if (running.length) {
      const words = ["Running"];
      const pace = running[0].images_per_second;
      if (pace) words.push(`${grouped(pace)} images/s`);
      if (running[0].seconds_left !== null) words.push(`about ${duration(running[0].seconds_left)} left`);
      return ["running", words.join(" · ")];
    }
    if (ours.every(({ decided, cells }) => decided === cells)) return ["done", "Done: all cells are decided."];
    const beat = Math.max(...ours.map((study) => study.beat ?? 0));
    const ago = beat ? ` Its run was last seen ${duration(Math.max(0, at - beat))} ago.` : "";
    return ["stopped", `Stopped: no run is at work.${ago} Run it again to continue.`];
  }

  show({ studies }) {
    const ours = studies.filter(({ study }) => this.names.split(",").includes(study));
    const edition = ours.map((study) => study.edition).join("-");
    const beat = ours.map((study) => `${study.beat}${study.running}`).join();
    // Each is fetched once at a time; what changed meanwhile is fetched with the next state.
    if (edition !== this.edition && ours.every((study) => study.edition)) this.once("page", () => this.fetchPage(edition));
    if (this.one && this.study && beat !== this.beat) this.once("live", () => this.fetchLive(beat));
  }

  once(what, task) {
    this.busy ??= new Set();
    if (this.busy.has(what)) return;
    this.busy.add(what);
    task()
      .catch((error) => find("main").prepend(this.complaint(error)))
      .finally(() => this.busy.delete(what));
  }

  complaint(error) {
    find("complaint")?.remove();
    const text = error instanceof Gone ? error.message : `Not all could be fetched: ${error.message}`;
    return make("p", { id: "complaint", class: "open" }, text);
  }

  async fetchPage(edition) {
    const page = await fetchJson(api(this.names, "page.json"));
    find("complaint")?.remove();
    learnColours(page.dark);
    if (!this.study) this.build(page);
    this.study = page.studies[0];
    if (this.goal < 0 || this.goal >= this.study.goals.length) this.goal = this.study.goals.length - 1;
    this.page = page;
    await this.paint();
    this.edition = edition;
    if (this.one && this.beat === null) await this.fetchLive("");
  }

  async fetchLive(beat) {
    const live = await fetchJson(api(this.names, "live.json"));
    this.beat = beat;
    this.map.update(live);
    this.panel.update(live);
  }

  section(anchor, heading, ...inside) {
    return make("section", { id: anchor, "aria-labelledby": `${anchor}-heading` },
      make("h2", { id: `${anchor}-heading` }, heading), ...inside);
  }

  build(page) {
    const sections = [];
    if (this.one) {
      this.map = new HeatMap((cell) => this.choose(cell, true));
      this.curves = new FigureChart("Steps-to-result against batch size; the arrow keys walk along the marks");
      this.panel = new CellPanel(this.names);
      this.goals = make("div", { class: "tools", hidden: "" });
      sections.push(make("div", { class: "split" },
        this.section("map", "Map", make("div", { class: "card" }, this.goals, this.map.element)),
        this.section("curves", "Curves", make("div", { class: "card" }, this.curves.whole))));
      sections.push(this.section("cell", "Cell", this.panel.element));
    }
    const [first, ...rest] = page.parts;
    const place = (part) => {
      const body = make("div", {});
      this.parts.set(part.anchor, { body, html: null });
      return this.section(part.anchor, part.heading, body);
    };
    this.gallery = make("div", {});
    sections.push(place(first), ...rest.map(place));
    sections.splice(sections.length - 3, 0, this.section("figures", "Figures", this.gallery));
    find("main").replaceChildren(...sections);
    const links = [...find("main").querySelectorAll("section")];
    find("nav").replaceChildren(...links.map((section, index) => {
      const key = index < 9 ? String(index + 1) : undefined;
      return make("a", { href: `#${section.id}`, "data-key": key, "aria-keyshortcuts": key, title: key && `Key ${key}` }, section.querySelector("h2").textContent);
    }));
  }

  async paint() {
    const { study, page } = this;
    find("lede").textContent = this.one ? study.workload.slice(1).concat(study.protocol).join(" · ") : page.studies.map((it) => it.workload.join(" · ")).join(" — ");
    for (const part of page.parts) {
      if (part.anchor === "findings") this.paintFindings(page);
      else this.paintPart(part);
    }
    this.paintFigures(page.figures);
    if (!this.one) return;
    this.paintGoals();
    this.map.show(study, this.goal);
    const name = study.goals.length > 1 ? `scaling-${study.goals[this.goal].goal_error}` : "scaling";
    this.curves.show(await fetchJson(api(this.names, `${name}.json`)));
    if (this.cell) await this.choose(this.cell, false);
  }

  paintGoals() {
    const { goals } = this.study;
    this.goals.hidden = goals.length < 2;
    this.goals.replaceChildren(...goals.map(({ goal_error }, index) => make("button", {
      type: "button", class: "toggle", "aria-pressed": String(index === this.goal),
      click: () => { this.goal = index; this.remember(); this.once("page", () => this.paint()); },
    }, `error ${goal_error}`)));
  }

  /** Puts the words of the report there; what was open stays open. */
  paintPart({ anchor, html }) {
    const part = this.parts.get(anchor);
    if (!part || part.html === html) return;
    part.html = html;
    const open = [...part.body.querySelectorAll("details")].map((details) => details.open);
    const at = [...part.body.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
    part.body.innerHTML = html;
    part.body.querySelectorAll("details").forEach((details, index) => { details.open = open[index] ?? false; });
    part.body.querySelectorAll(".scroll").forEach((box, index) => { [box.scrollLeft, box.scrollTop] = at[index] ?? [0, 0]; });
    for (const link of part.body.querySelectorAll("a[href]")) {
      const file = link.getAttribute("href");
      if (!file.startsWith("#")) link.href = api(this.names, file);
    }
  }

  paintFindings({ studies }) {
    const { body } = this.parts.get("findings");
    const groups = studies.flatMap((study) => study.goals.map((goal, index) => ({ study, goal, index })));
    const lists = groups.filter(({ goal }) => goal.findings.length).map(({ study, goal, index }) => [
      studies.length > 1 || study.goals.length > 1 ? make("h3", {}, `${study.study}, goal error ${goal.goal_error}`) : null,
      make("ul", { class: "findings" }, goal.findings.map((finding) => make("li", {},
        withCode(finding.says), ". ",
        make("span", { class: "next" }, "Next: ", withCode(finding.next_action), ". "),
        finding.cell ? this.link(study, finding.cell, index) : null))),
    ]);
    body.replaceChildren(...(lists.length ? lists.flat().filter(Boolean) : [make("p", {}, "Nothing suspicious was found.")]),
      make("p", { class: "files" }, make("a", { href: api(this.names, "findings.csv") }, "CSV")));
  }

  link(study, cell, goal) {
    const href = `/studies/${encodeURIComponent(study.study)}?cell=${cell.batch_size},${cell.sparsity}&goal=${goal}#cell`;
    return make("a", { href, click: (event) => {
      if (!this.one) return;
      event.preventDefault();
      if (goal !== this.goal) {
        this.goal = goal;
        this.cell = cell;
        this.once("page", () => this.paint());
      }
      this.choose(cell, true);
    } }, "Look at its search");
  }

  async choose(cell, go) {
    this.cell = cell;
    this.map.mark(cell);
    this.remember();
    const shown = this.panel.choose(this.study, this.goal, cell);
    if (go) {
      find("cell").scrollIntoView();
      this.panel.title.focus({ preventScroll: true });
    }
    await shown;
  }

  /** The address shows what is chosen, so that it can be kept and sent. */
  remember() {
    const query = new URLSearchParams();
    if (this.cell) query.set("cell", `${this.cell.batch_size},${this.cell.sparsity}`);
    if (this.study.goals.length > 1) query.set("goal", this.goal);
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
  }

  /** Figures are fetched when they come into sight, and again when they are out of date. */
  paintFigures(figures) {
    const names = figures.map(({ name }) => name);
    for (const [name, { figure }] of this.figures) {
      if (!names.includes(name)) {
        figure.remove();
        this.figures.delete(name);
      }
    }
    figures.forEach(({ name, title, description }, index) => {
      let entry = this.figures.get(name);
      if (!entry) {
        entry = this.addFigure(name, title);
        this.figures.set(name, entry);
      }
      const place = this.gallery.children[index];
      if (place !== entry.figure) this.gallery.insertBefore(entry.figure, place ?? null);
      entry.words.textContent = description;
      entry.stale = true;
      if (entry.visible) this.drawFigure(name);
    });
  }

  addFigure(name, title) {
    const sheet = make("div", { class: "sheet", tabindex: "0", role: "region", "aria-label": `Figure: ${title}` }, make("p", { class: "waiting" }, title));
    const words = make("p", { class: "small" });
    const files = ["csv", "svg", "png"].map((ending) => make("a", { href: api(this.names, `${name}.${ending}`) }, ending.toUpperCase()));
    const figure = make("figure", { id: `figure-${name}`, "data-name": name }, sheet,
      make("figcaption", {}, make("p", { class: "files" }, files.flatMap((file) => [file, " "])),
        make("details", {}, make("summary", {}, "The figure in words"), words)));
    this.seen.observe(figure);
    return { figure, sheet, words, stale: true, visible: false };
  }

  see(entries) {
    for (const { target, isIntersecting } of entries) {
      const entry = this.figures.get(target.dataset.name);
      if (!entry) continue;
      entry.visible = isIntersecting;
      if (isIntersecting && entry.stale) this.drawFigure(target.dataset.name);
    }
  }

  drawFigure(name) {
    const entry = this.figures.get(name);
    entry.stale = false;
    fetchFigure(api(this.names, `${name}.svg`))
      .then((figure) => entry.sheet.replaceChildren(figure))
      .catch(() => { entry.stale = true; });
  }
}
