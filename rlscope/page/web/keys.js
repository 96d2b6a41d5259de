// Dark and light, and the keys of a page with the list of them.
import { button, make, replace } from "./elements.js";

/**
 * @param {[string, string][]} listed keys, and what they do
 * @param {Map<string, () => void>} moves what each key does, besides `d` and `?`
 * @param {() => void} onTheme after the theme has changed
 * @param {Element} place of the buttons
 */
export function listenToKeys(listed, moves, onTheme, place) {
  const entries = [...listed, ["d", "dark or light"], ["?", "this list"]];
  const help = make("dialog", { "aria-label": "Keys" }, make("dl", {}, ...entries.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)])), button("Close", () => help.close()));
  document.body.append(help);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : scheme.matches;
    root.dataset.theme = isDark ? "light" : "dark";
    onTheme();
  };
  replace(place, button("Dark or light", dark), button("Keys", () => help.showModal()));
  scheme.addEventListener("change", onTheme);
  const all = new Map([...moves, ["d", dark], ["?", () => help.showModal()]]);
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const move = all.get(event.key);
    if (!move) return;
    event.preventDefault();
    move();
  });
}
