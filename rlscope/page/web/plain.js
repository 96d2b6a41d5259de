// What a page of figures and tables does with a script: its tables sort, verdicts are filtered, and it has keys.
import { make, replace } from "./elements.js";
import { makeFilters } from "./filters.js";
import { listenToKeys } from "./keys.js";
import { changingTable } from "./table.js";

/** Of characters: a text that is longer gets room to be read in few lines. */
const LONG = 40;

/** @param {Element} element what is chosen by it: the key of what stands in it, else its text */
const keyOf = (element) => /** @type {HTMLElement | null} */ (element.querySelector("[data-key]"))?.dataset.key ?? element.textContent ?? "";

/**
 * Puts a table that sorts in the place of a table of the page.
 * @param {HTMLElement} place around the table
 * @returns {HTMLInputElement[]} the field of its filters, if it has any
 */
function enliven(place) {
  const heads = /** @type {HTMLElement[]} */ ([...place.querySelectorAll("thead th, thead td")]);
  const rows = [...place.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => ({ text: cell.textContent ?? "", key: keyOf(cell), shown: make("span", (cell.textContent ?? "").length > LONG ? { class: "long" } : {}, ...cell.childNodes) })));
  const columns = heads.map((head, column) => {
    const isNumber = head.classList.contains("number");
    return {
      title: head.textContent ?? "", isNumber, shown: (/** @type {any} */ row) => row[column].shown,
      value: (/** @type {any} */ row) => (isNumber && row[column].text ? Number(row[column].text.replaceAll(",", "")) : row[column].text),
    };
  });
  const caption = place.querySelector("caption")?.textContent ?? "";
  const { element, show } = changingTable(columns, rows, { caption, label: place.dataset.label, file: "table", rowsShown: Infinity });
  place.replaceWith(element);
  const filtered = heads.flatMap((head, column) => ("filter" in head.dataset ? [{ name: columns[column].title, value: (/** @type {any} */ row) => row[column].key }] : []));
  if (!filtered.length) return [];
  const filters = makeFilters(rows, "verdicts", (row) => row.map((/** @type {any} */ cell) => cell.text).join(" "), filtered, show);
  element.before(filters.element);
  return [filters.field];
}

/**
 * Filters the verdicts below the figures of a gallery; a figure or a section that has none left is not shown.
 * @param {HTMLElement} place of the controls
 * @returns {HTMLInputElement}
 */
function filterGallery(place) {
  const verdicts = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-verdict]")]);
  const cards = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".card")]);
  const sections = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("section.cards")]);
  const facets = ["study", "claim", "hardware", "verdict"].map((name) => ({ name, value: (/** @type {HTMLElement} */ verdict) => verdict.dataset[name] ?? "" }));
  const textOf = (/** @type {HTMLElement} */ verdict) => verdict.textContent ?? "";
  const { element, field } = makeFilters(verdicts, "verdicts", textOf, facets, (chosen, isChosen) => {
    const kept = new Set(chosen);
    for (const verdict of verdicts) verdict.hidden = !kept.has(verdict);
    for (const each of [...cards, ...sections]) each.hidden = isChosen && !each.querySelector("[data-verdict]:not([hidden])");
    for (const card of cards) {
      const rest = card.querySelector("details");
      if (rest) rest.open = isChosen && Boolean(rest.querySelector("[data-verdict]:not([hidden])"));
    }
  });
  replace(place, element);
  return field;
}

function mainOfPlain() {
  const gallery = document.getElementById("filters");
  const tables = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".table")]);
  const fields = [...(gallery ? [filterGallery(gallery)] : []), ...tables.flatMap(enliven)];
  const search = /** @type {[string, () => void][]} */ (fields.slice(0, 1).map((field) => ["/", () => field.focus()]));
  listenToKeys(search.map(([key]) => [key, "search the verdicts"]), new Map(search), () => {}, /** @type {Element} */ (document.getElementById("buttons")));
  document.documentElement.dataset.ready = "yes";
}

mainOfPlain();
