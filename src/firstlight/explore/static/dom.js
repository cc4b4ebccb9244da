// Small helpers to make elements; text is always text, never markup.

export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Markup that our own server made: escaped paragraphs with formulas in MathML.
export function formatted(tag, markup) {
  const element = document.createElement(tag);
  element.innerHTML = markup;
  return element;
}

export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2).replace("e", " × 10^").replace("+", "");
  return String(Number(value.toPrecision(digits)));
}

export function duration(seconds) {
  if (seconds >= 90) return `${Math.round(seconds / 60)} min`;
  return `${Math.max(1, Math.round(seconds))} s`;
}

export function download(name, content, type) {
  const url = typeof content === "string" && content.startsWith("data:") ? content
    : URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
}
