// Experiments: start, watch, cancel. A run goes on without the page, and its records stay.

import { get, post, stream } from "./api.js";
import { duration, h } from "./dom.js";
import { theme } from "./theme.js";

const same = (a, b) => JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

export class RunBox {
  constructor(described, values, measured, apply) {
    this.described = described;
    this.values = values;
    this.measured = measured;
    this.apply = apply;
    this.active = null;
    this.button = h("button", { type: "button", class: "primary", onclick: () => this.start() }, described.run);
    this.state = h("p", { class: "state", role: "status" });
    this.bar = h("progress", { hidden: true, max: 1, value: 0, "aria-label": "progress of the run" });
    this.choice = h("div", { class: "answers" });
    this.others = h("ul", { class: "others" });
    this.element = h("section", { class: "run", "aria-label": "Run experiments" }, this.button, this.bar, this.state, this.choice, this.others);
    document.addEventListener("visibilitychange", () => (document.hidden ? this.abort?.abort() : this.look()));
    this.look();
  }

  async start() {
    try {
      this.watch(await post("/api/runs", { theory: this.described.name, values: this.values() }));
    } catch (error) {
      this.state.textContent = error.message;
    }
  }

  // find runs of this page that wait or go on, after a refresh or in a second tab; and others, until they end
  async look() {
    clearTimeout(this.later);
    try {
      const { runs } = await get("/api/runs");
      const mine = runs.find((run) => run.theory === this.described.name && ["waiting", "running", "asks"].includes(run.state));
      if (mine && !this.active) this.watch(mine);
      this.list(runs);
    } catch (error) {
      this.state.textContent = error.message;
    }
  }

  list(runs) {
    const waiting = runs.filter((run) => ["waiting", "running"].includes(run.state) && run.number !== this.active?.number);
    this.others.replaceChildren(...waiting.map((run) => h("li", {}, `${run.theory.replaceAll("_", " ")}: ${run.state} `,
      h("button", { type: "button", class: "plain", onclick: async () => { await this.change(run, "cancel"); this.look(); } }, "Cancel"))));
    if (waiting.length) this.later = setTimeout(() => this.look(), 2000);
  }

  change(run, what) {
    return post(`/api/runs/${run.number}`, { do: what });
  }

  async watch(run) {
    this.abort?.abort();
    this.abort = new AbortController();
    this.active = run;
    this.show(run);
    try {
      await stream(`/api/runs/${run.number}/events?theme=${theme()}`, (now) => {
        this.active = now;
        this.show(now);
        if (same(now.values, this.values()) && Object.keys(now.points).length) this.measured(now.points);
      }, this.abort.signal);
      this.active = null;
      this.look();
    } catch (error) {
      if (this.active?.number === run.number) this.active = null; // else another is being watched
      if (error.name !== "AbortError") this.show({ ...run, state: "failed", message: error.message });
    }
  }

  show(run) {
    const busy = ["waiting", "running"].includes(run.state);
    this.bar.hidden = !busy;
    if (run.total) this.bar.value = run.done / run.total;
    else this.bar.removeAttribute("value");
    this.element.dataset.state = run.state;
    this.name(run.state === "cancelled" && run.done);
    const counted = run.total ? `${run.done} of ${run.total} records` : "measuring how long it takes …";
    const left = run.left !== null && busy ? `, about ${duration(run.left)} left` : "";
    this.state.textContent = { waiting: "waiting for its turn", running: counted + left, asks: `This takes ${run.message}.`,
      done: `${counted}. ${run.message}`, failed: run.message, cancelled: `cancelled; ${run.done} records are kept` }[run.state];
    const ask = (what, text) => h("button", { type: "button", onclick: () => this.change(run, what) }, text);
    const other = !same(run.values, this.values()) && busy
      ? h("button", { type: "button", class: "plain", onclick: () => this.apply(run.values) }, "show its settings") : null;
    this.choice.replaceChildren(...[run.state === "asks" ? ask("confirm", "Run it") : null, busy || run.state === "asks" ? ask("cancel", "Cancel") : null, other].filter(Boolean));
  }

  name(begun) {
    this.button.textContent = begun ? "Go on with the run" : this.described.run;
  }

  unknown() {
    if (this.active) return;
    this.name(false);
    this.element.dataset.state = "none";
    this.state.textContent = "";
  }

  stored(stored, records) {
    if (this.active) return;
    this.name(stored > 0 && stored < records);
    this.element.dataset.state = stored ? "stored" : "none";
    this.state.textContent = stored ? `${stored} of ${records} records of these settings are stored.` : `${records} records to compute.`;
  }
}
