// Controls from their description; every one is a native element, so the keyboard works as anywhere.

import { get } from "./api.js";
import { h, number } from "./dom.js";

export class Controls {
  constructor(described, changed) {
    this.described = described;
    this.changed = changed;
    this.values = {};
    this.rows = new Map();
    this.element = h("form", { class: "controls", onsubmit: (event) => event.preventDefault() });
    for (const control of described) this.add(control);
  }

  add(control) {
    const made = { slider, choice, several, formula, handles, owntable }[control.kind](control, (value, busy) => {
      this.values[control.name] = value;
      this.refresh();
      this.changed(busy);
    });
    this.rows.set(control.name, { control, ...made });
    this.element.append(made.element);
  }

  defaults() {
    return Object.fromEntries(this.described.map((one) => [one.name, one.default]));
  }

  set(values) {
    this.values = { ...this.defaults(), ...values };
    for (const [name, row] of this.rows) row.put(this.values[name]);
    this.refresh();
  }

  put(name, value) {
    this.values[name] = value;
    this.rows.get(name).put(value);
  }

  refresh() {
    for (const { control, element } of this.rows.values()) {
      element.hidden = Object.entries(control.when).some(([name, allowed]) => !allowed.some((one) => same(one, this.values[name])));
    }
  }

  // what must be given before anything can be computed
  missing() {
    return this.described.find((one) => one.kind === "owntable" && !this.rows.get(one.name).element.hidden && !this.values[one.name].table);
  }

  // what differs from the defaults, for the address
  search() {
    const found = new URLSearchParams();
    for (const control of this.described) {
      const value = this.values[control.name];
      if (same(value, control.default)) continue;
      found.set(control.name, typeof value === "string" ? value : JSON.stringify(value));
    }
    return found.toString();
  }

  read(search) {
    const given = new URLSearchParams(search);
    const values = {};
    for (const control of this.described) {
      if (!given.has(control.name)) continue;
      const text = given.get(control.name);
      try {
        values[control.name] = typeof control.default === "string" ? text : JSON.parse(text);
        if (!alike(values[control.name], control.default)) throw new Error();
      } catch {
        throw new Error(`${control.name} in the address: ${text.slice(0, 60)} is not a value`);
      }
    }
    return values;
  }
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// whether a value from an address is of the kind that a control holds; what is allowed, the server says
function alike(value, sample) {
  if (Array.isArray(sample)) return Array.isArray(value);
  if (typeof sample === "object") return typeof value === "object" && Object.keys(sample).every((name) => alike(value?.[name], sample[name]));
  return typeof value === typeof sample && Math.abs(value) !== Infinity;
}

function field(control, input, extra) {
  const meaning = control.meaning ? h("small", { id: `about-${control.name}` }, control.meaning) : null;
  if (meaning) input.setAttribute("aria-describedby", meaning.id);
  return h("div", { class: `field ${control.kind}`, "data-control": control.name },
    h("label", { for: `control-${control.name}` }, control.label), extra, input, meaning);
}

function slider(control, changed) {
  const scale = control.log ? Math.log10 : (x) => x;
  const back = (x) => (control.log ? Number((10 ** x).toPrecision(2)) : control.whole ? Math.round(x) : Number(x.toFixed(6)));
  const input = h("input", { type: "range", id: `control-${control.name}`, min: scale(control.low), max: scale(control.high), step: control.log ? 0.01 : control.step });
  const exact = h("input", { type: "number", class: "exact", "aria-label": `${control.label}, exact`, min: control.low, max: control.high, step: "any" });
  const clamp = (value) => Math.min(control.high, Math.max(control.low, value));
  let current;
  const show = (value) => { current = value; exact.value = value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(Number(value.toPrecision(6))); input.setAttribute("aria-valuetext", number(value)); };
  input.addEventListener("input", () => { const value = clamp(back(Number(input.value))); show(value); changed(value, true); });
  exact.addEventListener("change", () => {
    if (exact.value === "") { // nothing, or nothing that is a number
      show(current);
      return;
    }
    const value = clamp(control.whole ? Math.round(Number(exact.value)) : Number(exact.value));
    input.value = String(scale(value));
    show(value);
    changed(value);
  });
  return { element: field(control, input, exact), put: (value) => { input.value = String(scale(value)); show(value); } };
}

function choice(control, changed) {
  const input = h("select", { id: `control-${control.name}`, onchange: () => changed(input.value) },
    Object.entries(control.options).map(([value, text]) => h("option", { value }, text)));
  return { element: field(control, input), put: (value) => { input.value = value; } };
}

function several(control, changed) {
  const boxes = Object.entries(control.options).map(([value, text]) => {
    const input = h("input", { type: "checkbox", value, onchange: () => collect(input) });
    return { input, element: h("label", { class: "chip" }, input, text) };
  });
  const collect = (touched) => {
    const chosen = boxes.map((box) => box.input).filter((input) => input.checked).map((input) => input.value);
    if (chosen.length < control.least || chosen.length > control.most) touched.checked = !touched.checked;
    else changed(chosen);
  };
  const group = h("div", { class: "chips", role: "group", "aria-label": control.label }, boxes.map((box) => box.element));
  const element = h("div", { class: "field several", "data-control": control.name }, h("span", { class: "caption" }, control.label), group,
    control.meaning ? h("small", {}, control.meaning) : null);
  return { element, put: (value) => { for (const { input } of boxes) input.checked = value.includes(input.value); } };
}

function formula(control, changed) {
  const input = h("input", { type: "text", id: `control-${control.name}`, spellcheck: "false", autocomplete: "off", maxlength: 200, list: `list-${control.name}` });
  input.addEventListener("change", () => changed(input.value));
  const examples = h("select", { "aria-label": `examples of ${control.label}`, onchange: () => { if (examples.value) { input.value = examples.value; changed(input.value); examples.value = ""; } } },
    h("option", { value: "" }, "examples …"), Object.entries(control.examples).map(([text, about]) => h("option", { value: text }, about)));
  return { element: field(control, input, examples), put: (value) => { input.value = value; } };
}

function handles(control, changed) {
  const reset = h("button", { type: "button", class: "plain", id: `control-${control.name}`, onclick: () => { changed(control.default); show(control.default); } }, "put back");
  const show = (value) => { reset.disabled = same(value, control.default); };
  return { element: field(control, reset), put: show };
}

// a file is sent once and kept by its content; then its classes can be chosen
function owntable(control, changed) {
  const picker = h("input", { type: "file", id: `control-${control.name}`, accept: ".csv,.tsv,.txt,.npz,.npy,.parquet", onclick: () => { picker.value = ""; }, onchange: () => { file = picker.files[0]; bring(); } });
  const asked = () => JSON.stringify([column.value, without.value]);
  const again = () => { if (asked() !== sent) bring(); }; // leaving a field is no change
  const column = h("input", { type: "text", onchange: () => again(), placeholder: "column of labels: by itself", "aria-label": "column of the labels", maxlength: 200 });
  const without = h("input", { type: "text", onchange: () => again(), placeholder: "columns to leave out: none", "aria-label": "columns to leave out, by name", maxlength: 2000 });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "classes to train on" });
  const said = h("span", { class: "quiet", role: "status" });
  const element = field(control, picker, null);
  element.append(column, without, said, chips);
  let known = null;
  let wanted = "";
  let sent = "";
  let file = null; // a picker forgets it when it is opened, so that the same file can be chosen anew
  const show = (about, chosen) => {
    known = about;
    said.textContent = `${about.rows} rows, ${about.columns} columns; train on`;
    chips.replaceChildren(...about.classes.map((name) => h("label", { class: "chip" },
      h("input", { type: "checkbox", value: name, checked: chosen.includes(name), onchange: choose }), name)));
  };
  const choose = (event) => {
    const chosen = [...chips.querySelectorAll("input:checked")].map((one) => one.value);
    if (chosen.length < 2 || chosen.length > known.classes.length - 2) event.target.checked = !event.target.checked;
    else changed({ table: known.table, classes: chosen });
  };
  const bring = async () => {
    if (!file) return;
    said.textContent = "reading …";
    sent = asked();
    try {
      const about = await get(`/api/tables?${new URLSearchParams({ name: file.name, labels: column.value, without: without.value })}`, { method: "POST", body: file });
      show(about, about.classes.slice(0, 2));
      changed({ table: about.table, classes: about.classes.slice(0, 2) });
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const put = async (value) => {
    wanted = value.table;
    if (!wanted) {
      known = null;
      said.textContent = "";
      chips.replaceChildren();
    } else if (known?.table === wanted) {
      show(known, value.classes);
    } else {
      try {
        const about = await get(`/api/tables/${wanted}`);
        if (wanted === about.table) show(about, value.classes);
      } catch (error) {
        said.textContent = error.message;
      }
    }
  };
  return { element, put };
}
