// The pixels of a row of the timeline: each column shows the exact shares of the bins that it stands for.
import { colourName } from "./colours.js";

const LEAST = 1e-6; // less of a pixel is an error of rounding

/**
 * The ticks of each colour in each column.
 *
 * Of a view of `width` columns over n bins, column x stands for the bins from floor(x n / width) up to floor((x + 1) n / width), or for
 * the one in which it lies where there are fewer bins than columns. No bin is in two columns unless there are fewer bins.
 * @param {import("./sums.js").Bins} bins
 * @param {number} fromS @param {number} toS @param {number} width @param {string} by layer, stage, operation, or the name itself of a phase
 * @returns {{names: string[], ticks: Float64Array[], wall: Float64Array}} per colour, the ticks of each column; and all ticks of the column
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
  const [starts, ends] = columnBins(bins, fromS, toS, width);
  const wall = new Float64Array(width);
  const ticks = names.map((name) => {
    const found = new Float64Array(width);
    for (const series of groups.get(name) ?? []) {
      const sums = bins.sums[series];
      for (let x = 0; x < width; x++) found[x] += sums[ends[x]] - sums[starts[x]];
    }
    for (let x = 0; x < width; x++) wall[x] += found[x];
    return found;
  });
  return { names, ticks, wall };
}

/**
 * The first bin of each column, and the one behind its last; the same where the process did not live.
 * @param {import("./sums.js").Bins} bins @param {number} fromS @param {number} toS @param {number} width @returns {[Uint32Array, Uint32Array]}
 */
function columnBins(bins, fromS, toS, width) {
  const [starts, ends] = [new Uint32Array(width), new Uint32Array(width)];
  const lengthS = toS - fromS;
  for (let x = 0; x < width; x++) {
    const [startS, endS] = [fromS + (lengthS * x) / width, fromS + (lengthS * (x + 1)) / width];
    if (endS <= bins.startS || startS >= bins.startS + bins.lengthS) continue;
    starts[x] = Math.min(bins.binAt(startS), bins.count - 1);
    ends[x] = Math.max(bins.binAt(endS), starts[x] + 1);
  }
  return [starts, ends];
}

/**
 * Paints a row: in each column the colours lie upon each other, as high as their shares. A pixel with several colours has their mean.
 * @param {ImageData} image @param {number} top @param {number} height
 * @param {{names: string[], ticks: Float64Array[], wall: Float64Array}} columns
 * @param {Map<string, number[]>} colours
 */
export function paintColumns(image, top, height, columns, colours) {
  const rgb = columns.names.map((name) => colours.get(name) ?? [0, 0, 0]);
  const whole = rgb.map(([red, green, blue]) => pixelOf(red, green, blue));
  const pixels = new Uint32Array(image.data.buffer);
  const width = image.width;
  for (let x = 0; x < columns.wall.length; x++) {
    const perTick = height / columns.wall[x];
    if (columns.wall[x] <= 0) continue;
    let place = (top + height - 1) * width + x; // of the pixel that is not yet full, from the bottom up
    let full = 0; // the part of it that has colours
    let [red, green, blue] = [0, 0, 0]; // their sum
    for (let colour = 0; colour < rgb.length; colour++) {
      let left = columns.ticks[colour][x] * perTick;
      while (left > 0) {
        if (full === 0 && left >= 1) {
          pixels[place] = whole[colour];
          place -= width;
          left -= 1;
          continue;
        }
        const share = Math.min(left, 1 - full);
        red += rgb[colour][0] * share;
        green += rgb[colour][1] * share;
        blue += rgb[colour][2] * share;
        left -= share;
        full += share;
        if (full < 1 - LEAST) break;
        pixels[place] = pixelOf(red, green, blue);
        place -= width;
        full = red = green = blue = 0;
      }
    }
    if (full > LEAST) pixels[place] = pixelOf(red / full, green / full, blue / full);
  }
}

/** A colour as the canvas keeps it, rounded once. @param {number} red @param {number} green @param {number} blue */
function pixelOf(red, green, blue) {
  return ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;
}
