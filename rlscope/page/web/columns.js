// The pixels of a row of the timeline: each column shows the exact shares of the bins that it stands for.
import { colourName } from "./colours.js";

const LEAST = 1e-6; // less of a pixel is an error of rounding

/**
 * Columns beside each other that stand for the same bins are one part: zoomed in, most do.
 * @typedef {Object} Columns
 * @property {string[]} names of the colours
 * @property {number[]} firsts the first column of each part, and behind the last one how many columns there are
 * @property {Float64Array[]} ticks per colour, those of a column of each part
 * @property {Float64Array} wall all ticks of a column of each part
 */

/**
 * The ticks of each colour in each column.
 *
 * Of a view of `width` columns over n bins, column x stands for the bins from floor(x n / width) up to floor((x + 1) n / width), or for
 * the one in which it lies where there are fewer bins than columns. No bin is in two columns unless there are fewer bins.
 * @param {import("./sums.js").Bins} bins
 * @param {number} fromS @param {number} toS @param {number} width @param {string} by layer, stage, operation, or the name itself of a phase
 * @returns {Columns}
 */
export function columnTicks(bins, fromS, toS, width, by) {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  bins.series.forEach((series, place) => {
    const key = by === "category" ? series.category : by === "stage" ? series.stage : series.operation;
    const name = by === "phase" ? key : colourName(key, by);
    groups.set(name, [...(groups.get(name) ?? []), place]);
  });
  const names = [...groups.keys()].sort();
  const { firsts, starts, ends } = columnBins(bins, fromS, toS, width);
  const wall = new Float64Array(starts.length);
  const ticks = names.map((name) => {
    const found = new Float64Array(starts.length);
    for (const series of groups.get(name) ?? []) {
      const sums = bins.sums[series];
      for (let part = 0; part < found.length; part++) found[part] += sums[ends[part]] - sums[starts[part]];
    }
    for (let part = 0; part < found.length; part++) wall[part] += found[part];
    return found;
  });
  return { names, firsts, ticks, wall };
}

/**
 * The parts: the first column of each, its first bin, and the one behind its last; the same where the process did not live.
 * @param {import("./sums.js").Bins} bins @param {number} fromS @param {number} toS @param {number} width
 */
function columnBins(bins, fromS, toS, width) {
  /** @type {{firsts: number[], starts: number[], ends: number[]}} */
  const { firsts, starts, ends } = { firsts: [], starts: [], ends: [] };
  let [endS, endBin] = [fromS, bins.binAt(fromS)];
  for (let x = 0; x < width; x++) {
    const [startS, startBin] = [endS, endBin];
    endS = fromS + ((toS - fromS) * (x + 1)) / width;
    endBin = bins.binAt(endS);
    const lives = endS > bins.startS && startS < bins.startS + bins.lengthS;
    const start = lives ? Math.min(startBin, bins.count - 1) : 0;
    const end = lives ? Math.max(endBin, start + 1) : 0;
    if (x && start === starts[starts.length - 1] && end === ends[ends.length - 1]) continue;
    firsts.push(x);
    starts.push(start);
    ends.push(end);
  }
  firsts.push(width);
  return { firsts, starts, ends };
}

/**
 * Paints a row: in each column the colours lie upon each other, as high as their shares. A pixel with several colours has their mean.
 * @param {ImageData} image @param {number} top @param {number} height @param {Columns} columns
 * @param {Map<string, number[]>} colours
 */
export function paintColumns(image, top, height, columns, colours) {
  const rgb = columns.names.map((name) => colours.get(name) ?? [0, 0, 0]);
  const whole = rgb.map(([red, green, blue]) => pixelOf(red, green, blue));
  const pixels = new Int32Array(image.data.buffer);
  const width = image.width;
  for (let part = 0; part < columns.wall.length; part++) {
    const perTick = height / columns.wall[part];
    if (columns.wall[part] <= 0) continue;
    const count = columns.firsts[part + 1] - columns.firsts[part];
    let place = (top + height - 1) * width + columns.firsts[part]; // of the pixels that are not yet full, from the bottom up
    let full = 0; // the part of them that has colours
    let [red, green, blue] = [0, 0, 0]; // their sum
    for (let colour = 0; colour < rgb.length; colour++) {
      let left = columns.ticks[colour][part] * perTick;
      while (left > 0) {
        if (full === 0 && left >= 1) {
          for (; left >= 1; left--, place -= width) fill(pixels, place, count, whole[colour]);
          continue;
        }
        const share = Math.min(left, 1 - full);
        red += rgb[colour][0] * share;
        green += rgb[colour][1] * share;
        blue += rgb[colour][2] * share;
        left -= share;
        full += share;
        if (full < 1 - LEAST) break;
        fill(pixels, place, count, pixelOf(red, green, blue));
        place -= width;
        full = red = green = blue = 0;
      }
    }
    if (full > LEAST) fill(pixels, place, count, pixelOf(red / full, green / full, blue / full));
  }
}

/** Colours as many pixels from a place on. @param {Int32Array} pixels @param {number} place @param {number} count @param {number} colour */
function fill(pixels, place, count, colour) {
  for (let at = place; at < place + count; at++) pixels[at] = colour;
}

/** A colour as the canvas keeps it, rounded once; with a sign, so that it stays an integer. @param {number} red @param {number} green @param {number} blue */
function pixelOf(red, green, blue) {
  return (255 << 24) | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5);
}
