// The panel of lines: a flame graph of functions, the lines with most time, what each called, and where the CPU waited for the GPU.
import { flameGraph } from "./flames.js";
import { make, replace } from "./elements.js";
import { percent } from "./format.js";
import { changingTable, counted, seconds, table, words } from "./table.js";

/** @param {any} row */
const placeOf = (row) => (row.line ? `${row.file}:${row.line}` : "");
const LINE = { title: "line", value: placeOf };

/** @param {any} trace of the header @param {import("./state.js").State} state */
export function linesPanel(trace, state) {
  const { process } = state.view;
  const chosen = (/** @type {any[]} */ rows) => (rows ?? []).filter((row) => !process || row.process === process);
  const lines = chosen(trace.document.lines).filter((row) => row.line);
  const sites = chosen(trace.document.call_sites).sort((a, b) => b.seconds - a.seconds);
  const points = chosen(trace.document.sync_points);
  const below = make("div", {}, callsTable(sites, "Lines that made native calls, estimated from stacks that were seen in them"));
  const showCalls = (/** @type {any} */ line) => {
    const made = sites.filter((site) => site.process === line.process && site.file === line.file && site.line === line.line);
    replace(below, made.length ? callsTable(made, `Native calls of ${placeOf(line)}`) : make("p", {}, `No stack was seen in a native call of ${placeOf(line)}.`));
  };
  return make("div", {},
    ...(lines.length ? [...ofStages(chosen(trace.processes), lines, showCalls), below] : []),
    ...(points.length ? [pointsTable(points)] : []));
}

/**
 * The flame graph, and the lines of the stage that it shows.
 * @param {any[]} processes of the header @param {any[]} lines @param {(line: any) => void} onRow
 */
function ofStages(processes, lines, onRow) {
  const total = lines.reduce((sum, row) => sum + row.seconds, 0);
  const sorted = [...lines].sort((a, b) => b.seconds - a.seconds);
  const shown = changingTable([LINE, words("function"), words("process"), words("stage"), words("operation"),
    seconds("seconds"), { title: "share", value: (row) => row.seconds / total, shown: (row) => percent(row.seconds / total), isNumber: true }, counted("stacks")],
  sorted, { caption: "Lines of Python with most time of their own, as recorded; click one to see its native calls", file: "lines", onRow });
  return [flameGraph(processes, (stage) => shown.show(sorted.filter((row) => !stage || row.stage === stage))), shown.element];
}

/** @param {any[]} sites @param {string} caption */
function callsTable(sites, caption) {
  return table([words("function"), LINE, seconds("seconds"),
    { title: "of the function's calls", value: (row) => row.calls_percent, shown: (row) => percent(row.calls_percent / 100), isNumber: true },
    counted("stacks"), words("caller"), words("stage"), words("operation")],
  sites, { caption, file: "call_sites", rowsShown: 12 });
}

/** @param {any[]} points */
function pointsTable(points) {
  return table([words("process"), words("stage"), words("operation"), words("function"), words("wait"), LINE,
    counted("count"), seconds("seconds")],
  [...points].sort((a, b) => b.seconds - a.seconds), { caption: "Where the CPU waited for the GPU", file: "sync_points", rowsShown: 12 });
}
