// Tables that can be sorted, cut short, and saved as CSV.
import { button, make } from "./elements.js";
import { count, digits, duration, percent, size } from "./format.js";

const ROWS_SHOWN = 20;
const FORMULA_STARTS = "=+-@\t\r";

/**
 * @typedef {Object} Column
 * @property {string} title
 * @property {(row: any) => any} value what is sorted and saved
 * @property {(row: any) => (string | Node)} [shown] else the value as text
 * @property {boolean} [isNumber]
 */

// Columns of the values that rows have by a key.
/** @param {string} title @param {string} [key] @returns {Column} */
export const words = (title, key = title) => ({ title, value: (row) => row[key] });
/** @param {string} title @param {string} [key] @returns {Column} */
export const seconds = (title, key = title) => ({ title, value: (row) => row[key], shown: (row) => (row[key] === null ? "" : duration(row[key])), isNumber: true });
/** @param {string} title @param {string} [key] @returns {Column} */
export const number = (title, key = title) => ({ title, value: (row) => row[key], shown: (row) => (row[key] === null ? "" : digits(row[key])), isNumber: true });
/** @param {string} title @param {string} [key] @returns {Column} */
export const counted = (title, key = title) => ({ title, value: (row) => row[key], shown: (row) => (row[key] === null ? "" : count(row[key])), isNumber: true });
/** @param {string} title @param {string} [key] @returns {Column} */
export const bytes = (title, key = title) => ({ title, value: (row) => row[key], shown: (row) => (row[key] === null ? "" : size(row[key])), isNumber: true });
/** @param {string} title @param {string} [key] @returns {Column} */
export const share = (title, key = title) => ({ title, value: (row) => row[key], shown: (row) => (row[key] === null ? "" : percent(row[key])), isNumber: true });

/** @typedef {{caption: string, label?: string, file: string, onRow?: (row: any) => void, rowsShown?: number}} Options */

/**
 * @param {Column[]} columns
 * @param {any[]} rows in the order in which they are shown at first
 * @param {Options} options
 */
export function table(columns, rows, options) {
  return changingTable(columns, rows, options).element;
}

/**
 * A table, and what shows other rows in it.
 * @param {Column[]} columns @param {any[]} rows @param {Options} options
 * @returns {{element: HTMLElement, show: (rows: any[]) => void}}
 */
export function changingTable(columns, rows, options) {
  const state = { column: -1, descends: true, all: rows.length <= (options.rowsShown ?? ROWS_SHOWN) };
  const body = make("tbody");
  const heads = columns.map((column, place) => {
    const sort = button(column.title, () => {
      state.descends = state.column === place ? !state.descends : Boolean(column.isNumber);
      state.column = place;
      fill();
    });
    return column.title ? make("th", { scope: "col", class: column.isNumber ? "number" : "" }, sort) : make("td");
  });
  const more = button("", () => {
    state.all = !state.all;
    fill();
  });
  const save = button("Save CSV", () => saveText(`${options.file}.csv`, csv(columns, rows)));
  const fill = () => {
    const sorted = state.column < 0 ? rows : [...rows].sort(order(columns[state.column], state.descends));
    const shown = state.all ? sorted : sorted.slice(0, options.rowsShown ?? ROWS_SHOWN);
    body.replaceChildren(...shown.map((row) => tableRow(columns, row, options.onRow)));
    more.textContent = state.all ? "Show fewer" : `Show all ${rows.length}`;
    more.hidden = rows.length <= (options.rowsShown ?? ROWS_SHOWN);
    heads.forEach((head, place) => {
      const sense = state.column === place ? (state.descends ? "descending" : "ascending") : "none";
      if (columns[place].title) head.setAttribute("aria-sort", sense);
    });
  };
  fill();
  const element = make("table", {}, ...(options.caption ? [make("caption", {}, options.caption)] : []), make("thead", {}, make("tr", {}, ...heads)), body);
  const whole = make("div", { class: "table" }, make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.label ?? options.caption }, element), make("p", { class: "tools" }, more, save));
  const show = (/** @type {any[]} */ others) => {
    rows = others;
    fill();
  };
  return { element: whole, show };
}

/** @param {Column[]} columns @param {any} row @param {((row: any) => void) | undefined} onRow */
function tableRow(columns, row, onRow) {
  const cells = columns.map((column, place) => {
    const shown = column.shown ? column.shown(row) : String(column.value(row) ?? "");
    const attributes = { class: column.isNumber ? "number" : "", "data-head": column.title };
    if (place === 0 && onRow && typeof shown === "string") return make("td", attributes, button(shown, () => onRow(row), { class: "link" }));
    return make("td", attributes, shown);
  });
  return make("tr", {}, ...cells);
}

/** @param {Column} column @param {boolean} descends */
function order(column, descends) {
  const sense = descends ? -1 : 1;
  return (/** @type {any} */ a, /** @type {any} */ b) => {
    const [x, y] = [column.value(a) ?? "", column.value(b) ?? ""];
    return sense * (column.isNumber ? Number(x) - Number(y) : String(x).localeCompare(String(y), "en", { numeric: true }));
  };
}

/** @param {Column[]} columns @param {any[]} rows */
export function csv(columns, rows) {
  const cell = (/** @type {any} */ value) => {
    let text = String(value ?? "");
    // A spreadsheet must not take a name for a formula.
    if (typeof value === "string" && text && FORMULA_STARTS.includes(text[0])) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map((column) => cell(column.title)), ...rows.map((row) => columns.map((column) => cell(column.value(row))))];
  return lines.map((line) => line.join(",")).join("\n") + "\n";
}

/** @param {string} name @param {string} text */
export function saveText(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
