// Pictures: drawn by plotly, or as a plane of our own; each also as a table, CSV, PNG and SVG.

import { download, h, number } from "./dom.js";
import { planeTable, Plane } from "./plane.js";

let loading = null;

export function plotly() {
  loading ||= new Promise((resolve, reject) => {
    const script = h("script", { src: "/vendor/plotly.js" });
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("plotly.js could not be loaded"));
    document.head.append(script);
  });
  return loading;
}

const CONFIG = { displayModeBar: false, responsive: true, showTips: false, doubleClickDelay: 400 };

export class Figure {
  constructor(panel, changed, value) {
    this.value = value;
    this.panel = panel;
    this.changed = changed;
    this.points = [];
    this.drawn = null;
    this.moment = null;
    this.canvas = h("div", { class: "canvas", role: "img", "aria-label": panel.title });
    this.table = h("div", { class: "tabular", hidden: true, tabindex: "0", role: "region", "aria-label": `${panel.title}, as a table` });
    this.note = h("p", { class: "note", "aria-live": "polite" });
    this.switch = this.button("Table", () => this.toggle());
    this.switch.setAttribute("aria-pressed", "false");
    this.element = h("section", { class: panel.wide ? "panel wide" : "panel", "data-panel": panel.name },
      h("header", {}, h("h2", {}, panel.title),
        h("div", { class: "tools" }, this.switch,
          this.button("CSV", () => download(`${panel.name}.csv`, this.csv(), "text/csv")),
          this.button("PNG", () => this.image("png")),
          this.button("SVG", () => this.image("svg")))),
      h("p", { class: "about" }, panel.about),
      this.canvas, this.table, this.note);
    this.element.classList.add("empty");
  }

  button(text, action) {
    return h("button", { type: "button", class: "plain", onclick: action, "aria-label": `${text}: ${this.panel.title}` }, text);
  }

  async show(drawn, moved) {
    this.drawn = drawn;
    this.note.textContent = drawn.note || "";
    this.element.classList.remove("empty");
    this.element.classList.toggle("coarse", (drawn.note || "").endsWith("…")); // more is to come
    if (drawn.kind === "plane") {
      this.plane ||= new Plane(this.canvas, this.changed);
      this.plane.show(drawn, moved);
    } else await this.draw();
    this.element.dataset.shown = String(Number(this.element.dataset.shown || 0) + 1);
    if (!this.table.hidden) this.fillTable();
  }

  async measured(traces) {
    const before = this.points;
    this.points = traces || [];
    if (this.drawn?.kind === "picture" && before.length + this.points.length) await this.draw();
    this.element.dataset.points = String(this.points.reduce((sum, one) => sum + one.x.length, 0));
    if (!this.table.hidden) this.fillTable();
  }

  traces() {
    return [...(this.drawn.data || []), ...this.points].map(withErrors);
  }

  async draw() {
    const Plotly = await plotly();
    const layout = { ...this.drawn.layout, autosize: true, dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom" };
    layout.showlegend = this.traces().length > 1;
    this.moment = this.drawn.follows ? this.value(this.drawn.follows) : null;
    if (this.moment !== null) layout.shapes = [...(layout.shapes || []), this.cursor()];
    await Plotly.react(this.canvas, this.traces(), layout, CONFIG);
  }

  cursor() {
    return { type: "line", xref: "x", yref: "paper", x0: this.moment, x1: this.moment, y0: 0, y1: 1,
      line: { color: this.drawn.layout.font.color, width: 1 }, opacity: 0.5 };
  }

  at(moment) {
    if (this.drawn?.follows !== "time") return;
    this.moment = moment;
    this.moving ||= setTimeout(() => {
      this.moving = null;
      window.Plotly?.relayout(this.canvas, { shapes: [...(this.drawn.layout.shapes || []), this.cursor()] });
    }, 80);
  }

  toggle() {
    const tabular = this.table.hidden;
    this.table.hidden = !tabular;
    this.canvas.hidden = tabular;
    this.switch.setAttribute("aria-pressed", String(tabular));
    if (tabular) this.fillTable();
    else if (this.drawn?.kind === "picture") this.draw();
  }

  rows() {
    if (!this.drawn) return [["nothing yet"]];
    if (this.drawn.kind === "plane") return planeTable(this.drawn);
    const x = this.drawn.layout.xaxis.title.text;
    const rows = [["series", x, this.drawn.layout.yaxis.title.text, "± standard error"]];
    for (const one of this.traces()) {
      one.x.forEach((value, i) => rows.push([one.name, value, one.y[i], one.error_y ? one.error_y.array[i] : null]));
    }
    return rows;
  }

  fillTable() {
    const [head, ...body] = this.rows();
    this.table.replaceChildren(h("table", {},
      h("thead", {}, h("tr", {}, head.map((one) => h("th", { scope: "col" }, one)))),
      h("tbody", {}, body.slice(0, 2000).map((row) => h("tr", {}, row.map((one) => h("td", {}, one === null ? "" : number(one, 6))))))));
  }

  csv() {
    const cell = (one) => (one === null || one === undefined ? "" : /[",\n]/.test(String(one)) ? `"${String(one).replaceAll('"', '""')}"` : String(one));
    return this.rows().map((row) => row.map(cell).join(",")).join("\n") + "\n";
  }

  async image(format) {
    if (!this.drawn) return;
    if (this.drawn.kind === "plane") {
      this.plane.image(format, `${this.panel.name}.${format}`);
      return;
    }
    const Plotly = await plotly();
    const paper = getComputedStyle(this.element).backgroundColor;
    const shown = { data: this.traces(), layout: { ...this.drawn.layout, paper_bgcolor: paper } };
    const url = await Plotly.toImage(shown, { format, width: 900, height: 560, scale: 2 });
    download(`${this.panel.name}.${format}`, url);
  }
}

// plotly takes null for an error of 0: one that is not known has no bar
function withErrors(trace) {
  if (!trace.error_y) return trace;
  return { ...trace, error_y: { ...trace.error_y, array: trace.error_y.array.map((error) => error ?? undefined) } };
}

// A small picture without words, for a card.
export async function thumbnail(canvas, drawn) {
  if (drawn.kind === "plane") {
    new Plane(canvas, null, true).show(drawn);
    return;
  }
  if (!drawn.data) return;
  const Plotly = await plotly();
  const bare = { visible: false, fixedrange: true };
  const layout = { ...drawn.layout, showlegend: false, margin: { l: 4, r: 4, t: 6, b: 6 }, annotations: [], autosize: true };
  layout.xaxis = { ...drawn.layout.xaxis, ...bare };
  layout.yaxis = { ...drawn.layout.yaxis, ...bare };
  await Plotly.react(canvas, drawn.data.map((one) => ({ ...one, hoverinfo: "skip" })), layout, { staticPlot: true, responsive: true });
}
