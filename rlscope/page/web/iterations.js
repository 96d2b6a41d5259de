// How long each iteration took, and why one was slow: what it had more of than a usual one.
import { bar, button, make, replace } from "./elements.js";
import { axisStep, count, digits, duration } from "./format.js";
import { Lengths } from "./lengths.js";
import { table } from "./table.js";

const HEIGHT = 90;
const MARGIN = 56; // left of the bars, for the marks of the axis
const SLOWEST = 5;

export class Iterations {
  /**
   * @param {any} found what the header has of iterations
   * @param {any} process of the header
   * @param {(name: string) => any} array
   * @param {import("./state.js").State} state
   * @param {HTMLElement} place
   */
  constructor(found, process, array, state, place) {
    this.found = found;
    this.process = process;
    this.state = state;
    this.lengths = new Lengths(found, array, process.seconds_per_tick);
    this.entries = { iteration: array(found.iteration), cell: array(found.cell), ticks: array(found.ticks) };
    this.usual = Float64Array.from(array(found.usual), (/** @type {number} */ ticks) => ticks * process.seconds_per_tick);
    this.order = this.lengths.slowestFirst();
    this.canvas = make("canvas", { role: "img", tabindex: "0", height: String(HEIGHT), class: "strip" });
    this.why = make("div", { class: "why", "aria-live": "polite" });
    this.chosen = this.order[0];
    this.longest = this.lengths.around(this.chosen).longest;
    this.canvas.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      const columns = Math.max(this.canvas.clientWidth - MARGIN, 1);
      this.choose(this.lengths.column(Math.min(Math.max(event.offsetX - MARGIN, 0), columns - 1), columns).longestAt);
    });
    const slowest = this.order.slice(0, SLOWEST).map((number) =>
      button(`${count(number)}: ${duration(this.lengths.around(number).length)}`, () => this.choose(number), { class: "link" }));
    const go = make("input", { type: "number", min: "0", max: String(found.count - 1), "aria-label": "Number of an iteration" });
    go.addEventListener("change", () => this.choose(Math.min(Math.max(Math.round(Number(go.value)), 0), found.count - 1)));
    const groups = found.group > 1 ? ` The page has them in groups of ${found.group}, and ${count(this.order.length)} of them singly besides, the slowest among these.` : "";
    replace(place,
      make("p", {}, `${count(found.count)} iterations of ${process.process}, each from one report of progress to the next: half of them under ${duration(found.p50_s)}, 99 % under ${duration(found.p99_s)}, the longest ${duration(this.longest)}.${groups}`),
      this.canvas, make("p", { class: "tools" }, "Slowest: ", ...slowest, make("label", {}, "Iteration ", go)), this.why);
    addEventListener("resize", () => this.draw());
    this.choose(this.chosen);
  }

  /** A bar is dark up to the mean of the iterations in it, and grey up to the longest of them. */
  draw() {
    const scale = devicePixelRatio || 1;
    const width = Math.max(Math.floor(this.canvas.clientWidth * scale), 1);
    this.canvas.width = width;
    this.canvas.height = HEIGHT * scale;
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const style = getComputedStyle(document.documentElement);
    const margin = Math.round(MARGIN * scale);
    const columns = Math.max(width - margin, 1);
    const fill = (/** @type {number} */ x, /** @type {number} */ seconds, /** @type {string} */ colour) => {
      const height = (seconds / (this.longest || 1)) * this.canvas.height;
      context.fillStyle = style.getPropertyValue(colour);
      context.fillRect(margin + x, this.canvas.height - height, 1, height);
    };
    for (let x = 0; x < columns; x++) {
      const part = this.lengths.column(x, columns);
      const isChosen = this.chosen >= part.first && this.chosen < part.first + part.count;
      fill(x, part.longest, isChosen ? "--cuda" : "--wait");
      if (!isChosen) fill(x, part.length / part.count, "--python");
    }
    this.drawAxis(context, scale, style.getPropertyValue("--text"));
    this.canvas.setAttribute("aria-label", `How long each of ${this.found.count} iterations took; the longest took ${duration(this.longest)}.`);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} scale @param {string} colour */
  drawAxis(context, scale, colour) {
    const step = axisStep(this.longest || 1, 3);
    context.fillStyle = colour;
    context.font = `${11 * scale}px sans-serif`;
    context.textAlign = "right";
    for (let mark = step; mark < this.longest; mark += step) {
      const y = this.canvas.height * (1 - mark / this.longest);
      context.fillRect((MARGIN - 6) * scale, y, 4 * scale, 1);
      context.fillText(duration(mark), (MARGIN - 8) * scale, Math.max(y + 4 * scale, 9 * scale));
    }
  }

  /** Shows an iteration and what it had more of. @param {number} number */
  choose(number) {
    this.chosen = number;
    this.draw();
    const part = this.lengths.around(number);
    const show = button("Show it in the timeline", () => this.state.showTimes(part.start - part.length * 0.05, part.start + part.length * 1.05));
    if (part.count > 1) {
      const numbers = `${count(part.first)} to ${count(part.first + part.count - 1)}`;
      const words = `Iteration ${count(number)} is in a group, ${numbers}, which took ${duration(part.length)} together: from ${duration(part.shortest)} to ${duration(part.longest)} each, ${duration(part.length / part.count)} in the mean.`;
      replace(this.why, make("p", {}, words, " ", show));
      return;
    }
    const { length } = part;
    const rows = this.differences(number);
    const usual = this.usual.reduce((/** @type {number} */ total, /** @type {number} */ seconds) => total + seconds, 0);
    const sense = length >= usual ? "longer" : "shorter";
    const words = `Iteration ${count(number)} took ${duration(length)}, ${duration(Math.abs(length - usual))} ${sense} than a usual one (${duration(usual)}, the mean of those between the quartiles).`;
    if (!rows) {
      replace(this.why, make("p", {}, words, " Its parts were not kept: only those of the slowest and of evenly spaced ones are.", " "), show);
      return;
    }
    const largest = Math.max(...rows.map((/** @type {any} */ row) => Math.abs(row.difference)), 1e-12);
    const differences = table([
      { title: "stage", value: (row) => row.stage },
      { title: "operation", value: (row) => row.operation },
      { title: "layer", value: (row) => row.category },
      { title: "function", value: (row) => row.function || "(Python)" },
      { title: "more than usual", value: (row) => row.difference, isNumber: true, shown: (row) => `${row.difference > 0 ? "+" : ""}${duration(row.difference)}` },
      { title: "", value: () => "", shown: (row) => bar([{ share: Math.abs(row.difference) / largest, colour: row.category, label: duration(row.difference) }]) },
      { title: "in all", value: (row) => row.seconds, isNumber: true, shown: (row) => duration(row.seconds) },
    ], rows, { caption: `Why: the rows add up to ${duration(length - usual)}`, file: `iteration_${number}`, rowsShown: 8 });
    replace(this.why, make("p", {}, words, " ", show), differences);
  }

  /** What the iteration had less what a usual one has, the largest first; null if its parts were not kept. @param {number} number */
  differences(number) {
    const seconds = new Float64Array(this.usual.length);
    let isKept = false;
    // Entries are in order of iterations.
    let low = 0;
    let high = this.entries.iteration.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries.iteration[middle] < number) low = middle + 1;
      else high = middle;
    }
    for (let place = low; place < this.entries.iteration.length && this.entries.iteration[place] === number; place++) {
      seconds[this.entries.cell[place]] += this.entries.ticks[place] * this.process.seconds_per_tick;
      isKept = true;
    }
    if (!isKept) return null;
    const rows = this.found.cells.map((/** @type {string[]} */ [stage, operation, category, name], /** @type {number} */ cell) => (
      { stage, operation, category, function: name, seconds: seconds[cell], difference: seconds[cell] - this.usual[cell] }));
    return rows.filter((/** @type {any} */ row) => row.difference !== 0).sort((/** @type {any} */ a, /** @type {any} */ b) => Math.abs(b.difference) - Math.abs(a.difference));
  }

  /** The next one among the slowest. @param {number} step */
  next(step) {
    const place = this.order.indexOf(this.chosen);
    this.choose(this.order[Math.min(Math.max(place + step, 0), this.order.length - 1)]);
    return `iteration ${digits(this.chosen)}`;
  }
}
