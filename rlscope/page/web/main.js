// Puts the page together once it is loaded.
import { Breakdown } from "./breakdown.js";
import { readContainer } from "./container.js";
import { make, replace } from "./elements.js";
import { Windows } from "./exact.js";
import { Iterations } from "./iterations.js";
import { listenToKeys } from "./keys.js";
import { showPanels } from "./panels.js";
import { makeSearch } from "./search.js";
import { Samples } from "./samples.js";
import { State } from "./state.js";
import { Bins } from "./sums.js";
import { Timeline } from "./timeline.js";

/** @type {[string, string][]} */
const KEYS = [
  ["/", "search"], ["[ and ]", "next slower and next faster iteration"], ["c", "colour by layer, stage or operation"],
  ["arrows, + and - in the timeline", "move, change the row, zoom"], ["Home", "the whole run"], ["t", "numbers of what is shown"],
];

/** @param {string} id */
const place = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {any} trace @param {import("./container.js").Container} container */
function showTrace(trace, container) {
  const array = (/** @type {string} */ name) => container.array(name);
  const state = new State(trace.length_s, trace.processes.map((/** @type {any} */ process) => process.process), trace.document.life?.process ?? "");
  const bins = trace.processes.map((/** @type {any} */ process) => new Bins(process, process.bins, array));
  const phases = trace.processes.map((/** @type {any} */ process) => (process.phase_bins ? new Bins(process, process.phase_bins, array) : null));
  const samples = trace.processes.map((/** @type {any} */ process) => (process.samples
    ? new Samples(process, trace.document.sample_tails.filter((/** @type {any} */ tail) => tail.process === process.process), array) : null));
  new Breakdown(trace, state, place("breakdown"));
  const paced = trace.processes.find((/** @type {any} */ process) => process.process === trace.iterations?.process);
  const iterations = paced ? new Iterations(trace.iterations, paced, array, state, place("iterations")) : null;
  if (!iterations) {
    replace(place("iterations"), make("p", {}, "The run reported no progress, so its iterations are not known. This line in the training loop reports it: ", make("code", {}, "rlscope.report_progress(timesteps=…)")));
  }
  const timeline = new Timeline(trace, bins, phases, samples, new Windows(trace.processes, array), state, place("timeline"));
  const tables = showPanels(trace, samples.flatMap((/** @type {Samples | null} */ each) => each?.all ?? []), state, place("tables"));
  const search = makeSearch(trace, state, iterations, tables.show, place("search"));
  listen(state, iterations, timeline, search);
}

/**
 * @param {State} state @param {Iterations | null} iterations @param {Timeline} timeline @param {HTMLInputElement} search
 */
function listen(state, iterations, timeline, search) {
  const moves = new Map([
    ["/", () => search.focus()], ["c", () => state.nextColours()],
    ["[", () => (timeline.said.textContent = iterations?.next(-1) ?? "")], ["]", () => (timeline.said.textContent = iterations?.next(1) ?? "")],
  ]);
  const onTheme = () => {
    state.tell();
    iterations?.draw();
  };
  listenToKeys(KEYS, moves, onTheme, place("buttons"));
  addEventListener("beforeprint", () => state.tell());
}

async function main() {
  const container = await readContainer(place("data").textContent ?? "");
  const traces = container.header.traces;
  const show = (/** @type {number} */ number) => showTrace(traces[number], container);
  if (traces.length > 1) {
    const choose = make("select", { "aria-label": "Trace" }, ...traces.map((/** @type {any} */ trace, /** @type {number} */ number) => make("option", { value: String(number) }, trace.name)));
    choose.addEventListener("change", () => show(Number(choose.value)));
    place("traces").append(make("label", {}, "Trace ", choose));
  }
  show(0);
  document.documentElement.dataset.ready = "yes";
}

main();
