// The time stage by stage: bars of the stages of a loop, and of the other parts of a life, that open into operations, layers and functions.
import { CATEGORIES, LIFE_PARTS, LOOP, STAGES } from "./vocabulary.js";
import { bar, button, make, replace } from "./elements.js";
import { count, duration, percent } from "./format.js";
import { table } from "./table.js";

const UNITS = ["seconds", "%", "per iteration"];

/**
 * @typedef {Object} Time
 * @property {string} part of the process's life
 * @property {string} stage
 * @property {string} operation
 * @property {string} category
 * @property {number} seconds
 */

export class Breakdown {
  /** @param {any} trace of the header @param {import("./state.js").State} state @param {HTMLElement} place */
  constructor(trace, state, place) {
    this.trace = trace;
    this.state = state;
    this.place = place;
    this.unit = UNITS[0];
    this.isCorrected = trace.document.correction !== null;
    /** @type {Set<string>} what is open: "part/stage", "part/stage/operation" */
    this.open = new Set();
    this.category = "";
    state.listeners.push(() => {
      if (state.view.process !== this.process) this.draw(); // not at each move of the timeline
    });
    this.draw();
  }

  /** The rows of the chosen process. @returns {Time[]} */
  times() {
    const { process } = this.state.view;
    return this.trace.document.breakdown
      .filter((/** @type {any} */ row) => !process || row.process === process)
      .map((/** @type {any} */ row) => ({ ...row, seconds: (this.isCorrected ? row.corrected_seconds : row.seconds) ?? 0 }));
  }

  draw() {
    this.process = this.state.view.process;
    const times = this.times();
    const total = sum(times);
    const bars = [...group(times, (row) => `${row.part}/${row.part === LOOP ? row.stage : ""}`)].sort(byPart);
    const longest = Math.max(...bars.map(([, rows]) => sum(rows)), 0);
    const list = make("ul", { class: "tree" });
    for (const [key, rows] of bars) list.append(this.partItem(key, rows, total, longest));
    const empty = total > 0 ? [] : [make("p", {}, "The trace holds no time of this process.")];
    replace(this.place, this.tools(times), this.legend(times), ...empty, list, ...this.functionsOf(this.category, () => true));
  }

  /** @param {Time[]} times */
  tools(times) {
    const choose = make("select", { "aria-label": "Process" }, make("option", { value: "" }, "all processes"));
    for (const process of this.trace.processes) {
      const option = make("option", { value: process.process }, process.process);
      option.selected = process.process === this.state.view.process;
      choose.append(option);
    }
    choose.addEventListener("change", () => this.state.show({ process: choose.value }));
    const units = UNITS.filter((unit) => unit !== "per iteration" || this.trace.document.iterations).map((unit) =>
      button(unit, () => this.change(() => (this.unit = unit)), { "aria-pressed": String(this.unit === unit) }));
    const correction = this.trace.document.correction
      ? [button("corrected", () => this.change(() => (this.isCorrected = !this.isCorrected)), { "aria-pressed": String(this.isCorrected) })]
      : [];
    return make("p", { class: "tools" }, choose, ...units, ...correction, make("span", {}, `${duration(sum(times))} in all`));
  }

  /** Layers, with a click to the functions of each. @param {Time[]} times */
  legend(times) {
    const of = group(times, (row) => row.category);
    const items = CATEGORIES.filter((category) => of.has(category)).map((category) =>
      button(`${category} ${this.shown(sum(of.get(category) ?? []), sum(times))}`, () => this.change(() => (this.category = this.category === category ? "" : category)),
        { class: `key key-${category}`, "aria-pressed": String(this.category === category) }));
    return make("p", { class: "legend" }, ...items);
  }

  /** A stage of the loop, or another part of the life. @param {string} key @param {Time[]} rows @param {number} total @param {number} longest */
  partItem(key, rows, total, longest) {
    const { part, stage } = rows[0];
    const label = part !== LOOP ? part : stage === "(none)" ? "in no operation" : stage;
    const item = this.item(key, label, rows, total, longest);
    if (!this.open.has(key)) return item;
    const inner = make("ul");
    const operations = [...group(rows, (row) => JSON.stringify([row.stage, row.operation]))].sort((a, b) => sum(b[1]) - sum(a[1]));
    for (const [, times] of operations) inner.append(this.operationItem(key, times, total, longest));
    item.append(inner);
    return item;
  }

  /** @param {string} partKey @param {Time[]} rows @param {number} total @param {number} longest */
  operationItem(partKey, rows, total, longest) {
    const { stage, operation } = rows[0];
    const key = `${partKey}/${stage}/${operation}`;
    const item = this.item(key, operation, rows, total, longest);
    if (this.open.has(key)) {
      item.append(...this.instancesOf(stage, operation), ...this.functionsOf("*", (call) => call.stage === stage && call.operation === operation));
    }
    return item;
  }

  /** @param {string} key @param {string} label @param {Time[]} rows @param {number} total @param {number} longest */
  item(key, label, rows, total, longest) {
    const seconds = sum(rows);
    const of = group(rows, (row) => row.category);
    const parts = CATEGORIES.filter((category) => of.has(category)).map((category) => {
      const inside = sum(of.get(category) ?? []);
      return { share: longest ? inside / longest : 0, colour: category, label: `${category} ${duration(inside)}` };
    });
    const isOpen = this.open.has(key);
    const toggle = button(label, () => this.change(() => (isOpen ? this.open.delete(key) : this.open.add(key))), { class: "name", "aria-expanded": String(isOpen) });
    return make("li", {}, make("div", { class: "row" }, toggle, bar(parts), make("span", { class: "number" }, this.shown(seconds, total)), make("span", { class: "number" }, percent(total ? seconds / total : 0))));
  }

  /** @param {number} seconds @param {number} total */
  shown(seconds, total) {
    if (this.unit === "%") return percent(total ? seconds / total : 0);
    return duration(this.unit === "per iteration" ? seconds / this.trace.document.iterations : seconds);
  }

  /** @param {() => void} how */
  change(how) {
    how();
    this.draw();
  }

  /** How long each instance of the operation took. @param {string} stage @param {string} operation */
  instancesOf(stage, operation) {
    const found = this.trace.instances.filter((/** @type {any} */ row) =>
      row.stage === stage && row.operation === operation && (!this.state.view.process || row.process === this.state.view.process));
    return found.map((/** @type {any} */ row) => {
      const slowest = row.slowest.map((/** @type {any} */ each) =>
        button(`${duration(each.seconds)} at ${duration(each.start_s)}`, () => this.state.showTimes(each.start_s - each.seconds * 0.1, each.start_s + each.seconds * 1.1), { class: "link" }));
      return make("p", {}, `${row.process}: ${count(row.count)} times, half of them under ${duration(row.p50_s)}, 99 % under ${duration(row.p99_s)}. Slowest: `, ...join(slowest));
    });
  }

  /** @param {string} category "*" for all, "" for none @param {(call: any) => boolean} isIn */
  functionsOf(category, isIn) {
    if (!category) return [];
    const { process } = this.state.view;
    const rows = this.trace.calls.filter((/** @type {any} */ call) =>
      (!process || call.process === process) && (category === "*" || call.category === category) && isIn(call));
    const caption = category === "*" ? "Functions of this operation in the whole life, as recorded" : `Functions of the layer ${category}, as recorded`;
    return [callTable(rows, caption)];
  }
}

/** @param {any[]} calls @param {string} caption */
export function callTable(calls, caption) {
  const folded = new Map();
  for (const call of calls) {
    const key = JSON.stringify([call.category, call.function]);
    const row = folded.get(key) ?? { function: call.function || "(Python)", category: call.category, seconds: 0, count: 0 };
    row.seconds += call.seconds;
    row.count += call.count;
    folded.set(key, row);
  }
  const rows = [...folded.values()].sort((a, b) => b.seconds - a.seconds);
  return table([
    { title: "function", value: (row) => row.function },
    { title: "layer", value: (row) => row.category },
    { title: "seconds", value: (row) => row.seconds, shown: (row) => duration(row.seconds), isNumber: true },
    { title: "calls", value: (row) => row.count, shown: (row) => count(row.count), isNumber: true },
    { title: "mean", value: (row) => (row.count ? row.seconds / row.count : 0), shown: (row) => (row.count ? duration(row.seconds / row.count) : ""), isNumber: true },
  ], rows, { caption, file: "functions", rowsShown: 12 });
}

/** @param {Node[]} nodes */
function join(nodes) {
  return nodes.flatMap((node, place) => (place ? [", ", node] : [node]));
}

/** @param {Time[]} rows */
function sum(rows) {
  return rows.reduce((total, row) => total + row.seconds, 0);
}

/** @template T @param {T[]} rows @param {(row: T) => string} key @returns {Map<string, T[]>} */
export function group(rows, key) {
  const found = new Map();
  for (const row of rows) {
    const of = found.get(key(row));
    if (of) of.push(row);
    else found.set(key(row), [row]);
  }
  return found;
}

/** @param {[string, Time[]]} a @param {[string, Time[]]} b */
function byPart([, [a]], [, [b]]) {
  const place = (/** @type {string} */ stage) => (STAGES.includes(stage) ? STAGES.indexOf(stage) : STAGES.length);
  return LIFE_PARTS.indexOf(a.part) - LIFE_PARTS.indexOf(b.part) || place(a.stage) - place(b.stage);
}
