// What is shown, kept in the address behind `#`, so that a link shows the same.

/**
 * @typedef {Object} View
 * @property {number} from seconds
 * @property {number} to seconds
 * @property {string} process "" for all; at first the one that sets the pace
 * @property {string} by category, stage or operation
 */

const RESTS_MS = 200; // browsers refuse to write the address hundreds of times in a few seconds
const COLOURS_BY = ["category", "stage", "operation"];

export class State {
  /** @param {number} lengthS of the run @param {string[]} processes @param {string} usual the process that is shown at first */
  constructor(lengthS, processes, usual) {
    this.lengthS = lengthS;
    this.processes = processes;
    this.usual = usual;
    /** @type {View} */
    this.view = { from: 0, to: lengthS, process: usual, by: "category" };
    /** @type {(() => void)[]} */
    this.listeners = [];
    this.read();
    addEventListener("hashchange", () => {
      this.read();
      this.tell();
    });
  }

  /** Takes what the address says, as far as it is sound. */
  read() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const times = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(parts.get("t") ?? "");
    const [from, to] = times ? [Number(times[1]), Number(times[2])] : [0, this.lengthS];
    const sound = from >= 0 && from < to && to <= this.lengthS * 1.001;
    const process = parts.get("p") ?? this.usual;
    const by = parts.get("by") ?? "category";
    this.view = {
      from: sound ? from : 0,
      to: sound ? Math.min(to, this.lengthS) : this.lengthS,
      process: ["", ...this.processes].includes(process) ? process : this.usual,
      by: COLOURS_BY.includes(by) ? by : "category",
    };
  }

  /** @param {Partial<View>} changes */
  show(changes) {
    this.view = { ...this.view, ...changes };
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.write(), RESTS_MS);
    this.tell();
  }

  /** Puts what is shown into the address. */
  write() {
    const parts = new URLSearchParams();
    if (this.view.from > 0 || this.view.to < this.lengthS) parts.set("t", `${round(this.view.from)}-${round(this.view.to)}`);
    if (this.view.process !== this.usual) parts.set("p", this.view.process);
    if (this.view.by !== "category") parts.set("by", this.view.by);
    // A notebook's frame has no address of its own.
    if (location.protocol !== "about:") history.replaceState(null, "", `#${parts}`);
    this.tell();
  }

  /** Shows a part of the run: as near as possible where it would lie outside. @param {number} from @param {number} to */
  showTimes(from, to) {
    const length = Math.min(Math.max(to - from, 1e-8), this.lengthS);
    const start = Math.min(Math.max(from, 0), this.lengthS - length);
    this.show({ from: start, to: start + length });
  }

  nextColours() {
    this.show({ by: COLOURS_BY[(COLOURS_BY.indexOf(this.view.by) + 1) % COLOURS_BY.length] });
  }

  tell() {
    for (const listener of this.listeners) listener();
  }
}

/** @param {number} seconds */
function round(seconds) {
  return Number(seconds.toFixed(9));
}
