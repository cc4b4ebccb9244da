// Points in a plane on a fixed scale: they can be dragged, moved by arrow keys, and played in time.

import { download, h, number, s } from "./dom.js";

const SIZE = 520;
const SECONDS = 7; // of a whole play

export class Plane {
  constructor(canvas, changed, still = false) {
    this.canvas = canvas;
    this.changed = changed;
    this.still = still;
    this.frame = null;
    this.held = null; // the control whose point is being dragged
    this.svg = s("svg", { class: "plane", preserveAspectRatio: "xMidYMid meet", onpointerdown: (event) => this.grab(event), onkeydown: (event) => this.press(event) });
    this.slider = h("input", { type: "range", min: 0, max: 1, step: 0.001, value: 0, "aria-label": "time", oninput: () => { this.stop(); this.seek(Number(this.slider.value)); } });
    this.clock = h("output", { class: "clock" });
    this.player = h("button", { type: "button", class: "play", onclick: () => (this.playing ? this.stop() : this.play()) }, "Play");
    this.bar = h("div", { class: "time", hidden: true }, this.player, this.slider, this.clock);
    canvas.classList.add("has-plane");
    canvas.replaceChildren(this.svg, ...(still ? [] : [this.bar]));
    if (!still) canvas.setAttribute("role", "group");
  }

  // An answer to an earlier question shows what follows from it, but moves nothing that has been moved since:
  // `moved` names the controls whose points are no longer those that were asked about.
  show(drawn, moved = []) {
    const same = this.drawn && signature(this.drawn) === signature(drawn);
    this.late = null;
    if (this.held) this.late = { drawn: structuredClone(drawn), moved }; // shown at the end, if nothing was moved
    const kept = this.held ? [...moved, this.held] : moved;
    if (kept.length && this.drawn) {
      if (!same) return;
      this.keep(drawn, kept);
    }
    this.drawn = drawn;
    const [left, right] = drawn.x_range;
    const [low, high] = drawn.y_range;
    this.height = drawn.circle ? (SIZE * (high - low)) / (right - left) : 0.6 * SIZE; // a circle must be round
    this.margin = drawn.x && !this.still ? 34 : 0;
    this.svg.setAttribute("viewBox", `${-this.margin} 0 ${SIZE + this.margin} ${this.height + this.margin}`);
    const moving = drawn.times.length > 1;
    this.bar.hidden = !moving;
    if (this.still) this.frame = 1;
    else if (this.frame === null || !moving) this.frame = moving ? Number(this.slider.value) : 0;
    if (!same) this.build(); // else whoever is being dragged would be lost
    this.place();
  }

  keep(drawn, kept) {
    drawn.rows = { ...drawn.rows, ...Object.fromEntries(kept.map((name) => [name, this.drawn.rows[name]])) };
    drawn.groups.forEach((group, g) => {
      if (!kept.includes(group.handles)) return;
      group.points = this.drawn.groups[g].points;
      if (group.frames.length) group.frames[0] = this.drawn.groups[g].frames[0];
    });
  }

  // from numbers to pixels, and back
  at([x, y]) {
    const [left, right] = this.drawn.x_range;
    const [low, high] = this.drawn.y_range;
    return [((x - left) / (right - left)) * SIZE, ((high - y) / (high - low)) * this.height];
  }

  from(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    const [left, right] = this.drawn.x_range;
    const [low, high] = this.drawn.y_range;
    return [left + (point.x / SIZE) * (right - left), high - (point.y / this.height) * (high - low)];
  }

  build() {
    const back = s("g", { class: "back" });
    const [ox, oy] = this.at([0, 0]);
    back.append(s("line", { x1: 0, x2: SIZE, y1: oy, y2: oy, class: "axis" }), s("line", { x1: ox, x2: ox, y1: 0, y2: this.height, class: "axis" }));
    if (this.drawn.circle) back.append(s("ellipse", { cx: ox, cy: oy, rx: this.at([1, 0])[0] - ox, ry: oy - this.at([0, 1])[1], class: "circle" }));
    if (this.drawn.x && !this.still) {
      back.append(s("text", { x: SIZE / 2, y: this.height + 24, "text-anchor": "middle" }, this.drawn.x));
      back.append(s("text", { x: -this.height / 2, y: -14, "text-anchor": "middle", transform: "rotate(-90)" }, this.drawn.y));
    }
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset.place : null;
    this.items = this.drawn.groups.map((group, g) => group.points.map((_, i) => this.item(group, g, i)));
    this.svg.replaceChildren(back, ...this.items.flat().map((item) => item.element));
    if (focused) this.svg.querySelector(`[data-place="${focused}"]`)?.focus();
  }

  item(group, g, i) {
    const mark = group.marker === "cross" ? s("path", { d: "M-5-5L5 5M-5 5L5-5", class: "cross" }) : s("circle", { r: group.marker === "ray" ? 3.6 : 8, class: "dot" });
    const movable = group.handles && !this.still;
    const body = s("g", { class: movable ? "point movable" : "point" }, movable ? s("circle", { r: 14, class: "grip" }) : null, mark);
    const label = group.labels[i] && !this.still ? s("text", {}, group.labels[i]) : null;
    if (label) body.append(label);
    const ray = group.marker === "ray" ? s("line", { class: "ray" }) : null;
    if (movable) {
      for (const [name, value] of Object.entries({ tabindex: 0, role: "button", "data-place": `${g} ${i}`, "aria-label": `${group.name} ${i + 1}; move with the arrow keys` })) body.setAttribute(name, value);
    }
    return { element: s("g", {}, ray, body), body, mark, ray, label };
  }

  // the one at the event: of several whose grips overlap, the nearest
  nearest(event) {
    const under = document.elementsFromPoint(event.clientX, event.clientY).map((one) => one.closest(".movable")).filter((one) => one && this.svg.contains(one));
    const away = (one) => {
      const box = one.querySelector(".grip").getBoundingClientRect();
      return Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
    };
    return under.sort((a, b) => away(a) - away(b))[0];
  }

  grab(event) {
    const body = this.nearest(event);
    if (!body) return;
    event.preventDefault();
    body.focus();
    this.begin();
    this.held = this.target(body).group.handles;
    body.setPointerCapture(event.pointerId);
    const until = new AbortController();
    let dragged = false;
    const end = () => {
      this.held = null;
      until.abort();
      if (!dragged && this.late) this.show(this.late.drawn, this.late.moved);
    };
    body.addEventListener("pointermove", (moved) => { dragged = true; this.move(body, this.from(moved)); }, { signal: until.signal });
    for (const name of ["pointerup", "pointercancel"]) body.addEventListener(name, end, { signal: until.signal });
  }

  press(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const body = event.target.closest(".movable");
    if (!steps || !body) return;
    event.preventDefault();
    this.begin();
    const size = ((this.drawn.x_range[1] - this.drawn.x_range[0]) / 100) * (event.shiftKey ? 5 : 1);
    const { rows, row } = this.target(body);
    const [x, y] = rows[row];
    this.move(body, [x + size * steps[0], y + size * steps[1]]);
  }

  // points are moved at time 0
  begin() {
    this.stop();
    if (this.drawn.times.length > 1) this.seek(0);
  }

  // what an element stands for: a point of a group, and a row of its control
  target(body) {
    const [g, i] = body.dataset.place.split(" ").map(Number);
    const group = this.drawn.groups[g];
    return { group, i, rows: this.drawn.rows[group.handles], row: group.first + i };
  }

  move(body, to) {
    const { group, i, rows, row } = this.target(body);
    const point = this.clamp(to).map((one) => Number(one.toFixed(3)));
    const moved = rows.with(row, [...point, ...rows[row].slice(2)]);
    this.drawn.rows[group.handles] = moved;
    group.points[i] = point;
    if (group.frames.length) group.frames[0][i] = turnedTo(group.frames[0][i], point);
    this.place();
    this.changed(group.handles, moved);
  }

  clamp([x, y]) {
    const inside = (value, [low, high]) => Math.min(high, Math.max(low, value));
    return [inside(x, this.drawn.x_range), inside(y, this.drawn.y_range)];
  }

  // put every point where it is at the present moment
  place() {
    const { groups, times } = this.drawn;
    const along = this.frame * Math.max(times.length - 1, 0);
    const k = Math.min(Math.floor(along), Math.max(times.length - 2, 0));
    const share = along - k;
    groups.forEach((group, g) => {
      const moving = group.frames.length > 1;
      group.points.forEach((still, i) => {
        const a = moving ? group.frames[k][i] : still;
        const b = moving ? group.frames[k + 1][i] : still;
        const blend = (c) => a[c] + share * (b[c] - a[c]);
        const item = this.items[g][i];
        const role = (group.frame_roles.length ? group.frame_roles[Math.round(along)][i] : group.roles[i]) || group.role;
        item.element.setAttribute("class", `role-${role}`);
        const [x, y] = this.at([blend(0), blend(1)]);
        if (item.ray) this.placeRay(item, a.length > 2 ? Math.atan2(...turned(a, b, share)) : Math.atan2(blend(1), blend(0)), [x, y]);
        else item.body.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
        item.at = [x, y];
      });
    });
    this.placeLabels(this.items.flat().filter((item) => item.label));
    if (times.length < 2) return;
    this.moment = times[k] + share * (times[k + 1] - times[k]);
    this.clock.textContent = `t = ${number(this.moment, 3)}`;
  }

  // a label stands beside its point, where it is inside the picture and on no other label or point
  placeLabels(items) {
    const taken = items.map(({ at: [x, y] }) => [x - 8, y - 8, x + 8, y + 8]);
    const free = ([a, b, c, d]) => a >= 0 && b >= 0 && c <= SIZE && d <= this.height
      && taken.every(([e, f, g, h]) => a >= g || c <= e || b >= h || d <= f);
    for (const { label, at: [x, y] } of items) {
      const long = 8.6 * label.textContent.length;
      const places = [["start", 13, 5, 0], ["end", -13, 5, -long], ["middle", 0, -14, -long / 2], ["middle", 0, 26, -long / 2]];
      const boxes = places.map(([, dx, dy, left]) => [x + dx + left, y + dy - 13, x + dx + left + long, y + dy + 3]);
      const chosen = Math.max(0, boxes.findIndex(free));
      taken.push(boxes[chosen]);
      for (const [name, value] of [["text-anchor", places[chosen][0]], ["x", places[chosen][1]], ["y", places[chosen][2]]]) label.setAttribute(name, value);
    }
  }

  // a ray is held at its tip: short neurons all have their dots in the middle
  placeRay(item, angle, [x, y]) {
    const [x0, y0] = this.at([0, 0]);
    const [x1, y1] = this.at([Math.cos(angle), Math.sin(angle)]);
    item.body.setAttribute("transform", `translate(${x1.toFixed(2)} ${y1.toFixed(2)})`);
    item.mark.setAttribute("transform", `translate(${(x - x1).toFixed(2)} ${(y - y1).toFixed(2)})`);
    for (const [name, value] of Object.entries({ x1: x0, y1: y0, x2: x1, y2: y1 })) item.ray.setAttribute(name, value.toFixed(2));
  }

  seek(frame) {
    this.frame = frame;
    this.slider.value = String(frame);
    this.place();
    this.onmoment?.(this.moment);
  }

  play() {
    this.playing = true;
    this.player.textContent = "Pause";
    const begin = this.frame >= 0.999 ? 0 : this.frame;
    const start = performance.now();
    const step = (now) => {
      if (!this.playing) return;
      const frame = Math.min(begin + Math.max(now - start, 0) / (1000 * SECONDS), 1); // a frame may be older than the click
      this.seek(frame);
      if (frame < 1) requestAnimationFrame(step);
      else this.stop();
    };
    requestAnimationFrame(step);
  }

  stop() {
    this.playing = false;
    this.player.textContent = "Play";
  }

  image(format, name) {
    const copy = this.svg.cloneNode(true);
    const style = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText)
      .filter((text) => /plane|role-/.test(text)).join("\n");
    const variables = getComputedStyle(this.canvas);
    const filled = style.replace(/var\((--[\w-]+)\)/g, (_, one) => variables.getPropertyValue(one));
    copy.append(s("style", {}, filled));
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", "900");
    copy.setAttribute("height", String((900 * (this.height + this.margin)) / (SIZE + this.margin)));
    const text = new XMLSerializer().serializeToString(copy);
    if (format === "svg") download(name, text, "image/svg+xml");
    else paint(text, variables.getPropertyValue("--card"), name);
  }
}

function signature(drawn) {
  return JSON.stringify([drawn.x_range, drawn.y_range, drawn.circle, drawn.groups.map((one) => [one.name, one.points.length, one.marker, one.labels])]);
}

function paint(text, paper, name) {
  const image = new Image();
  image.onload = () => {
    const canvas = h("canvas", { width: 1800, height: Math.round((1800 * image.height) / image.width) });
    const context = canvas.getContext("2d");
    context.fillStyle = paper;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    download(name, canvas.toDataURL("image/png"));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

// a point of a frame, moved; one with a direction turns and keeps its length
function turnedTo(old, [x, y]) {
  if (old.length < 3) return [x, y];
  const [length, angle] = [Math.hypot(old[0], old[1]), Math.atan2(y, x)];
  return [length * Math.cos(angle), length * Math.sin(angle), angle];
}

// sine and cosine of a direction between two frames, whose points may be too short to tell it
function turned(a, b, share) {
  let turn = b[2] - a[2];
  turn -= 2 * Math.PI * Math.round(turn / (2 * Math.PI));
  const angle = a[2] + share * turn;
  return [Math.sin(angle), Math.cos(angle)];
}

export function planeTable(drawn) {
  const moving = drawn.times.length > 0; // then points have an angle too: short ones do not show where they point
  const rows = [["points", "number", drawn.x || "x", drawn.y || "y", ...(moving ? ["angle", "time"] : [])]];
  for (const group of drawn.groups) {
    const frames = group.frames.length ? group.frames : [group.points];
    frames.forEach((points, k) => points.forEach((point, i) =>
      rows.push([group.labels[i] || group.name, i + 1, point[0], point[1], ...(moving ? [point[2] ?? null, group.frames.length ? drawn.times[k] : null] : [])])));
  }
  return rows;
}
