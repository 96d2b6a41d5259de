// The row of phases of a process: in each column the exact shares of its phases, and their names where there is room.
import { readColours } from "./colours.js";
import { CATEGORIES } from "./vocabulary.js";
import { columnTicks, paintColumns } from "./columns.js";

export const PHASES = 14; // height in pixels of the page
const NONE = "(none)";
const ROOM = 8; // beside a name

/** @typedef {{top: number, from: number, to: number, width: number, scale: number}} Place of a row, in pixels of the canvas and seconds */

/**
 * Paints the row, and returns what writes the names into it once all is painted.
 * @param {ImageData} image @param {import("./sums.js").Bins} bins @param {Place} place
 * @returns {(context: CanvasRenderingContext2D) => void}
 */
export function paintPhases(image, bins, place) {
  const columns = columnTicks(bins, place.from, place.to, place.width, "phase");
  const known = readColours();
  const colours = new Map(bins.series.map((series, number) =>
    [series.operation, known.get(series.operation === NONE ? "page" : CATEGORIES[number % CATEGORIES.length]) ?? [0, 0, 0]]));
  paintColumns(image, Math.round(place.top), Math.round(PHASES * place.scale), columns, colours);
  return (context) => writeNames(context, columns, place);
}

/** @param {CanvasRenderingContext2D} context @param {import("./columns.js").Columns} columns @param {Place} place */
function writeNames(context, columns, place) {
  context.font = `${10 * place.scale}px sans-serif`;
  context.textBaseline = "middle";
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--page");
  const { firsts } = columns;
  let start = 0;
  for (let part = 0; part < firsts.length; part++) {
    const isLast = part === firsts.length - 1;
    if (!isLast && largest(columns, part) === largest(columns, start)) continue;
    const name = largest(columns, start);
    const room = firsts[part] - firsts[start] - ROOM * place.scale;
    if (name && name !== NONE && context.measureText(name).width <= room) {
      context.fillText(name, firsts[start] + (ROOM / 2) * place.scale, place.top + (PHASES / 2) * place.scale);
    }
    start = part;
  }
}

/** The phase with most of a part; undefined outside the process's life. @param {import("./columns.js").Columns} columns @param {number} part */
function largest({ names, ticks }, part) {
  let found;
  for (let phase = 0; phase < names.length; phase++) {
    if (ticks[phase][part] > (found === undefined ? 0 : ticks[found][part])) found = phase;
  }
  return found === undefined ? undefined : names[found];
}
