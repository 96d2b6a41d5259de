// The bins of a process: exact ticks of each series, and sums over any range of bins.

/**
 * @typedef {Object} Series
 * @property {string} stage
 * @property {string} operation
 * @property {string} category
 * @property {string} resource
 */

export class Bins {
  /**
   * @param {any} process as the header has it
   * @param {any} bins of it: those of what it did, or of its phases
   * @param {(name: string) => any} array
   */
  constructor(process, bins, array) {
    /** @type {Series[]} */
    this.series = bins.series.map((/** @type {string[]} */ [stage, operation, category, resource]) => ({ stage, operation, category, resource }));
    this.startS = process.start_s;
    this.lengthS = process.end_s - process.start_s;
    this.secondsPerTick = process.seconds_per_tick;
    this.count = bins.count;
    this.widthTicks = bins.width_ticks;
    this.lengthTicks = process.length_ticks;
    this.sums = this.unpack(bins, array);
  }

  /** @param {any} bins @param {(name: string) => any} array */
  unpack(bins, array) {
    const mask = array(bins.mask);
    const values = array(bins.values);
    const scale = 2 ** bins.shift;
    const bytes = Math.ceil(this.series.length / 8);
    const sums = this.series.map(() => new Float64Array(this.count + 1));
    let next = 0;
    for (let bin = 0; bin < this.count; bin++) {
      for (let series = 0; series < sums.length; series++) {
        let ticks = 0;
        if ((mask[bin * bytes + (series >> 3)] >> (series & 7)) & 1) {
          ticks = values[next] * scale;
          next++;
        }
        sums[series][bin + 1] = sums[series][bin] + ticks;
      }
    }
    return sums;
  }

  /**
   * Ticks of a series from one bin up to another.
   * @param {number} series @param {number} from @param {number} to
   */
  ticks(series, from, to) {
    return this.sums[series][to] - this.sums[series][from];
  }

  /** The bin in which a time lies, at most the last one. @param {number} seconds */
  binAt(seconds) {
    const ticks = (seconds - this.startS) / this.secondsPerTick;
    return Math.min(Math.max(Math.floor(ticks / this.widthTicks), 0), this.count);
  }

  /** Where a bin begins. @param {number} bin */
  startOf(bin) {
    return this.startS + Math.min(bin * this.widthTicks, this.lengthTicks) * this.secondsPerTick;
  }

  /**
   * Seconds by what `key` says of a series, from one time to another, in whole bins.
   * @param {(series: Series) => string} key @param {number} fromS @param {number} toS
   * @returns {Map<string, number>}
   */
  secondsBy(key, fromS, toS) {
    const [from, to] = [this.binAt(fromS), Math.max(this.binAt(toS), this.binAt(fromS) + 1)];
    const found = new Map();
    this.series.forEach((series, place) => {
      const ticks = this.ticks(place, Math.min(from, this.count), Math.min(to, this.count));
      if (ticks > 0) found.set(key(series), (found.get(key(series)) ?? 0) + ticks * this.secondsPerTick);
    });
    return found;
  }
}
