// Which page is shown, and the frame around it.

import { get } from "./api.js";
import { h } from "./dom.js";
import { theme, toggleTheme, onTheme } from "./theme.js";

async function start() {
  const main = document.getElementById("main");
  try {
    const about = await get("/api/theories");
    frame(about);
    const path = location.pathname;
    if (path === "/") await (await import("./home.js")).home(main, about);
    else if (path === "/data") await (await import("./data.js")).data(main);
    else if (!path.startsWith("/theory/")) throw new Error(`There is no page ${path}.`);
    else await (await import("./theory.js")).theory(main, decodeURIComponent(path.split("/")[2]), about);
  } catch (error) {
    main.replaceChildren(h("p", { class: "error", role: "alert" }, error.message), h("p", {}, h("a", { href: "/" }, "To the first page")));
  }
}

function frame(about) {
  const here = location.pathname;
  const link = (href, text) => h("a", { href, "aria-current": here === href ? "page" : null }, text);
  const button = h("button", { type: "button", class: "plain", id: "theme", onclick: toggleTheme });
  const caption = () => {
    button.textContent = theme() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${theme() === "dark" ? "light" : "dark"} theme`);
  };
  caption();
  onTheme(caption);
  document.getElementById("header").replaceChildren(
    h("a", { href: "/", class: "brand" }, h("img", { src: "/static/icon.svg", alt: "", width: 26, height: 26 }), "firstlight"),
    h("nav", { "aria-label": "Pages" },
      about.theories.filter((one) => one.answer).map((one) => link(`/theory/${one.name}`, one.name.replaceAll("_", " "))),
      link("/data", "your data")),
    button);
  document.getElementById("footer").replaceChildren(
    h("span", {}, `firstlight ${about.version}. Everything here is computed on this machine; nothing is sent anywhere.`));
}

start();
