// Finds processes, operations, functions and iterations by a part of their name.
import { button, make, replace, searchField } from "./elements.js";
import { count, duration } from "./format.js";

const MOST_SHOWN = 12;

/**
 * @param {any} trace of the header
 * @param {import("./state.js").State} state
 * @param {import("./iterations.js").Iterations | null} iterations
 * @param {(title: string) => void} showPanel
 * @param {HTMLElement} place
 */
export function makeSearch(trace, state, iterations, showPanel, place) {
  const found = make("ul", { class: "found", "aria-live": "polite" });
  const field = searchField("Search processes, operations, functions, iterations", () => {
    const text = field.value.trim().toLowerCase();
    replace(found, ...(text ? results(text) : []).slice(0, MOST_SHOWN).map(([label, go]) => make("li", {}, button(label, () => {
      go();
      field.value = "";
      replace(found);
      field.focus();
    }, { class: "link" }))));
  });
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter") found.querySelector("button")?.click();
  });

  /** @param {string} text @returns {[string, () => void][]} */
  const results = (text) => {
    /** @type {[string, () => void][]} */
    const all = [];
    const number = Number(text);
    if (iterations && Number.isInteger(number) && number >= 0 && number < iterations.lengths.count) {
      const part = iterations.lengths.around(number);
      all.push([`iteration ${count(number)}, ${part.count > 1 ? "in a group of " : ""}${duration(part.length)}`, () => iterations.choose(number)]);
    }
    const has = (/** @type {string} */ name) => name.toLowerCase().includes(text);
    for (const process of trace.processes) {
      if (has(process.process)) all.push([`process ${process.process}`, () => state.show({ process: process.process })]);
    }
    for (const row of trace.instances) {
      if (has(row.operation)) {
        const slowest = row.slowest[0];
        all.push([`operation ${row.operation} of ${row.process}: the slowest of ${count(row.count)}`, () =>
          slowest && state.showTimes(slowest.start_s - slowest.seconds * 0.1, slowest.start_s + slowest.seconds * 1.1)]);
      }
    }
    for (const call of trace.calls) {
      if (call.function && has(call.function)) all.push([`function ${call.function} in ${call.operation}: ${duration(call.seconds)}`, () => showPanel("Calls")]);
    }
    return all;
  };
  replace(place, field, found);
  return field;
}
