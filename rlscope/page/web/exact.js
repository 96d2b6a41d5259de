// The exact events of a window, drawn where the timeline is zoomed into one.
import { colourName } from "./colours.js";
import { duration } from "./format.js";

const LAYER = 13; // pixels
const SMALLEST_LABEL = 46;
const DEEPEST = 8;

/**
 * @typedef {Object} Event
 * @property {number} start seconds
 * @property {number} end seconds
 * @property {string} kind a category, `operation` or `phase`
 * @property {string} name
 * @property {number} depth
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

  /** Events that lie in a view, of the first thread of a window that has any there. @param {any} window @param {number} from @param {number} to @returns {Event[]} */
  events(window, from, to) {
    for (const thread of [...window.threads].sort((a, b) => a.thread - b.thread)) {
      const found = [];
      const [starts, ticks, names, depths] = [thread.starts, thread.ticks, thread.names, thread.depths].map(this.array);
      for (let place = 0; place < starts.length; place++) {
        const start = window.start_s + starts[place] * window.secondsPerTick;
        const end = start + ticks[place] * window.secondsPerTick;
        if (end < from || start > to) continue;
        const [kind, name] = window.names[names[place]];
        found.push({ start, end, kind, name, depth: depths[place] });
      }
      if (found.length) return found;
    }
    return [];
  }
}

/** How high the events are drawn. @param {Event[]} events */
export function exactHeight(events) {
  return (Math.min(events.reduce((deepest, event) => Math.max(deepest, event.depth), 0), DEEPEST) + 1) * LAYER;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Event[]} events of one thread
 * @param {{top: number, from: number, to: number, width: number, scale: number}} view
 * @param {(name: string) => string} css the value of a colour of page.css
 */
export function drawEvents(context, events, view, css) {
  const perSecond = view.width / (view.to - view.from);
  context.font = `${10 * view.scale}px sans-serif`;
  context.textBaseline = "middle";
  /** @type {Map<string, string>} asking for a colour takes longer than drawing an event */
  const known = new Map();
  const colour = (/** @type {string} */ name) => {
    if (!known.has(name)) known.set(name, css(name));
    return known.get(name) ?? "";
  };
  const drawn = new Int32Array(DEEPEST + 1).fill(-1); // of each depth, the pixel with the last event that is narrower than one
  for (const event of events) {
    if (event.depth > DEEPEST) continue;
    const x = Math.max((event.start - view.from) * perSecond, 0);
    const width = Math.max(Math.min((event.end - view.from) * perSecond, view.width) - x, 1);
    if (width <= 1) {
      if (drawn[event.depth] === Math.floor(x)) continue;
      drawn[event.depth] = Math.floor(x);
    }
    const y = view.top + event.depth * LAYER * view.scale;
    context.fillStyle = colour(isOperation(event) ? "line" : colourName(event.kind, "category"));
    context.fillRect(x, y, width, (LAYER - 1) * view.scale);
    if (width < SMALLEST_LABEL * view.scale) continue;
    context.save();
    context.beginPath();
    context.rect(x, y, width, LAYER * view.scale);
    context.clip();
    context.fillStyle = colour(isOperation(event) ? "text" : "page");
    context.fillText(`${event.name} ${duration(event.end - event.start)}`, x + 3 * view.scale, y + (LAYER / 2) * view.scale);
    context.restore();
  }
}

/** @param {Event} event */
function isOperation(event) {
  return event.kind === "operation" || event.kind === "phase";
}
