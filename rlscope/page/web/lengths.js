// How long iterations took: each of them, or groups of some and those that are known singly besides.

/**
 * @typedef {Object} Part of the iterations, one after the other
 * @property {number} first its number
 * @property {number} count how many there are
 * @property {number} start seconds
 * @property {number} length seconds, of all together
 * @property {number} shortest seconds
 * @property {number} longest seconds
 * @property {number} longestAt the number of that one
 */

export class Lengths {
  /** @param {any} found what the header has of iterations @param {(name: string) => any} array @param {number} secondsPerTick */
  constructor(found, array, secondsPerTick) {
    this.count = found.count;
    this.size = found.group;
    this.startS = found.start_s;
    this.secondsPerTick = secondsPerTick;
    this.lengths = array(found.lengths);
    this.shortest = this.size > 1 ? array(found.shortest) : this.lengths;
    this.longest = this.size > 1 ? array(found.longest) : this.lengths;
    this.longestAt = array(found.longest_at);
    /** Ticks up to each group. */
    this.sums = new Float64Array(this.lengths.length + 1);
    this.lengths.forEach((/** @type {number} */ ticks, /** @type {number} */ group) => (this.sums[group + 1] = this.sums[group] + ticks));
    const [numbers, starts, lengths] = [found.known, found.known_starts, found.known_lengths].map(array);
    /** @type {Map<number, [number, number]>} start and length in ticks */
    this.known = new Map(Array.from(numbers, (number, place) => [number, [starts[place], lengths[place]]]));
  }

  /** The groups from one up to another, together. @param {number} from @param {number} to @returns {Part} */
  part(from, to) {
    let [shortest, slowest] = [from, from];
    for (let group = from; group < to; group++) {
      if (this.shortest[group] < this.shortest[shortest]) shortest = group;
      if (this.longest[group] > this.longest[slowest]) slowest = group;
    }
    const first = from * this.size;
    return {
      first, count: Math.min(to * this.size, this.count) - first,
      start: this.startS + this.sums[from] * this.secondsPerTick, length: (this.sums[to] - this.sums[from]) * this.secondsPerTick,
      shortest: this.shortest[shortest] * this.secondsPerTick, longest: this.longest[slowest] * this.secondsPerTick,
      longestAt: this.size > 1 ? this.longestAt[slowest] : slowest,
    };
  }

  /** What is known of an iteration: itself alone, or its group. @param {number} number */
  around(number) {
    const known = this.known.get(number);
    if (!known) return this.part(Math.floor(number / this.size), Math.floor(number / this.size) + 1);
    const length = known[1] * this.secondsPerTick;
    return { first: number, count: 1, start: this.startS + known[0] * this.secondsPerTick, length, shortest: length, longest: length, longestAt: number };
  }

  /** The numbers of those that are known singly, the slowest first. @returns {number[]} */
  slowestFirst() {
    const numbers = this.size > 1 ? [...this.known.keys()] : Array.from(this.lengths.keys());
    const ticks = (/** @type {number} */ number) => (this.size > 1 ? this.known.get(number)?.[1] ?? 0 : this.lengths[number]);
    return numbers.sort((a, b) => ticks(b) - ticks(a));
  }

  /** What a column of a picture of so many stands for. @param {number} column @param {number} columns */
  column(column, columns) {
    const groups = this.lengths.length;
    const from = Math.min(Math.floor((groups * column) / columns), groups - 1);
    return this.part(from, Math.max(Math.floor((groups * (column + 1)) / columns), from + 1));
  }
}
