// The samples of a process: a bar each, packed into as few lanes as there are samples at once, with tails behind.
import { count, duration } from "./format.js";
import { table } from "./table.js";

const LANE = 5; // pixels, with the gap below
const HIGHEST = 200; // of all lanes: more of them are thinner
const THIN = 3; // lanes below have no gap
const QUEUE = "wait";
const DISCARDED = "warn";
const VERSIONS = ["backend", "simulator", "python", "cuda"]; // colours, one after the other

/**
 * @typedef {Object} Sample
 * @property {string} process
 * @property {string} name
 * @property {number} start_s
 * @property {number} end_s
 * @property {number} queue_s in which it was at work on nothing
 * @property {number} version
 * @property {number} staleness
 * @property {number} tokens
 * @property {boolean} discarded
 * @property {number} lane
 */

export class Samples {
  /**
   * @param {any} process of the header
   * @param {{start_s: number, tail_s: number}[]} tails of its iterations
   * @param {(name: string) => any} array
   */
  constructor(process, tails, array) {
    this.tails = tails;
    const { names, columns } = process.samples;
    const [starts, ticks, queued, versions, staleness, tokens, discarded, places] =
      ["starts", "ticks", "queued", "versions", "staleness", "tokens", "discarded", "names"].map((column) => array(columns[column]));
    const second = process.seconds_per_tick;
    /** @type {Sample[]} in order of their begins */
    this.all = Array.from(starts, (start, place) => ({
      process: process.process, name: names[places[place]],
      start_s: process.start_s + start * second, end_s: process.start_s + (start + ticks[place]) * second, queue_s: queued[place] * second,
      version: versions[place], staleness: staleness[place], tokens: tokens[place], discarded: discarded[place] > 0, lane: 0,
    }));
    const lanes = intoLanes(this.all);
    this.lane = Math.min(LANE, HIGHEST / lanes);
    this.height = Math.ceil(this.lane * lanes);
  }

  /** The sample under a point; nothing if there is none. @param {number} seconds @param {number} y pixels below the top of all lanes @param {number} slack seconds */
  at(seconds, y, slack) {
    const lane = Math.floor(y / this.lane);
    return this.all.find((sample) => sample.lane === lane && sample.start_s - slack <= seconds && seconds <= sample.end_s + slack);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {{top: number, from: number, to: number, width: number, scale: number}} view
   * @param {(name: string) => string} css the value of a colour of page.css
   */
  draw(context, view, css) {
    const x = (/** @type {number} */ seconds) => Math.min(Math.max((seconds - view.from) / (view.to - view.from), 0), 1) * view.width;
    const colours = new Map([...VERSIONS, QUEUE, DISCARDED, "line"].map((name) => [name, css(name)]));
    const fill = (/** @type {string} */ name, /** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ top, /** @type {number} */ height) => {
      context.fillStyle = colours.get(name) ?? "";
      context.fillRect(x(from), top, x(to) - x(from), height);
    };
    for (const tail of this.tails) fill("line", tail.start_s, tail.start_s + tail.tail_s, view.top, this.height * view.scale);
    const height = (this.lane - (this.lane > THIN ? 1 : 0)) * view.scale;
    const least = (view.to - view.from) / view.width; // a pixel
    for (const sample of this.all) {
      if (sample.end_s < view.from || sample.start_s > view.to) continue;
      const top = view.top + sample.lane * this.lane * view.scale;
      fill(sample.discarded ? DISCARDED : colourOfVersion(sample.version), sample.start_s, Math.max(sample.end_s, sample.start_s + least), top, height);
      fill(QUEUE, sample.start_s, sample.start_s + sample.queue_s, top, height);
    }
  }
}

/**
 * A table with a row for each sample.
 * @param {Sample[]} samples @param {string} caption @param {(sample: Sample) => void} [onRow]
 */
export function sampleTable(samples, caption, onRow) {
  const seconds = (/** @type {string} */ title, /** @type {(sample: Sample) => number} */ value) =>
    ({ title, value, shown: (/** @type {Sample} */ sample) => duration(value(sample)), isNumber: true });
  const counted = (/** @type {string} */ title, /** @type {(sample: Sample) => number} */ value) =>
    ({ title, value, shown: (/** @type {Sample} */ sample) => count(value(sample)), isNumber: true });
  return table([
    { title: "sample", value: (sample) => sample.name }, { title: "process", value: (sample) => sample.process },
    seconds("begin", (sample) => sample.start_s), seconds("took", (sample) => sample.end_s - sample.start_s), seconds("in queue", (sample) => sample.queue_s),
    counted("version", (sample) => sample.version), counted("staleness", (sample) => sample.staleness), counted("tokens", (sample) => sample.tokens),
    { title: "discarded", value: (sample) => (sample.discarded ? "yes" : "") },
  ], samples, { caption, file: "samples", onRow });
}

/** @param {number} version */
function colourOfVersion(version) {
  return VERSIONS[version % VERSIONS.length];
}

/** Puts each sample into the first lane that is free, and returns how many there are. @param {Sample[]} samples in order of their begins */
function intoLanes(samples) {
  /** @type {number[]} when the last sample of each lane ends */
  const ends = [];
  for (const sample of samples) {
    const free = ends.findIndex((end) => end <= sample.start_s);
    sample.lane = free < 0 ? ends.length : free;
    ends[sample.lane] = sample.end_s;
  }
  return ends.length;
}
