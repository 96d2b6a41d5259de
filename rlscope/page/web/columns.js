// The pixels of a row of the timeline: each column shows the exact shares of the bins that it stands for.
import { colourName } from "./colours.js";

/**
 * The ticks of each colour in each column.
 *
 * Of a view of `width` columns over n bins, column x stands for the bins from floor(x n / width) up to floor((x + 1) n / width), or for
 * the one in which it lies where there are fewer bins than columns. No bin is in two columns unless there are fewer bins.
 * @param {import("./sums.js").Bins} bins
 * @param {number} fromS @param {number} toS @param {number} width @param {string} by
 * @returns {{names: string[], ticks: Float64Array[], wall: Float64Array}} per colour, the ticks of each column; and all ticks of the column
 */
export function columnTicks(bins, fromS, toS, width, by) {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  bins.series.forEach((series, place) => {
    const name = colourName(by === "category" ? series.category : by === "stage" ? series.stage : series.operation, by);
    groups.set(name, [...(groups.get(name) ?? []), place]);
  });
  const names = [...groups.keys()].sort();
  const ticks = names.map(() => new Float64Array(width));
  const wall = new Float64Array(width);
  const lengthS = toS - fromS;
  for (let x = 0; x < width; x++) {
    const [startS, endS] = [fromS + (lengthS * x) / width, fromS + (lengthS * (x + 1)) / width];
    if (endS <= bins.startS || startS >= bins.startS + bins.lengthS) continue;
    const from = Math.min(bins.binAt(startS), bins.count - 1);
    const to = Math.max(bins.binAt(endS), from + 1);
    names.forEach((name, colour) => {
      for (const series of groups.get(name) ?? []) ticks[colour][x] += bins.ticks(series, from, to);
      wall[x] += ticks[colour][x];
    });
  }
  return { names, ticks, wall };
}

/**
 * Paints a row: in each column the colours lie upon each other, as high as their shares. A pixel with several colours has their mean.
 * @param {ImageData} image @param {number} top @param {number} height
 * @param {{names: string[], ticks: Float64Array[], wall: Float64Array}} columns
 * @param {Map<string, number[]>} colours
 */
export function paintColumns(image, top, height, columns, colours) {
  const rgb = columns.names.map((name) => colours.get(name) ?? [0, 0, 0]);
  for (let x = 0; x < columns.wall.length; x++) {
    const wall = columns.wall[x];
    if (wall <= 0) continue;
    let at = 0; // from the bottom, in pixels
    columns.ticks.forEach((ticks, colour) => {
      if (ticks[x] === 0) return;
      const end = at + (ticks[x] / wall) * height;
      for (let y = Math.floor(at); y < Math.min(Math.ceil(end), height); y++) {
        mix(image, x, top + height - 1 - y, rgb[colour], Math.min(end, y + 1) - Math.max(at, y));
      }
      at = end;
    });
  }
}

/** Adds a share of a colour to a pixel, whose shares sum to 1. @param {ImageData} image @param {number} x @param {number} y @param {number[]} rgb @param {number} share */
function mix(image, x, y, rgb, share) {
  const place = (y * image.width + x) * 4;
  const isNew = image.data[place + 3] === 0;
  for (let channel = 0; channel < 3; channel++) {
    image.data[place + channel] = (isNew ? 0 : image.data[place + channel]) + rgb[channel] * share;
  }
  image.data[place + 3] = 255;
}
