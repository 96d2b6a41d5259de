// How long each iteration took, and why one was slow: what it had more of than a usual one.
import { bar, button, make, replace } from "./elements.js";
import { axisStep, count, digits, duration } from "./format.js";
import { table } from "./table.js";

const HEIGHT = 90;
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
    this.starts = array(found.starts);
    this.lengths = array(found.lengths);
    this.entries = { iteration: array(found.iteration), cell: array(found.cell), seconds: array(found.seconds) };
    this.usual = array(found.usual);
    this.order = Array.from(this.lengths.keys()).sort((a, b) => this.lengths[b] - this.lengths[a]);
    this.canvas = make("canvas", { role: "img", tabindex: "0", height: String(HEIGHT), class: "strip" });
    this.why = make("div", { class: "why", "aria-live": "polite" });
    this.chosen = this.order[0] ?? 0;
    this.canvas.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      const share = event.offsetX / this.canvas.clientWidth;
      this.choose(this.slowestBetween(share, share + 1 / this.canvas.clientWidth));
    });
    const slowest = this.order.slice(0, SLOWEST).map((number) =>
      button(`${count(number)}: ${duration(this.lengths[number])}`, () => this.choose(number), { class: "link" }));
    const go = make("input", { type: "number", min: "0", max: String(this.lengths.length - 1), "aria-label": "Number of an iteration" });
    go.addEventListener("change", () => this.choose(Math.min(Math.max(Math.round(Number(go.value)), 0), this.lengths.length - 1)));
    const sorted = Float64Array.from(this.lengths).sort();
    const at = (/** @type {number} */ share) => duration(sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)]);
    replace(place,
      make("p", {}, `${count(this.lengths.length)} iterations of ${process.process}: half of them under ${at(0.5)}, 99 % under ${at(0.99)}, the longest ${at(1)}.`),
      this.canvas, make("p", { class: "tools" }, "Slowest: ", ...slowest, make("label", {}, "Iteration ", go)), this.why);
    addEventListener("resize", () => this.draw());
    this.draw();
    this.choose(this.chosen);
  }

  /** The longest iteration in a part of the strip. @param {number} from share @param {number} to share */
  slowestBetween(from, to) {
    const first = Math.floor(from * this.lengths.length);
    let best = Math.min(first, this.lengths.length - 1);
    for (let number = first; number < Math.min(Math.ceil(to * this.lengths.length), this.lengths.length); number++) {
      if (this.lengths[number] > this.lengths[best]) best = number;
    }
    return best;
  }

  draw() {
    const scale = devicePixelRatio || 1;
    const width = Math.max(Math.floor(this.canvas.clientWidth * scale), 1);
    this.canvas.width = width;
    this.canvas.height = HEIGHT * scale;
    const context = this.canvas.getContext("2d");
    if (!context || !this.lengths.length) return;
    const style = getComputedStyle(document.documentElement);
    const longest = this.lengths[this.order[0]] || 1;
    for (let x = 0; x < width; x++) {
      const [from, to] = [x / width, (x + 1) / width];
      const number = this.slowestBetween(from, to);
      const height = (this.lengths[number] / longest) * this.canvas.height;
      context.fillStyle = style.getPropertyValue(number === this.chosen ? "--cuda" : "--python");
      context.fillRect(x, this.canvas.height - height, 1, height);
    }
    const step = axisStep(longest, 3);
    context.fillStyle = style.getPropertyValue("--text");
    context.font = `${11 * scale}px sans-serif`;
    for (let mark = step; mark < longest; mark += step) {
      const y = this.canvas.height * (1 - mark / longest);
      context.fillRect(0, y, 4 * scale, 1);
      context.fillText(duration(mark), 6 * scale, y + 4 * scale);
    }
    this.canvas.setAttribute("aria-label", `How long each of ${this.lengths.length} iterations took; the longest took ${duration(longest)}.`);
  }

  /** Shows an iteration and what it had more of. @param {number} number */
  choose(number) {
    if (!this.lengths.length) return;
    this.chosen = number;
    this.draw();
    const length = this.lengths[number];
    const rows = this.differences(number);
    const start = this.starts[number];
    const show = button("Show it in the timeline", () => this.state.showTimes(start - length * 0.05, start + length * 1.05));
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
      seconds[this.entries.cell[place]] += this.entries.seconds[place];
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
