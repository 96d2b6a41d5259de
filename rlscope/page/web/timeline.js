// The timeline: a row per process, exact shares in every column, devices below, and exact events where there are some.
import { readColours } from "./colours.js";
import { columnTicks, paintColumns } from "./columns.js";
import { button, make, replace } from "./elements.js";
import { drawEvents, exactHeight } from "./exact.js";
import { axisStep, span } from "./format.js";
import { numbersOf } from "./part.js";
import { PHASES, paintPhases } from "./phases.js";
import { sampleTable } from "./samples.js";

const ROW = 24;
const GAP = 4;
const AXIS = 18;
const ZOOM = 1.5;
const SHOWN = 0.7; // of the window's height: more rows scroll

/** Devices and what is known of them over time. @param {any} trace of the header */
function devicesOf(trace) {
  const found = new Map();
  for (const part of trace.document.device_timeline) {
    if (!found.has(part.device)) found.set(part.device, []);
    found.get(part.device).push(part);
  }
  return [...found.entries()].map(([device, parts]) => ({ device, parts }));
}

/** What a row is called, beside it. @param {number} top in pixels of the page @param {Node | string} content @param {string} [kind] */
function labelAt(top, content, kind = "") {
  const item = make("li", { class: kind }, content);
  item.style.setProperty("top", `${top}px`);
  return item;
}

/** The value of a colour of page.css by its name. @returns {(name: string) => string} */
function colourOf() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`);
}

export class Timeline {
  /**
   * @param {any} trace of the header
   * @param {import("./sums.js").Bins[]} bins of its processes
   * @param {(import("./sums.js").Bins | null)[]} phases the same of their phases, where they had some
   * @param {(import("./samples.js").Samples | null)[]} samples of each, where it has made any
   * @param {import("./exact.js").Windows} windows
   * @param {import("./state.js").State} state
   * @param {HTMLElement} place
   */
  constructor(trace, bins, phases, samples, windows, state, place) {
    this.trace = trace;
    this.bins = bins;
    this.phases = phases;
    this.samples = samples;
    this.windows = windows;
    this.state = state;
    this.row = 0;
    /** @type {ImageData | null} */
    this.image = null;
    /** @type {[number, number] | null} in pixels of the page */
    this.drag = null;
    this.canvas = make("canvas", { tabindex: "0", role: "img", class: "timeline" });
    this.overview = make("canvas", { role: "img", class: "overview", "aria-label": "The whole run; the part that is shown is framed." });
    this.labels = make("ol", { class: "labels" });
    this.rows = make("div", { class: "rows" }, this.labels, this.canvas);
    this.isPrinted = false;
    this.pressedY = 0;
    this.devices = devicesOf(trace);
    /** @type {(import("./exact.js").Lane | undefined)[]} of each process */
    this.exact = [];
    /** @type {number[]} where rows lie, in pixels of the page; then the same of devices, and the height of all */
    this.tops = [];
    /** @type {number[]} */
    this.sampleTops = [];
    /** @type {number[]} */
    this.eventTops = [];
    /** @type {number[]} */
    this.deviceTops = [];
    this.height = AXIS;
    this.labelled = ""; // what the names beside the rows were written for
    this.said = make("p", { "aria-live": "polite", class: "said" });
    this.selection = make("div", { class: "selection" });
    this.tools = make("p", { class: "tools" });
    replace(place, this.tools, make("div", { class: "lanes" }, make("span", {}, "whole run"), this.overview, this.rows), this.said, this.selection);
    this.listen();
    state.listeners.push(() => this.draw());
    this.draw();
  }

  listen() {
    this.canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
      this.drag = [event.offsetX, event.offsetX];
      this.row = this.rowAt(event.offsetY);
      this.pressedY = event.offsetY;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
      if (this.drag) {
        this.drag[1] = event.offsetX;
        this.draw();
      }
    });
    this.canvas.addEventListener("pointerup", () => {
      if (!this.drag) return;
      const [a, b] = this.drag.map((x) => this.timeAt(x)).sort((x, y) => x - y);
      const width = Math.abs(this.drag[1] - this.drag[0]);
      this.drag = null;
      const sample = width < 3 ? this.sampleAt(a, this.pressedY) : undefined;
      if (sample) this.show(sample);
      else if (width >= 3) this.select(a, b);
      else this.select(a, a + (this.state.view.to - this.state.view.from) / this.canvas.clientWidth);
    });
    this.canvas.addEventListener("dblclick", (/** @type {MouseEvent} */ event) => this.zoom(1 / ZOOM ** 3, this.timeAt(event.offsetX)));
    this.canvas.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? ZOOM : 1 / ZOOM, this.timeAt(event.offsetX));
    }, { passive: false });
    this.overview.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      const middle = (event.offsetX / this.overview.clientWidth) * this.state.lengthS;
      const half = (this.state.view.to - this.state.view.from) / 2;
      this.state.showTimes(middle - half, middle + half);
    });
    this.canvas.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    this.rows.addEventListener("scroll", () => this.drawRows());
    addEventListener("resize", () => this.draw());
    const print = (/** @type {boolean} */ isPrinted) => {
      this.isPrinted = isPrinted;
      this.draw();
    };
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { from, to } = this.state.view;
    const step = (to - from) / 4;
    const moves = new Map([
      ["ArrowLeft", () => this.state.showTimes(from - step, to - step)],
      ["ArrowRight", () => this.state.showTimes(from + step, to + step)],
      ["ArrowUp", () => this.goTo(this.row - 1)],
      ["ArrowDown", () => this.goTo(this.row + 1)],
      ["+", () => this.zoom(1 / ZOOM)], ["w", () => this.zoom(1 / ZOOM)],
      ["-", () => this.zoom(ZOOM)], ["s", () => this.zoom(ZOOM)],
      ["Home", () => this.state.showTimes(0, this.state.lengthS)],
      ["t", () => this.select(from, to)],
      ["Enter", () => this.select(from, to)],
      ["Escape", () => replace(this.selection)],
    ]);
    const move = moves.get(event.key);
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    move();
    this.said.textContent = `${this.trace.processes[this.row]?.process ?? ""}: ${this.words()}`;
  }

  /** Chooses a row, as near as there is one, and scrolls to it. @param {number} row */
  goTo(row) {
    this.row = Math.min(Math.max(row, 0), this.bins.length - 1);
    const top = this.tops[this.row] - AXIS;
    const last = top + AXIS + ROW + GAP - this.rows.clientHeight;
    this.rows.scrollTop = Math.min(Math.max(this.rows.scrollTop, last), top);
    this.draw();
  }

  words() {
    const { from, to } = this.state.view;
    return span(from, to);
  }

  /** @param {number} factor @param {number} [at] seconds */
  zoom(factor, at) {
    const { from, to } = this.state.view;
    const middle = at ?? (from + to) / 2;
    this.state.showTimes(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }

  /** @param {number} x in pixels of the page */
  timeAt(x) {
    const { from, to } = this.state.view;
    return from + (to - from) * Math.min(Math.max(x / this.canvas.clientWidth, 0), 1);
  }

  /** @param {number} y in pixels of the page */
  rowAt(y) {
    const all = y + this.rows.scrollTop;
    const found = this.tops.findIndex((top, place) => all >= top && all < (this.tops[place + 1] ?? Infinity));
    return Math.min(Math.max(found, 0), Math.max(this.bins.length - 1, 0));
  }

  draw() {
    this.layOut();
    this.drawRows();
    this.drawOverview();
    this.drawLabels();
    this.drawTools();
    this.canvas.setAttribute("aria-label", `Timeline from ${this.words()}. Arrows move, plus and minus zoom, t shows numbers.`);
  }

  /** Says where each row lies, in pixels of the page. Phases, then samples, then events, lie below the row of their process. */
  layOut() {
    const { from, to } = this.state.view;
    this.exact = this.trace.processes.map((/** @type {any} */ process) => {
      const window = this.windows.around(process.process, from, to);
      return window && this.windows.lane(window, from, to);
    });
    this.tops = [];
    this.sampleTops = [];
    this.height = AXIS;
    this.eventTops = this.exact.map((lane, place) => {
      this.tops.push(this.height);
      this.sampleTops.push(this.height + ROW + GAP + (this.phases[place] ? PHASES + GAP : 0));
      const samples = this.samples[place];
      const top = this.sampleTops[place] + (samples ? samples.height + GAP : 0);
      this.height = top + (lane ? exactHeight(lane) + GAP : 0);
      return top;
    });
    this.deviceTops = this.devices.map((_, place) => this.height + place * (ROW + GAP));
    this.height += this.devices.length * (ROW + GAP);
    this.labels.style.setProperty("height", `${this.height}px`);
  }

  /** Draws the rows that were scrolled to: the canvas stays where it is. */
  drawRows() {
    const scale = devicePixelRatio || 1;
    const { from, to, by } = this.state.view;
    const css = colourOf();
    const width = Math.max(Math.floor(this.canvas.clientWidth * scale), 1);
    const shown = this.isPrinted ? this.height : Math.min(this.height, Math.max(Math.floor(innerHeight * SHOWN), AXIS + ROW + GAP));
    this.rows.style.setProperty("max-height", `${shown}px`);
    const above = this.isPrinted ? 0 : Math.min(this.rows.scrollTop, this.height - shown);
    const top = (/** @type {number} */ y) => (y - above) * scale;
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const image = this.emptyImage(context, width, Math.ceil(shown * scale));
    const colours = readColours();
    /** @type {((context: CanvasRenderingContext2D) => void)[]} */
    const names = [];
    const seen = [...this.bins.keys()].filter((place) => this.tops[place] < above + shown && (this.tops[place + 1] ?? Infinity) > above);
    seen.forEach((place) => {
      paintColumns(image, Math.round(top(this.tops[place])), Math.round(ROW * scale), columnTicks(this.bins[place], from, to, width, by), colours);
      const phases = this.phases[place];
      if (phases) names.push(paintPhases(image, phases, { top: top(this.tops[place] + ROW + GAP), from, to, width, scale }));
    });
    context.putImageData(image, 0, 0);
    names.forEach((write) => write(context));
    seen.forEach((place) => {
      this.samples[place]?.draw(context, { top: top(this.sampleTops[place]), from, to, width, scale }, css);
      const lane = this.exact[place];
      if (lane) drawEvents(context, lane, { top: top(this.eventTops[place]), width, scale }, css);
    });
    this.devices.forEach((device, place) => this.drawDevice(context, device, top(this.deviceTops[place]), width, scale, css));
    if (this.drag) {
      context.globalAlpha = 0.25;
      context.fillStyle = css("text");
      context.fillRect(Math.min(...this.drag) * scale, 0, Math.abs(this.drag[1] - this.drag[0]) * scale, this.canvas.height);
      context.globalAlpha = 1;
    }
    // Rows that were scrolled away do not shine through the axis.
    context.fillStyle = css("page");
    context.fillRect(0, 0, width, (AXIS - GAP) * scale);
    this.drawAxis(context, width, scale, css);
  }

  /** The pixels of the canvas, all of which are written anew; they are kept from frame to frame. @param {CanvasRenderingContext2D} context @param {number} width @param {number} height */
  emptyImage(context, width, height) {
    if (this.image?.width !== width || this.image.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = context.createImageData(width, height);
    }
    this.image.data.fill(0);
    return this.image;
  }

  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} scale @param {(name: string) => string} css */
  drawAxis(context, width, scale, css) {
    const { from, to } = this.state.view;
    const step = axisStep(to - from, 8);
    context.fillStyle = css("text");
    context.font = `${11 * scale}px sans-serif`;
    context.textBaseline = "top";
    for (let mark = Math.ceil(from / step) * step; mark <= to; mark += step) {
      const x = ((mark - from) / (to - from)) * width;
      context.fillRect(x, (AXIS - 5) * scale, 1, 5 * scale);
      context.fillText(`${Number(mark.toPrecision(12))} s`, x + 2 * scale, 0);
    }
  }

  /** Busy as an area, what was reported as a line. @param {CanvasRenderingContext2D} context @param {any} device @param {number} top @param {number} width @param {number} scale @param {(name: string) => string} css */
  drawDevice(context, device, top, width, scale, css) {
    const { from, to } = this.state.view;
    const x = (/** @type {number} */ seconds) => ((seconds - from) / (to - from)) * width;
    const y = (/** @type {number} */ share) => top + ROW * scale * (1 - share);
    for (const part of device.parts) {
      if (part.end_s < from || part.start_s > to) continue;
      context.fillStyle = css("gpu");
      context.fillRect(x(part.start_s), y(part.busy ?? 0), x(part.end_s) - x(part.start_s), top + ROW * scale - y(part.busy ?? 0));
      if (part.reported === null) continue;
      context.fillStyle = css("text");
      context.fillRect(x(part.start_s), y(part.reported), x(part.end_s) - x(part.start_s), 1.5 * scale);
    }
  }

  drawOverview() {
    const css = colourOf();
    const scale = devicePixelRatio || 1;
    const width = Math.max(Math.floor(this.overview.clientWidth * scale), 1);
    const height = Math.round(16 * scale);
    this.overview.width = width;
    this.overview.height = height;
    const context = /** @type {CanvasRenderingContext2D} */ (this.overview.getContext("2d"));
    const { from, to, by } = this.state.view;
    const bins = this.bins[this.row];
    if (!bins) return;
    const image = context.createImageData(width, height);
    paintColumns(image, 0, height, columnTicks(bins, 0, this.state.lengthS, width, by), readColours());
    context.putImageData(image, 0, 0);
    context.strokeStyle = css("text");
    context.lineWidth = 2 * scale;
    context.strokeRect((from / this.state.lengthS) * width, 1, Math.max(((to - from) / this.state.lengthS) * width, 3), height - 2);
  }

  /** Writes the names anew where a row lies elsewhere than before, or another process was chosen: while one moves, they stay. */
  drawLabels() {
    const key = JSON.stringify([this.tops, this.deviceTops, this.exact.map(Boolean), this.state.view.process]);
    if (key === this.labelled) return;
    this.labelled = key;
    const items = this.trace.processes.map((/** @type {any} */ process, /** @type {number} */ place) => {
      const size = this.exact[place] ? "" : "plain";
      const label = button(process.process, () => {
        this.row = place;
        this.state.show({ process: this.state.view.process === process.process ? "" : process.process });
      }, { class: `link depth-${Math.min(process.depth, 4)}`, "aria-pressed": String(this.state.view.process === process.process) });
      return labelAt(this.tops[place], label, size);
    });
    this.phases.forEach((phases, place) => {
      if (phases) items.push(labelAt(this.tops[place] + ROW + GAP, "phases", "phases"));
    });
    this.samples.forEach((samples, place) => {
      if (samples) items.push(labelAt(this.sampleTops[place], "samples", "samples"));
    });
    this.devices.forEach((device, place) => items.push(labelAt(this.deviceTops[place], `GPU ${device.device}: busy, reported`)));
    replace(this.labels, ...items);
  }

  drawTools() {
    const { by } = this.state.view;
    const colours = ["category", "stage", "operation"].map((name) => button(name === "category" ? "layer" : name, () => this.state.show({ by: name }), { "aria-pressed": String(by === name) }));
    replace(this.tools, "Colour by ", ...colours,
      button("+", () => this.zoom(1 / ZOOM), { "aria-label": "Zoom in" }), button("−", () => this.zoom(ZOOM), { "aria-label": "Zoom out" }),
      button("Whole run", () => this.state.showTimes(0, this.state.lengthS)), button("Numbers", () => this.select(this.state.view.from, this.state.view.to)),
      make("span", {}, this.words()));
  }

  /** The sample under a point of the canvas. @param {number} seconds @param {number} y in pixels of the page */
  sampleAt(seconds, y) {
    const { from, to } = this.state.view;
    const below = y + this.rows.scrollTop - this.sampleTops[this.row];
    return this.samples[this.row]?.at(seconds, below, (to - from) / this.canvas.clientWidth);
  }

  /** @param {import("./samples.js").Sample} sample */
  show(sample) {
    this.tell([sampleTable([sample], "The sample that was clicked")], sample.start_s, sample.end_s);
  }

  /** Shows something of a part of the timeline. @param {Node[]} content @param {number} from @param {number} to */
  tell(content, from, to) {
    replace(this.selection, ...content,
      make("p", { class: "tools" }, button("Zoom to it", () => this.state.showTimes(from, to)), button("Close", () => {
        replace(this.selection);
        this.canvas.focus();
      })));
  }

  /** @param {number} from @param {number} to */
  select(from, to) {
    const process = this.trace.processes[this.row];
    if (!process) return;
    const isExact = this.windows.around(process.process, from, to) !== undefined;
    this.tell(numbersOf(this.trace, process, this.bins[this.row], from, to, isExact), from, to);
  }
}
