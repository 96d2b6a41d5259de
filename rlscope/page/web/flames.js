// The functions in which Python's time was spent, by stage, as a flame graph that opens where it is clicked.
import { button, make, replace } from "./elements.js";
import { duration, percent } from "./format.js";

const NARROWEST = 0.003; // of what is shown; a narrower function has no name and is hard to hit
const MOST_ROWS = 24; // below the chosen one

/**
 * A function where it was called, or a stage, or all of them.
 * @typedef {Object} Flame
 * @property {string} name
 * @property {string} file "" of a stage
 * @property {string} stage "" of all
 * @property {number} seconds its own and those of what it called
 * @property {number} own
 * @property {Flame | null} caller
 * @property {Map<string, Flame>} called
 */

/** @param {string} name @param {string} file @param {string} stage @param {Flame | null} caller @returns {Flame} */
const flame = (name, file, stage, caller) => ({ name, file, stage, seconds: 0, own: 0, caller, called: new Map() });

/** @param {Flame} caller @param {string} name @param {string} file @param {string} stage */
function inside(caller, name, file, stage) {
  const key = JSON.stringify([name, file]);
  const found = caller.called.get(key) ?? flame(name, file, stage, caller);
  caller.called.set(key, found);
  return found;
}

/** The tree of these processes. @param {any[]} processes of the header */
export function treeOf(processes) {
  const all = flame("Python", "", "", null);
  for (const process of processes) {
    /** @type {Flame[]} */
    const flames = [];
    for (const frame of process.frames) {
      const stage = () => inside(all, frame.stage === "(none)" ? "in no operation" : frame.stage, "", frame.stage);
      const found = inside(frame.caller === null ? stage() : flames[frame.caller], frame.function, frame.file, frame.stage);
      found.own += frame.seconds;
      for (let around = /** @type {Flame | null} */ (found); around; around = around.caller) around.seconds += frame.seconds;
      flames.push(found);
    }
  }
  return all;
}

/**
 * @param {any[]} processes of the header
 * @param {(stage: string) => void} onStage what follows the stage that is shown, "" for all
 * @returns {HTMLElement}
 */
export function flameGraph(processes, onStage) {
  const place = make("div", { class: "flames", role: "group", "aria-label": "Functions in which Python's time was spent" });
  const said = make("output", {});
  const all = treeOf(processes);
  const open = (/** @type {Flame} */ chosen) => {
    const own = chosen.own > 0 ? `, ${duration(chosen.own)} of it its own` : "";
    said.textContent = `${chosen.name}${chosen.file && ` (${chosen.file})`}: ${duration(chosen.seconds)}, ${percent(chosen.seconds / all.seconds)} of Python's time${own}`;
    replace(place, ...rowsOf(chosen, open));
    onStage(chosen.stage);
  };
  open(all);
  const help = "Python's time by stage and function; below each function what it called. A click opens a function, a click above it goes back. Your own files are bold.";
  return make("div", {}, make("p", {}, help), make("p", {}, said), place);
}

/** Those around the chosen one over the whole width, it, and below it what it called. @param {Flame} chosen @param {(one: Flame) => void} open */
function rowsOf(chosen, open) {
  const rows = [];
  for (let around = /** @type {Flame | null} */ (chosen); around; around = around.caller) rows.unshift(make("div", {}, box(around, 0, 1, open)));
  let above = [{ flame: chosen, from: 0 }];
  for (let row = 0; row < MOST_ROWS && above.length; row++) {
    const below = [];
    for (const { flame, from } of above) {
      let at = from;
      for (const called of [...flame.called.values()].sort((a, b) => b.seconds - a.seconds)) {
        if (called.seconds >= NARROWEST * chosen.seconds) below.push({ flame: called, from: at });
        at += called.seconds / chosen.seconds;
      }
    }
    if (below.length) rows.push(make("div", {}, ...below.map((each) => box(each.flame, each.from, each.flame.seconds / chosen.seconds, open))));
    above = below;
  }
  return rows;
}

/** @param {Flame} flame @param {number} from @param {number} width @param {(one: Flame) => void} open */
function box(flame, from, width, open) {
  const isOwn = flame.file.startsWith("/");
  const element = button(flame.name, () => open(flame), { class: isOwn ? "own" : "", title: `${flame.name} ${flame.file} ${duration(flame.seconds)}` });
  element.style.setProperty("left", `${100 * from}%`);
  element.style.setProperty("width", `${100 * width}%`);
  return element;
}
