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
    const button = (text, kind, action) => h("button", { type: "button", class: kind, hidden: true, onclick: action }, text);
    this.confirm = button("Run it", null, () => this.change(this.shown, "confirm"));
    this.cancel = button("Cancel", null, () => this.change(this.shown, "cancel"));
    this.settings = button("show its settings", "plain", () => this.apply(this.shown.values));
    this.choice = h("div", { class: "answers", hidden: true }, this.confirm, this.cancel, this.settings);
    this.others = h("ul", { class: "others" });
    this.element = h("section", { class: "run", "aria-label": "Run experiments" }, this.button, this.bar, this.state, this.choice, this.others);
    document.addEventListener("visibilitychange", () => (document.hidden ? this.abort?.abort() : this.look()));
    this.look();
  }

  async start() {
    try {
      if (this.active?.state === "asks") await this.change(this.active, "cancel"); // another question takes its place
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
    const listed = JSON.stringify(waiting.map((run) => [run.number, run.state]));
    if (this.listed !== listed) this.others.replaceChildren(...waiting.map((run) => h("li", {}, `${run.theory.replaceAll("_", " ")}: ${run.state} `,
      h("button", { type: "button", class: "plain", onclick: async () => { await this.change(run, "cancel"); this.look(); } }, "Cancel"))));
    this.listed = listed; // the same buttons stay, with whoever has the focus
    if (waiting.length) this.later = setTimeout(() => this.look(), 2000);
  }

  async change(run, what) {
    try {
      await post(`/api/runs/${run.number}`, { do: what });
    } catch (error) {
      this.state.textContent = error.message;
    }
  }

  // other settings are looked at: what is said of the run may be of others now
  moved() {
    if (this.active) this.show(this.active);
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
    this.shown = run;
    const busy = ["waiting", "running"].includes(run.state);
    const other = (busy || run.state === "asks") && !same(run.values, this.values());
    this.bar.hidden = !busy;
    if (run.total) this.bar.value = run.done / run.total;
    else this.bar.removeAttribute("value");
    this.element.dataset.state = run.state;
    this.name(run.state === "cancelled" && run.done);
    const counted = run.total ? `${run.done} of ${run.total} records` : "measuring how long it takes …";
    const left = run.left !== null && busy ? `, about ${duration(run.left)} left` : "";
    this.state.textContent = { waiting: "waiting for its turn", running: counted + left,
      asks: other ? `A run with other settings waits for an answer: ${run.message}.` : `This takes ${run.message}.`,
      done: `${counted}. ${run.message}`, failed: run.message, cancelled: `cancelled; ${run.done} records are kept` }[run.state];
    this.offer({ confirm: run.state === "asks" && !other, cancel: busy || run.state === "asks", settings: other });
  }

  // the buttons stay where they are, with the focus, while progress is told; it moves on from one that goes
  offer(offered) {
    const focused = this.choice.contains(document.activeElement) && document.activeElement;
    for (const [name, shown] of Object.entries(offered)) this[name].hidden = !shown;
    this.choice.hidden = !Object.values(offered).some(Boolean);
    if (focused && (focused.hidden || this.choice.hidden)) this.button.focus();
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
