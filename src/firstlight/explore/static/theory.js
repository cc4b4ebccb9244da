// The page of one theory: controls, pictures that follow them, runs, what is assumed, what to take away.

import { get, query, stream } from "./api.js";
import { Controls } from "./controls.js";
import { formatted, h } from "./dom.js";
import { Figure } from "./picture.js";
import { RunBox } from "./runs.js";
import { theme, onTheme } from "./theme.js";

export async function theory(main, name) {
  const described = await get(`/api/theories/${encodeURIComponent(name)}`);
  document.title = `${described.title} · firstlight`;
  const page = new TheoryPage(described);
  main.replaceChildren(page.element);
  page.open();
}

class TheoryPage {
  constructor(described) {
    this.described = described;
    this.path = `/api/theories/${described.name}`;
    this.controls = new Controls(described.controls, (busy) => this.changed(busy));
    this.figures = new Map(described.panels.map((panel) => [panel.name, new Figure(panel, (control, rows) => this.dragged(control, rows), (name) => (name === "time" ? this.moment() : this.controls.values[name]))]));
    this.problem = h("p", { class: "error", role: "alert", hidden: true });
    this.assumed = h("ul", { class: "assumed", "aria-live": "polite" });
    this.runs = new RunBox(described, () => this.controls.values, (points) => this.measured(points), (values) => this.apply(values));
    this.presets = described.presets.map((preset) => h("button", { type: "button", class: "preset", title: preset.about, onclick: () => this.apply(preset.values) }, preset.name));
    this.element = this.laidOut();
    onTheme(() => this.request());
    addEventListener("popstate", () => this.open());
  }

  laidOut() {
    const { title, question, answer, explanation, references } = this.described;
    return h("article", { class: "theory" },
      h("header", { class: "opening" }, h("div", {}, h("p", { class: "question" }, question), h("h1", {}, title), h("p", { class: "answer" }, answer)), this.taking()),
      h("div", { class: "presets", role: "group", "aria-label": "Worth seeing" }, h("span", { class: "caption" }, "Worth seeing"), this.presets),
      h("div", { class: "desk" },
        h("aside", { "aria-label": "Controls" }, this.runs.element, this.controls.element),
        h("div", { class: "panels" }, this.problem, [...this.figures.values()].map((figure) => figure.element)),
        h("div", { class: "columns" },
          h("section", { class: "card" }, h("h2", {}, "What the theory assumes here"), this.assumed),
          h("section", { class: "card explanation" }, h("h2", {}, "Why"), explanation.map((one) => formatted("p", one)),
            h("p", { class: "quiet" }, references.slice(0, 1))))));
  }

  taking() {
    const said = h("span", { class: "quiet", role: "status" });
    const copy = (what) => h("button", { type: "button", onclick: async () => {
      try {
        const found = await get(`${this.path}/take?${query(this.controls.values, theme())}`);
        await clipboard(found[what]);
        said.textContent = "copied";
      } catch (error) {
        said.textContent = error.message;
      }
    } }, `Copy as ${what === "python" ? "Python" : "command"}`);
    const link = h("button", { type: "button", onclick: async () => { await clipboard(location.href); said.textContent = "copied"; } }, "Copy link");
    return h("section", { class: "take", "aria-label": "Take away" }, copy("python"), copy("command"), link, said);
  }

  open() {
    try {
      this.controls.set(this.controls.read(location.search));
    } catch (error) {
      this.controls.set({});
      this.fail(error);
      this.broken = true; // what is wrong with a link is said until something is changed
    }
    this.request();
  }

  apply(values) {
    this.controls.set(values);
    this.changed();
  }

  changed(busy) {
    this.broken = false;
    this.runs.moved();
    clearTimeout(this.writing);
    this.writing = setTimeout(() => {
      const search = this.controls.search();
      history.replaceState(null, "", location.pathname + (search ? `?${search}` : ""));
    }, 150);
    this.request(busy);
  }

  dragged(control, rows) {
    this.controls.put(control, rows);
    this.changed(true);
  }

  // A new value drops the old request; but while a slider moves, one picture is waited for, so that all moves.
  request() {
    this.wanted = true;
    delete this.element.dataset.settled;
    if (this.answering) return;
    this.abort?.abort();
    this.ask();
  }

  async ask() {
    this.wanted = false;
    const missing = this.controls.missing();
    if (missing) {
      this.abort = null; // no answer is waited for
      this.fail(new Error(`Choose ${missing.label} first.`));
      this.answered({ shown: new Set() });
      return;
    }
    this.answering = true;
    const began = performance.now();
    const abort = (this.abort = new AbortController());
    const asked = { ...this.controls.values };
    const release = () => {
      if (this.abort !== abort) return;
      this.answering = false;
      if (this.wanted) this.request();
    };
    const patience = setTimeout(release, 400);
    let first = true;
    const answer = { asked, shown: new Set(), errors: new Set(), signal: abort.signal };
    try {
      await stream(`${this.path}/pictures?${query(asked, theme())}`, async (told) => {
        await this.tell(told, answer);
        if (told.panels && first) {
          first = false;
          this.element.dataset.latency = String(performance.now() - began);
          release();
        }
      }, abort.signal);
      if (this.abort === abort && !this.wanted) this.element.dataset.settled = JSON.stringify(asked);
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error);
    }
    if (!abort.signal.aborted) this.answered(answer);
    clearTimeout(patience);
    release();
  }

  // Part of an answer to what was asked; drawing takes a while, in which a newer answer may have come.
  async tell(told, answer) {
    const { asked, shown, errors, signal } = answer;
    if (signal.aborted) return;
    if (told.error) this.fail(new Error([...errors.add(told.error)].join(" · ")));
    if (told.panels) {
      this.problem.hidden = !this.broken && !errors.size;
      for (const [name, drawn] of Object.entries(told.panels)) {
        const figure = this.figures.get(name);
        shown.add(name);
        const moved = Object.keys(drawn.rows || {}).filter((control) => asked[control] !== this.controls.values[control]);
        await figure?.show(drawn, moved);
        await new Promise((resolve) => setTimeout(resolve)); // what is drawn is seen before the next is drawn
        if (signal.aborted) return;
        if (figure?.plane && !figure.plane.onmoment) figure.plane.onmoment = (t) => { for (const other of this.figures.values()) other.at(t); };
      }
    }
    if (told.assumptions) this.assume((answer.assumptions = told.assumptions));
    if (told.points) {
      this.runs.stored(told.stored, told.records);
      answer.counted = true;
      if (!this.runs.active) this.measured(told.points);
    }
  }

  // what no answer came for belongs to other values
  answered({ shown, assumptions, counted }) {
    for (const [name, figure] of this.figures) figure.element.classList.toggle("stale", !shown.has(name));
    if (!assumptions) this.assume([]);
    if (!counted) this.runs.unknown();
  }

  // the time that the plane shows, if it was moved
  moment() {
    const plane = [...this.figures.values()].find((figure) => figure.plane)?.plane;
    return plane?.frame ? plane.moment : null;
  }

  measured(points) {
    for (const [name, figure] of this.figures) figure.measured(points[name]);
  }

  assume(assumptions) {
    this.assumed.replaceChildren(...assumptions.map((one) => h("li", { class: one.verdict.replaceAll(" ", "-") },
      h("span", { class: "verdict" }, one.verdict), h("strong", {}, one.name), h("span", { class: "quiet" }, one.detail))));
  }

  fail(error) {
    this.problem.textContent = error.message;
    this.problem.hidden = false;
  }
}

async function clipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  window.copied = text;
}
