/** Numbers for people. Units are in the arguments' names; a missing or meaningless number is an en dash. */

export const NOTHING = "–";

/** Control, zero-width and direction characters: invisible, or able to disguise a name. */
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Relative difference below which two times count as equal. */
const LEAST_GAP = 0.0005;
const KIBI = 1024;
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL_UNITS = ["", "k", "M", "G", "T", "P", "E"];
const TIME_UNITS = [
  { unit: "µs", divisor: 1 },
  { unit: "ms", divisor: 1e3 },
  { unit: "s", divisor: 1e6 },
];

/**
 * @param {unknown} value
 * @returns {value is number}
 */
export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/**
 * `value` with three significant digits, or all digits of its integer part if there are more.
 *
 * @param {number} value
 * @param {number} [digits]
 * @returns {string}
 */
export function significant(value, digits = 3) {
  const shown = Math.abs(Number(value.toPrecision(digits))); // 9.996 is 10.0
  const whole = Math.max(1, Math.floor(Math.log10(Math.max(shown, 1e-12))) + 1);
  const decimals = value === 0 ? 0 : Math.min(6, Math.max(0, digits - whole));
  return withDecimals(value, decimals);
}

/**
 * [decimals] A form takes much longer to make than to use.
 *
 * @type {Intl.NumberFormat[]}
 */
const FORMS = [];

/**
 * @param {number} value
 * @param {number} decimals that are shown
 * @returns {string} with commas between thousands
 */
export function withDecimals(value, decimals) {
  FORMS[decimals] ??= new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return FORMS[decimals].format(value);
}

/**
 * The unit in which a time is shown.
 *
 * @param {number} us
 * @returns {{ unit: string, divisor: number }}
 */
export function timeUnit(us) {
  const fitting = TIME_UNITS.filter(({ divisor }) => Math.abs(us) >= divisor * 0.9995);
  return fitting.at(-1) ?? TIME_UNITS[0];
}

/**
 * A step time or the time of an op: `842 µs`, `12.3 ms`, `1.28 s`.
 *
 * @param {number | null | undefined} us
 * @param {number} [digits]
 * @returns {string}
 */
export function formatTime(us, digits = 3) {
  if (!isNumber(us)) {
    return NOTHING;
  }
  const { unit, divisor } = timeUnit(us);
  return `${significant(us / divisor, digits)} ${unit}`;
}

/**
 * A time before and after a change, the unit once where both have it: `611.8 → 669.4 ms`.
 *
 * @param {number} beforeUs
 * @param {number} afterUs
 * @returns {string}
 */
export function formatTimes(beforeUs, afterUs) {
  const [before, after] = [formatTime(beforeUs, 4), formatTime(afterUs, 4)];
  const { unit } = timeUnit(afterUs);
  return `${timeUnit(beforeUs).unit === unit ? before.slice(0, -unit.length - 1) : before} → ${after}`;
}

/**
 * What a change does to a step: `9.4 % slower: 611.8 → 669.4 ms`, `equally fast`.
 *
 * @param {number} beforeUs more than 0
 * @param {number} afterUs
 * @returns {string}
 */
export function formatStepChange(beforeUs, afterUs) {
  const gap = afterUs / beforeUs - 1;
  return Math.abs(gap) < LEAST_GAP ? formatGap(gap) : `${formatGap(gap)}: ${formatTimes(beforeUs, afterUs)}`;
}

/**
 * A difference of two times: `+1.2 ms`, `−842 µs`, `0 µs`.
 *
 * @param {number | null | undefined} us
 * @returns {string}
 */
export function formatTimeChange(us) {
  if (!isNumber(us)) {
    return NOTHING;
  }
  return Math.abs(us) < 5e-4 ? formatTime(0) : `${us < 0 ? "−" : "+"}${formatTime(Math.abs(us))}`;
}

/**
 * @param {number | null | undefined} bytes
 * @returns {string}
 */
export function formatBytes(bytes) {
  if (!isNumber(bytes)) {
    return NOTHING;
  }
  let power = 0;
  let value = bytes;
  while (Math.abs(value) >= 999.5 && power < BYTE_UNITS.length - 1) {
    value /= KIBI;
    power += 1;
  }
  return power === 0 ? `${value} B` : `${significant(value)} ${BYTE_UNITS[power]}`;
}

/**
 * A number of floating-point operations: `3.87 G`.
 *
 * @param {number | null | undefined} flops
 * @returns {string}
 */
export function formatFlops(flops) {
  if (!isNumber(flops)) {
    return NOTHING;
  }
  let power = 0;
  let value = flops;
  while (value >= 999.5 && power < DECIMAL_UNITS.length - 1) {
    value /= 1000;
    power += 1;
  }
  return power === 0 ? formatCount(value) : `${significant(value)} ${DECIMAL_UNITS[power]}`;
}

/**
 * @param {number | null | undefined} count
 * @returns {string}
 */
export function formatCount(count) {
  return isNumber(count) ? withDecimals(count, 0) : NOTHING;
}

/**
 * `1 group`, `128 groups`.
 *
 * @param {number} count
 * @param {string} noun
 * @param {string} [plural]
 * @returns {string}
 */
export function counted(count, noun, plural = `${noun}s`) {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/**
 * @param {number | null | undefined} share from 0 to 1
 * @returns {string}
 */
export function formatShare(share) {
  if (!isNumber(share)) {
    return NOTHING;
  }
  const percent = share * 100;
  return percent > 0 && percent < 0.5 ? "< 1 %" : `${withDecimals(Math.round(percent), 0)} %`;
}

/**
 * The shares of one whole, which add up to 100 %: `83 %` and `17 %`, `> 99 %` beside `< 1 %`.
 *
 * @param {readonly number[]} shares from 0 to 1
 * @returns {string[]}
 */
export function formatShares(shares) {
  const whole = shares.map((share) => Math.floor(share * 100));
  const rest = (/** @type {number} */ index) => shares[index] * 100 - whole[index];
  const left = 100 - whole.reduce((sum, percent) => sum + percent, 0);
  const nearest = [...shares.keys()].sort((one, other) => rest(other) - rest(one));
  const rounded = new Set(nearest.slice(0, Math.max(0, left)));
  return shares.map((share, index) => {
    const percent = whole[index] + Number(rounded.has(index));
    return share > 0 && percent === 0 ? "< 1 %" : share < 1 && percent === 100 ? "> 99 %" : `${percent} %`;
  });
}

/**
 * A share or a difference in percent: `57 %`, `2.4 %`, `−0.3 %`. Below 10 % it has a decimal, unless that is zero.
 *
 * @param {number | null | undefined} share
 * @returns {string}
 */
export function formatPercent(share) {
  if (!isNumber(share)) {
    return NOTHING;
  }
  const percent = Math.abs(share * 100);
  const digits = percent < 9.95 ? 1 : 0;
  const text = percent.toLocaleString("en", { maximumFractionDigits: digits });
  return `${share < 0 && text !== "0" ? "−" : ""}${text} %`;
}

/**
 * How a time compares with another, the one form for it on all pages: `16 % faster`, `2.4 % slower`, `equally fast`.
 *
 * @param {number | null | undefined} gap the time over the other one, minus 1
 * @returns {string}
 */
export function formatGap(gap) {
  if (!isNumber(gap)) {
    return NOTHING;
  }
  if (Math.abs(gap) < LEAST_GAP) {
    return "equally fast";
  }
  return `${formatPercent(Math.abs(gap))} ${gap > 0 ? "slower" : "faster"}`;
}

/**
 * The same beside the other time's name: `16 % faster than one device`, `as fast as one device`.
 *
 * @param {number} gap the time over the other one, minus 1
 * @param {string} other
 * @returns {string}
 */
export function formatAgainst(gap, other) {
  return Math.abs(gap) < LEAST_GAP ? `as fast as ${other}` : `${formatGap(gap)} than ${other}`;
}

/**
 * A duration: `8 s`, `2 min 05 s`, `1 h 04 min`.
 *
 * @param {number | null | undefined} seconds
 * @returns {string}
 */
export function formatDuration(seconds) {
  if (!isNumber(seconds) || seconds < 0) {
    return NOTHING;
  }
  if (seconds < 9.95) {
    return `${significant(seconds, 2)} s`;
  }
  const whole = Math.round(seconds);
  if (whole < 60) {
    return `${whole} s`;
  }
  if (whole < 3600) {
    return `${Math.floor(whole / 60)} min ${padded(whole % 60)} s`;
  }
  const minutes = Math.round(whole / 60);
  return `${formatCount(Math.floor(minutes / 60))} h ${padded(minutes % 60)} min`;
}

/**
 * An estimated duration, rounded: `< 5 s`, `≈ 40 s`, `≈ 3 min`.
 *
 * @param {number | null | undefined} seconds
 * @returns {string}
 */
export function formatEstimate(seconds) {
  if (!isNumber(seconds) || seconds < 0) {
    return NOTHING;
  }
  if (seconds < 5) {
    return "< 5 s";
  }
  if (seconds < 55) {
    return `≈ ${Math.ceil(seconds / 5) * 5} s`;
  }
  if (seconds < 3570) {
    return `≈ ${Math.max(1, Math.round(seconds / 60))} min`;
  }
  return `≈ ${formatDuration(Math.round(seconds / 300) * 300)}`;
}

/**
 * A name with its invisible characters written out, such as `\u202e`.
 *
 * @param {string} name
 * @returns {string}
 */
export function visible(name) {
  return name.replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * A name on one line of bounded length, cut in the middle. A path keeps its last parts whole, as far as there is room.
 *
 * @param {string} name
 * @param {number} [longest]
 * @returns {string}
 */
export function cutName(name, longest = 120) {
  const characters = [...visible(name)];
  if (characters.length <= longest) {
    return characters.join("");
  }
  const room = Math.max(0, longest - 1);
  const end = lengthOfEnd(characters, room);
  const begin = room - end;
  return `${characters.slice(0, begin).join("")}…${characters.slice(characters.length - end).join("")}`;
}

/** Of the room for a cut name, the part that whole last parts of a path may take, if there is more than one. */
const MOST_FOR_END = 0.7;

/**
 * @param {readonly string[]} characters of a name that is too long
 * @param {number} room for its beginning and its end together
 * @returns {number} the number of characters to show of its end
 */
function lengthOfEnd(characters, room) {
  const last = characters.length - characters.lastIndexOf("/");
  let end = 0;
  for (let length = 1; length <= MOST_FOR_END * room; length += 1) {
    if (characters[characters.length - length] === "/" && length > 1) {
      end = length;
    }
  }
  const isPath = last > 1 && last <= characters.length;
  return end || (isPath && last - 1 <= room ? Math.min(last, room) : Math.ceil(room / 2));
}

/**
 * @param {number} number
 * @returns {string}
 */
function padded(number) {
  return String(number).padStart(2, "0");
}

/**
 * How long ago something was: `3 min ago`, `1 day ago`; empty after a week, and for what is to come.
 *
 * @param {number} seconds
 * @returns {string}
 */
export function formatAge(seconds) {
  if (!(seconds > -60) || seconds >= 7 * 86400) {
    return "";
  }
  if (seconds < 60) {
    return "just now";
  }
  if (seconds < 3600) {
    return `${Math.floor(seconds / 60)} min ago`;
  }
  return seconds < 86400 ? `${Math.floor(seconds / 3600)} h ago` : `${counted(Math.floor(seconds / 86400), "day")} ago`;
}

/**
 * `a, b and c`.
 *
 * @param {readonly string[]} words
 * @returns {string}
 */
export function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
