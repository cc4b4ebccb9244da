// The first page: the question, the theories with a small live picture each, your data, the claims.

import { get, query, stream } from "./api.js";
import { h } from "./dom.js";
import { thumbnail } from "./picture.js";
import { theme, onTheme } from "./theme.js";

export async function home(main, about) {
  const cards = about.theories.map((one) => card(one));
  const claims = h("tbody", {});
  const waiting = h("ul", {});
  const more = h("details", { hidden: true }, h("summary", {}), waiting);
  const table = h("section", { class: "card claims" }, h("h2", {}, "Claims, published or ours, judged by the records at hand"),
    h("p", { class: "quiet" }, "Each has a stated rule. ", h("code", {}, "firstlight claims"), " computes what is missing and judges all."),
    h("table", { hidden: true }, h("thead", {}, h("tr", {}, ["verdict", "claim", "study"].map((one) => h("th", { scope: "col" }, one)))), claims), more);
  main.replaceChildren(h("article", { class: "home" },
    h("header", { class: "opening" }, h("h1", {}, "When, and what, does a network learn first?"),
      h("p", { class: "answer" }, "Each theory answers a part of that question. Move a slider and see the prediction follow; press run, and networks trained on this machine land on it, or do not.")),
    h("div", { class: "cards" }, cards.map((one) => one.element),
      h("a", { class: "card theory-card across", href: "/data" }, h("h2", {}, "Your data"),
        h("p", {}, "Drop a file of features and labels: see which theory speaks about it, what it predicts, and where its assumptions fail."),
        h("div", { class: "thumb drop" }, h("span", {}, "npz · npy · csv · parquet")))),
    table));
  const draw = async () => {
    await Promise.all(cards.map((one) => one.draw()));
  };
  onTheme(draw);
  await draw();
  await stream("/api/claims", (told) => {
    for (const one of told.waiting || []) waiting.append(h("li", {}, one.description, " ", h("code", {}, one.study)));
    more.hidden = !waiting.children.length;
    more.firstChild.textContent = `${waiting.children.length} studies of claims have not been run in this store yet`;
    if (!told.claims?.length) return;
    table.querySelector("table").hidden = false;
    for (const claim of told.claims) {
      claims.append(h("tr", {}, h("td", {}, h("span", { class: `verdict ${claim.verdict.split(":")[0].replaceAll(" ", "-")}` }, claim.verdict)),
        h("td", {}, claim.claim, claim.source ? "" : " (ours)", h("small", { class: "quiet" }, claim.evidence)), h("td", {}, claim.study)));
    }
  }, undefined);
}

function card(one) {
  const canvas = h("div", { class: "thumb", "aria-hidden": "true" });
  const inside = [h("h2", {}, one.title), h("p", { class: "question" }, one.question), h("p", {}, one.answer || one.missing)];
  const element = one.answer ? h("a", { class: "card theory-card", href: `/theory/${one.name}` }, inside, canvas) : h("div", { class: "card theory-card" }, inside);
  const draw = async () => {
    if (!one.answer) return;
    try {
      await thumbnail(canvas, await get(`/api/theories/${one.name}/thumbnail?${query({}, theme())}`));
      element.dataset.drawn = "yes";
    } catch (error) {
      canvas.textContent = error.message;
    }
  };
  return { element, draw };
}
