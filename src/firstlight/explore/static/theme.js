// Light or dark: as the system has it, until the reader chooses.

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export function theme() {
  return localStorage.getItem("theme") || (system.matches ? "dark" : "light");
}

export function onTheme(listener) {
  listeners.add(listener);
}

export function toggleTheme() {
  localStorage.setItem("theme", theme() === "dark" ? "light" : "dark");
  apply();
}

function apply() {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener(theme());
}

system.addEventListener("change", apply);
document.documentElement.dataset.theme = theme();
