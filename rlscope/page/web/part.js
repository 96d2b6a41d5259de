// The numbers of a part of the timeline, as tables.
import { bar, make } from "./elements.js";
import { duration, percent, span } from "./format.js";
import { table } from "./table.js";

const PARTS = 32;

/**
 * Its breakdown, exact in whole bins, the same in parts for those who do not see the picture, and how to get its events.
 * @param {any} trace @param {any} process of the header @param {import("./sums.js").Bins} bins
 * @param {number} from seconds @param {number} to seconds @param {boolean} isExact the page has its events
 * @returns {Node[]}
 */
export function numbersOf(trace, process, bins, from, to, isExact) {
  const start = bins.startOf(bins.binAt(from));
  const end = bins.startOf(Math.max(bins.binAt(to), bins.binAt(from) + 1));
  const found = bins.secondsBy((series) => JSON.stringify([series.stage, series.operation, series.category, series.resource]), from, to);
  const rows = [...found].map(([key, seconds]) => ({ key: JSON.parse(key), seconds })).sort((a, b) => b.seconds - a.seconds);
  const total = rows.reduce((sum, row) => sum + row.seconds, 0);
  const columns = ["stage", "operation", "layer", "resource"].map((title, place) => ({ title, value: (/** @type {any} */ row) => row.key[place] }));
  const numbers = table([...columns,
    { title: "seconds", value: (row) => row.seconds, shown: (row) => duration(row.seconds), isNumber: true },
    { title: "share", value: (row) => row.seconds / total, shown: (row) => percent(row.seconds / total), isNumber: true },
  ], rows, { caption: `${process.process} from ${span(start, end)}: ${duration(total)}, as recorded`, file: "part", rowsShown: 10 });
  const command = `rlscope report ${trace.name} --focus ${from.toFixed(3)}:${to.toFixed(3)} -o page.html`;
  const hint = isExact ? [] : [make("p", {}, "Events of this part are not in the page. This command makes a page with them: ", make("code", {}, command))];
  return [numbers, ...hint, inParts(bins, from, to)];
}

/** @param {import("./sums.js").Bins} bins @param {number} from @param {number} to */
function inParts(bins, from, to) {
  const parts = Array.from({ length: PARTS }, (_, part) => {
    const [a, b] = [from + ((to - from) * part) / PARTS, from + ((to - from) * (part + 1)) / PARTS];
    const by = [...bins.secondsBy((series) => series.category, a, b)].sort((x, y) => y[1] - x[1]);
    return { from: a, by, total: by.reduce((sum, [, seconds]) => sum + seconds, 0) };
  });
  return table([
    { title: "from", value: (row) => row.from, shown: (row) => duration(row.from), isNumber: true },
    { title: "mostly", value: (row) => row.by[0]?.[0] ?? "" },
    { title: "share", value: (row) => (row.total ? row.by[0][1] / row.total : 0), shown: (row) => (row.total ? percent(row.by[0][1] / row.total) : ""), isNumber: true },
    { title: "", value: () => "", shown: (row) => bar(row.by.map((/** @type {[string, number]} */ [category, seconds]) => ({ colour: category, share: seconds / row.total, label: `${category} ${duration(seconds)}` }))) },
  ], parts, { caption: `The same in ${PARTS} parts`, file: "parts", rowsShown: 8 });
}
