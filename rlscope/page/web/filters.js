// Chooses among the rows of a table, or the verdicts of a gallery: by a part of their text, and by values.
import { button, make, searchField } from "./elements.js";

/**
 * @typedef {Object} Facet
 * @property {string} name
 * @property {(item: any) => string} value
 */

/**
 * Makes the controls. What is chosen is kept in the address behind `#`, so that a link chooses the same.
 * @param {any[]} items
 * @param {string} noun what several of them are called
 * @param {(item: any) => string} textOf what is searched
 * @param {Facet[]} facets
 * @param {(chosen: any[], isChosen: boolean) => void} show the chosen ones, and whether anything is left out on purpose
 */
export function makeFilters(items, noun, textOf, facets, show) {
  const asked = new URLSearchParams(location.hash.slice(1));
  const said = make("output", {});
  const selects = facets.map((facet) => select(facet, items, asked.get(facet.name) ?? ""));
  const apply = () => {
    const text = field.value.trim().toLowerCase();
    const chosen = items.filter((item) => textOf(item).toLowerCase().includes(text)
      && facets.every((facet, place) => !selects[place].value || facet.value(item) === selects[place].value));
    said.textContent = `${chosen.length} of ${items.length} ${noun}`;
    const parts = [["text", text], ...facets.map((facet, place) => [facet.name, selects[place].value])].filter(([, value]) => value);
    if (parts.length || isApplied) history.replaceState(null, "", `#${new URLSearchParams(parts)}`);
    isApplied = parts.length > 0;
    show(chosen, isApplied);
  };
  let isApplied = false;
  const field = searchField("Text", apply);
  field.value = asked.get("text") ?? "";
  for (const each of selects) each.addEventListener("change", apply);
  const clear = button("Clear", () => {
    for (const each of [field, ...selects]) each.value = "";
    apply();
  });
  const labels = facets.map((facet, place) => make("label", {}, `${facet.name} `, selects[place]));
  const element = make("div", { class: "tools", role: "search", "aria-label": `Filter ${noun}` }, field, ...labels, clear, said);
  apply();
  return { element, field };
}

/** @param {Facet} facet @param {any[]} items @param {string} chosen */
function select(facet, items, chosen) {
  const order = new Intl.Collator("en", { numeric: true });
  const values = [...new Set(items.map(facet.value))].filter((value) => value).sort(order.compare);
  const element = make("select", { "aria-label": facet.name }, make("option", { value: "" }, "all"), ...values.map((value) => make("option", { value }, value)));
  element.value = values.includes(chosen) ? chosen : "";
  return element;
}
