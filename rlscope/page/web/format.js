// Numbers as people read them, by the rules that rlscope/text/numbers.py states: a test compares the texts of both.

const MOST_DECIMALS = 9;
const ROUNDED_UP = 999.5;
const HOURS_FROM_S = 6000;
const BYTES = ["bytes", "KiB", "MiB", "GiB", "TiB"];
/** @type {[string, number, number][]} a unit, how many of it a second has, and from how many on the next one is used */
const TIME_UNITS = [["ns", 1e9, ROUNDED_UP], ["µs", 1e6, ROUNDED_UP], ["ms", 1e3, ROUNDED_UP], ["s", 1, HOURS_FROM_S], ["h", 1 / 3600, Infinity]];

/** @param {number} value */
export function digits(value) {
  return fixed(value, decimalsOf(value));
}

/** @param {number} number */
export function count(number) {
  return fixed(number, 0);
}

/** @param {number} seconds */
export function duration(seconds) {
  if (digits(Math.abs(seconds) * 1e9) === "0") return "0 s";
  const [name, perSecond] = TIME_UNITS.find(([, per, below]) => Math.abs(seconds) * per < below) ?? TIME_UNITS[4];
  const value = seconds * perSecond;
  const size = Math.abs(value);
  return withUnit(digits(size > ROUNDED_UP / 1000 && size < 1 ? Math.sign(value) : value), ` ${name}`);
}

/**
 * Two moments with as many digits as tell them apart: 2.701 to 2.818 s.
 * @param {number} from seconds @param {number} to seconds
 */
export function span(from, to) {
  const decimals = decimalsOf(to - from);
  return `${fixed(from, decimals)} to ${fixed(to, decimals)} s`;
}

/** @param {number} share from 0 to 1 */
export function percent(share) {
  const value = 100 * share;
  const size = Math.abs(value);
  if (size > 0 && size < 0.05) return value > 0 ? "< 0.1 %" : "> -0.1 %";
  return withUnit(fixed(value, size < 10 ? 1 : 0), " %");
}

/** @param {number} bytes */
export function size(bytes) {
  let power = 0;
  for (; Math.abs(bytes) >= ROUNDED_UP && power + 1 < BYTES.length; power++) bytes /= 1024;
  return withUnit(digits(bytes), ` ${BYTES[power]}`);
}

/** @param {string} text @param {string} unit */
function withUnit(text, unit) {
  return text && `${text}${unit}`;
}

/** How many digits behind the point three significant ones need. @param {number} value */
function decimalsOf(value) {
  let decimals = 0;
  while (Math.abs(value) * 10 ** decimals < 100 && decimals < MOST_DECIMALS) decimals++;
  return decimals;
}

/** A number rounded to so many decimals, without zeros at their end. @param {number} value @param {number} decimals */
function fixed(value, decimals) {
  if (!Number.isFinite(value)) return "";
  const length = Math.abs(value);
  const [whole, rest = ""] = (length < 1e21 ? length.toFixed(decimals) : String(BigInt(length))).split("."); // toFixed has an exponent then
  const fraction = rest.replace(/0+$/, "");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction && `.${fraction}`);
  return value < 0 && text !== "0" ? `-${text}` : text;
}

/**
 * The steps between the marks of an axis: 1, 2 or 5 times a power of ten.
 * @param {number} length of the axis
 * @param {number} marks how many there should be at most
 */
export function axisStep(length, marks) {
  const least = length / marks;
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}
