// Which colour a category, a stage or an operation has: those of page.css, as numbers for the canvas.
import { CATEGORIES, STAGE_COLOURS } from "./vocabulary.js";

const COLOURS_OF_STAGES = new Map(STAGE_COLOURS);

/** The name of the colour in page.css. @param {string} key @param {string} by category, stage or operation */
export function colourName(key, by) {
  if (by === "category") return CATEGORIES.includes(key) ? key : "gpu";
  if (by === "stage") return COLOURS_OF_STAGES.get(key) ?? "gpu";
  let hash = 7;
  for (const character of key) hash = (hash * 31 + character.charCodeAt(0)) >>> 0;
  return CATEGORIES[hash % CATEGORIES.length];
}

/** Colours as [red, green, blue], read anew when the theme changes. @returns {Map<string, number[]>} */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const colours = new Map();
  for (const name of [...CATEGORIES, "page", "line", "text"]) {
    const text = style.getPropertyValue(`--${name}`).trim();
    colours.set(name, [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
  }
  return colours;
}
