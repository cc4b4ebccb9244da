// Your data: drop a file, and see what the theories say about it.

import { stream } from "./api.js";
import { download, duration, h } from "./dom.js";

export async function data(main) {
  document.title = "Your data · firstlight";
  main.replaceChildren(new DataPage().element);
}

class DataPage {
  constructor() {
    this.picker = h("input", { type: "file", id: "file", hidden: true, accept: ".csv,.tsv,.txt,.npz,.npy,.parquet", onchange: () => this.take(this.picker.files[0]) });
    this.zone = h("button", { type: "button", class: "drop large", onclick: () => this.choose() }, h("span", {}, "Drop a file here, or press to choose one"));
    for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
      document.addEventListener(name, (event) => { // beside the zone a browser would open the file itself
        event.preventDefault();
        this.zone.classList.toggle("over", over);
        if (name === "drop") this.take(event.dataTransfer.files[0]);
      });
    }
    this.labels = h("input", { type: "text", id: "labels", placeholder: "found by itself", maxlength: 200 });
    this.without = h("input", { type: "text", id: "without", placeholder: "none", maxlength: 2000 });
    this.task = h("select", { id: "task" }, [["auto", "found by itself"], ["classification", "classes"], ["regression", "numbers"]].map(([value, text]) => h("option", { value }, text)));
    this.standardise = h("input", { type: "checkbox", id: "standardise" });
    this.seconds = h("input", { type: "number", id: "seconds", min: 5, max: 300, value: 30 });
    this.go = h("button", { type: "button", class: "primary", disabled: true, onclick: () => this.diagnose() }, "Diagnose");
    this.cancel = h("button", { type: "button", hidden: true, onclick: () => this.abort?.abort() }, "Cancel");
    this.state = h("p", { class: "state", role: "status" });
    this.error = h("p", { class: "error", role: "alert", hidden: true });
    this.result = h("section", { class: "card result", hidden: true, "aria-label": "Diagnosis" });
    this.element = this.laidOut();
  }

  laidOut() {
    const field = (name, text, input) => h("div", { class: "field" }, h("label", { for: name }, text), input);
    return h("article", {},
      h("header", { class: "opening" }, h("p", { class: "question" }, "Which theory speaks about them, what does it predict, and what does a network really do?"),
        h("h1", {}, "Your data"), h("p", { class: "answer" }, "A table of numbers with one column of labels: csv, npz, npy or parquet, up to 200 MB. It is read on this machine, and forgotten when it is done.")),
      h("div", { class: "desk" },
        h("aside", {}, h("div", { class: "controls" },
          field("labels", "column of the labels", this.labels), field("without", "columns to leave out, by name", this.without), field("task", "kind of labels", this.task),
          h("label", { class: "chip" }, this.standardise, "divide columns by their spread"),
          field("seconds", "seconds at most", this.seconds), this.go, this.cancel, this.state)),
        h("div", { class: "panels" }, this.picker, this.zone, this.error, this.result)));
  }

  choose() {
    this.picker.value = ""; // so that the same file, changed meanwhile, counts as a choice
    this.picker.click();
  }

  take(file) {
    if (!file) return;
    this.file = file;
    this.zone.firstChild.textContent = `${file.name} (${(file.size / 1e6).toFixed(2)} MB)`;
    this.zone.classList.add("chosen");
    this.go.disabled = false;
    this.diagnose();
  }

  async diagnose() {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const asked = new URLSearchParams({ name: this.file.name, labels: this.labels.value, without: this.without.value, task: this.task.value, seconds: this.seconds.value, standardise: this.standardise.checked ? "yes" : "no" });
    this.error.hidden = this.result.hidden = true;
    this.cancel.hidden = false;
    this.state.textContent = "reading …";
    try {
      await stream(`/api/diagnose?${asked}`, (told) => this.tell(told), abort.signal, { method: "POST", body: this.file });
    } catch (error) {
      if (this.abort !== abort) return; // another file has taken its place
      if (error.name === "AbortError") this.state.textContent = "cancelled";
      else this.fail(error.message);
    }
    this.cancel.hidden = true;
  }

  tell(told) {
    if (told.error) this.fail(told.error);
    if (told.said) this.state.textContent = told.said + (told.left ? `; at most ${duration(told.left)} left` : "");
    if (!told.page) return;
    this.state.textContent = "done";
    const host = h("div", { class: "diagnosis" });
    this.result.replaceChildren(h("div", { class: "tools" },
      h("button", { type: "button", class: "plain", onclick: () => download("diagnosis.html", told.page, "text/html") }, "Save the page"),
      h("button", { type: "button", class: "plain", onclick: () => download("diagnosis.json", told.json, "application/json") }, "JSON")), host);
    embed(host, told.page);
    this.result.hidden = false;
  }

  fail(message) {
    this.state.textContent = "";
    this.error.textContent = message;
    this.error.hidden = false;
  }
}

// The page that the server made, with its own style and apart from ours; scripts in it would not run.
function embed(host, page) {
  const parsed = new DOMParser().parseFromString(page, "text/html");
  const shadow = host.attachShadow({ mode: "open" });
  for (const style of parsed.querySelectorAll("style")) {
    style.textContent = style.textContent.replaceAll(":root", ":host").replace(/(^|[\n}])\s*body\b/g, "$1:host");
    shadow.append(style);
  }
  shadow.append(...parsed.body.childNodes);
  shadow.addEventListener("click", (event) => { // an address within a shadow is found by nobody else
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    shadow.getElementById(link.getAttribute("href").slice(1))?.scrollIntoView({ behavior: "smooth" });
  });
}
