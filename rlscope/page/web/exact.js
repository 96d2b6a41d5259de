// The exact events of a window, drawn where the timeline is zoomed into one.
import { colourName } from "./colours.js";
import { duration } from "./format.js";

const LAYER = 13; // pixels
const SMALLEST_LABEL = 46;
const DEEPEST = 8;

/**
 * The events of one thread of a window, of which some lie in the view. They stay in columns: views hold up to a million.
 * @typedef {Object} Lane
 * @property {any} window
 * @property {{starts: Uint32Array, ticks: Uint32Array, names: Uint32Array, depths: Uint32Array}} columns
 * @property {number} from of the view, in ticks since the window's start
 * @property {number} to likewise
 * @property {number} deepest depth of an event in the view
 */

export class Windows {
  /** @param {any[]} processes of the header @param {(name: string) => any} array */
  constructor(processes, array) {
    /** @type {Map<string, any[]>} by process */
    this.windows = new Map(processes.map((process) =>
      [process.process, process.windows.map((/** @type {any} */ window) => ({ ...window, secondsPerTick: process.seconds_per_tick }))]));
    this.array = array;
  }

  /** The window that holds all of a view. @param {string} process @param {number} from @param {number} to */
  around(process, from, to) {
    const slack = (to - from) * 0.25;
    return this.windows.get(process)?.find((window) => window.start_s - slack <= from && to <= window.end_s + slack);
  }

  /** The first thread of a window that has events in a view. @param {any} window @param {number} from @param {number} to @returns {Lane | undefined} */
  lane(window, from, to) {
    const [first, last] = [from, to].map((seconds) => (seconds - window.start_s) / window.secondsPerTick);
    for (const thread of [...window.threads].sort((a, b) => a.thread - b.thread)) {
      const [starts, ticks, names, depths] = [thread.starts, thread.ticks, thread.names, thread.depths].map(this.array);
      let deepest = -1;
      for (let place = 0; place < starts.length; place++) {
        if (depths[place] > deepest && starts[place] <= last && starts[place] + ticks[place] >= first) deepest = depths[place];
      }
      if (deepest >= 0) return { window, columns: { starts, ticks, names, depths }, from: first, to: last, deepest };
    }
  }
}

/** How high the events are drawn. @param {Lane} lane */
export function exactHeight(lane) {
  return (Math.min(lane.deepest, DEEPEST) + 1) * LAYER;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Lane} lane
 * @param {{top: number, width: number, scale: number}} view
 * @param {(name: string) => string} css the value of a colour of page.css
 */
export function drawEvents(context, { window, columns: { starts, ticks, names, depths }, from, to }, view, css) {
  const perTick = view.width / (to - from);
  context.font = `${10 * view.scale}px sans-serif`;
  context.textBaseline = "middle";
  /** @type {Map<string, string>} asking for a colour takes longer than drawing an event */
  const known = new Map();
  const colour = (/** @type {string} */ name) => {
    if (!known.has(name)) known.set(name, css(name));
    return known.get(name) ?? "";
  };
  const drawn = new Int32Array(DEEPEST + 1).fill(-1); // of each depth, the pixel with the last event that is narrower than one
  for (let place = 0; place < starts.length; place++) {
    const [start, end, depth] = [starts[place], starts[place] + ticks[place], depths[place]];
    if (start > to || end < from || depth > DEEPEST) continue;
    const x = Math.max((start - from) * perTick, 0);
    const width = Math.max(Math.min((end - from) * perTick, view.width) - x, 1);
    if (width <= 1) {
      if (drawn[depth] === Math.floor(x)) continue;
      drawn[depth] = Math.floor(x);
    }
    const [kind, name] = window.names[names[place]];
    const y = view.top + depth * LAYER * view.scale;
    context.fillStyle = colour(isOperation(kind) ? "line" : colourName(kind, "category"));
    context.fillRect(x, y, width, (LAYER - 1) * view.scale);
    if (width < SMALLEST_LABEL * view.scale) continue;
    context.save();
    context.beginPath();
    context.rect(x, y, width, LAYER * view.scale);
    context.clip();
    context.fillStyle = colour(isOperation(kind) ? "text" : "page");
    context.fillText(`${name} ${duration(ticks[place] * window.secondsPerTick)}`, x + 3 * view.scale, y + (LAYER / 2) * view.scale);
    context.restore();
  }
}

/** @param {string} kind a category, `operation` or `phase` */
function isOperation(kind) {
  return kind === "operation" || kind === "phase";
}
