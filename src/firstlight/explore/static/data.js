// Your data: drop a file, see what the theories say about it.

import { h } from "./dom.js";

export async function data(main) {
  main.replaceChildren(h("article", {}, h("h1", {}, "Your data")));
}
