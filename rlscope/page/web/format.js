// Puts numbers into words: three digits are enough everywhere.

const WHOLE = new Intl.NumberFormat("en"); // made once: that takes longer than writing thousands of numbers

/** @param {number} seconds */
export function duration(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size >= 6000) return `${digits(seconds / 3600)} h`;
  if (size >= 1) return `${digits(seconds)} s`;
  if (size >= 1e-3) return `${digits(seconds * 1e3)} ms`;
  if (size >= 1e-6) return `${digits(seconds * 1e6)} µs`;
  return `${digits(seconds * 1e9)} ns`;
}

/**
 * Two times with as many digits as tell them apart: 2.701 to 2.818 s.
 * @param {number} from seconds @param {number} to seconds
 */
export function span(from, to) {
  const decimals = Math.min(Math.max(Math.ceil(2 - Math.log10(to - from)), 0), 9);
  return `${from.toFixed(decimals)} to ${to.toFixed(decimals)} s`;
}

/** @param {number} value */
export function digits(value) {
  if (Math.abs(value) >= 100) return WHOLE.format(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/** @param {number} count */
export function count(count) {
  return WHOLE.format(Math.round(count));
}

/** @param {number} bytes */
export function size(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  for (; Math.abs(bytes) >= 1000 && power + 1 < units.length; power++) bytes /= 1024;
  return `${digits(bytes)} ${units[power]}`;
}

/** @param {number} share from 0 to 1 */
export function percent(share) {
  if (!Number.isFinite(share)) return "";
  const value = share * 100;
  return `${value !== 0 && Math.abs(value) < 0.1 ? "< 0.1" : value.toFixed(Math.abs(value) < 10 ? 1 : 0)} %`;
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
