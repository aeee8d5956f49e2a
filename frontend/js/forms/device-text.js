/** Rows of devices as the text that the server parses, and what the page knows of it. */

/**
 * @typedef {object} DeviceRow
 * @property {number} count
 * @property {string} kind
 * @property {number} memory_gib of each device
 *
 * @typedef {object} DeviceKindChoice
 * @property {string} name
 * @property {number} memory_gib that a device of it usually has
 * @property {string[]} links names of the choices of links that fit it
 *
 * @typedef {object} Described
 * @property {string} words devices, memory and links on one line
 * @property {string} short_words
 * @property {DeviceRow[] | null} rows null where rows cannot show it
 * @property {string} links the name of a choice; empty: the usual links
 * @property {string} machine the text, if it names a measured machine
 * @property {boolean} has_cpu
 * @property {string} error
 *
 * @typedef {object} DeviceChoices
 * @property {DeviceKindChoice[]} kinds
 * @property {{ name: string, label: string }[]} links
 * @property {{ name: string, label: string }[]} machines
 * @property {Described} described what the field says when the page is loaded
 */

export const MOST_DEVICES = 256;
export const MOST_MEMORY_GIB = 931_322;

/**
 * The shorthand of rows: `2xA100:80GiB+CPU@pcie`; the usual memory of a kind is left out.
 *
 * @param {readonly DeviceRow[]} rows
 * @param {string} links
 * @param {readonly DeviceKindChoice[]} kinds
 * @returns {string}
 */
export function textOfRows(rows, links, kinds) {
  const terms = rows.map(({ count, kind, memory_gib: memory }) => {
    const usual = kinds.find(({ name }) => name === kind)?.memory_gib;
    return `${count === 1 ? "" : `${count}x`}${kind}${isSame(memory, usual) ? "" : `:${plain(memory)}GiB`}`;
  });
  return terms.join("+") + (links === "" ? "" : `@${links}`);
}

/**
 * The choices of links that fit all kinds of `rows`.
 *
 * @param {readonly DeviceRow[]} rows
 * @param {Pick<DeviceChoices, "kinds" | "links">} choices
 * @returns {{ name: string, label: string }[]}
 */
export function linksThatFit(rows, { kinds, links }) {
  const used = kinds.filter(({ name }) => rows.some(({ kind }) => kind === name));
  return links.filter(({ name }) => used.every((kind) => kind.links.includes(name)));
}

/**
 * What is wrong with rows; empty if nothing is.
 *
 * @param {readonly DeviceRow[]} rows
 * @returns {string}
 */
export function faultOfRows(rows) {
  if (rows.length === 0) {
    return "Add devices: there are none.";
  }
  if (rows.some(({ count }) => !Number.isInteger(count) || count < 1 || count > MOST_DEVICES)) {
    return `Enter a number of devices from 1 to ${MOST_DEVICES}.`;
  }
  if (rows.some(({ memory_gib: memory }) => !(memory >= 1e-6 && memory <= MOST_MEMORY_GIB))) {
    return `Enter a memory above 0, of at most ${MOST_MEMORY_GIB.toLocaleString("en")} GiB.`;
  }
  return "";
}

/**
 * A memory as a field shows it: 131.3 of 141 GB, which is no whole number of GiB.
 *
 * @param {number} memory in GiB
 * @returns {string}
 */
export function plain(memory) {
  return String(Number(memory.toPrecision(12)));
}

/**
 * @param {number} one
 * @param {number | undefined} other
 */
function isSame(one, other) {
  return other !== undefined && Math.abs(one - other) <= other * 1e-9;
}
