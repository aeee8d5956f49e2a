/**
 * What the nodes of a graph are coloured by, from facts of each node. Pure: names of colours, no colours.
 *
 * A quantity has a few steps of one ramp, whose lightness alone tells them apart; what is no quantity differs in colour
 * and shape.
 */

import { inUseOf } from "./devices-in-use.js";
import { bounds, stepOf, stepWords, STEPS } from "./scale-steps.js";

/** @typedef {import("./graph-style.js").NodeLook} NodeLook */

/**
 * @typedef {object} Facts of the nodes; null: not known yet, or not on this page
 * @property {ArrayLike<number> | null} placement [nodes] device, `SPLIT` where the ops of a node are on several
 * @property {readonly import("./devices.js").DeviceLook[]} looks of the devices; empty: none
 * @property {ArrayLike<number | null> | null} timeUs [nodes]
 * @property {ArrayLike<number>} bytes [nodes] of outputs
 * @property {StepFacts | null} step
 * @property {ArrayLike<number | null> | null} gainShare [nodes] the share of the step that the best single move saves; null: it may not move
 * @property {CostFacts | null} costs
 *
 * @typedef {object} StepFacts
 * @property {Int32Array} deviceOf [nodes] `SPLIT` where the ops of a node are on several
 * @property {Map<number, Part[]>} parts of each node that is on several, by device
 * @property {ArrayLike<number> | null} deviceOfOp [ops] null: no node is on several
 * @property {ReadonlySet<number> | null} cut pairs of nodes between which an edge crosses devices: source × the number of nodes +
 *   target; null: no node is on several, so that the placement says it
 * @property {Float64Array} slackUs [nodes] the least of its ops
 * @property {Float64Array} chainUs [nodes] its time on the critical chain
 * @property {Float64Array} peakShare [nodes] of the peaks of the devices
 *
 * @typedef {object} Part the ops of a node that are on one of its devices
 * @property {number} device
 * @property {number} ops
 * @property {number} timeUs they run for, added up
 *
 * @typedef {object} CostFacts
 * @property {readonly string[]} sources their names
 * @property {Int8Array} sourceOf [nodes] where the costs of most of its ops are from; -1 without ops
 * @property {Uint8Array} needsCpu [nodes] 1: some of its ops run on no GPU
 */

/**
 * @typedef {object} Colouring
 * @property {readonly NodeLook[]} looks
 * @property {ArrayLike<number>} lookOf [nodes] an index of `looks`
 * @property {readonly { look: number, words: string }[]} legend of the looks that there are
 * @property {readonly boolean[]} [inUse] of looks that are those of devices, which come first: [devices] whether a node is there
 */

/** In place of a device: the ops of the node are on several. */
export const SPLIT = -1;
/**
 * Into so many parts of equal width a node on several devices is divided, or one for each device: a stripe is as wide as its
 * device's share of the time, to a twelfth, and the thinnest is a mark.
 */
const STRIPES = 12;
const STRIPED = "on several devices, by time";

/** @type {NodeLook} */
const NOTHING = Object.freeze({ colour: "--surface", shape: "ellipse" });
/** @type {readonly NodeLook[]} */
const UNKNOWN = Object.freeze([/** @type {NodeLook} */ ({ colour: "--node-unplaced", shape: "ellipse" })]);
/** @type {NodeLook} */
export const SPLIT_LOOK = Object.freeze({ colour: "--surface", shape: "octagon" });
/** @type {readonly NodeLook[]} */
const RAMP = Object.freeze(Array.from({ length: STEPS }, (_, step) => /** @type {NodeLook} */ ({ colour: `--ramp-${step}`, shape: "ellipse" })));
/** @type {readonly NodeLook[]} */
const KINDS = Object.freeze(
  /** @type {NodeLook[]} */ ([
    { colour: "#0072b2", shape: "ellipse" },
    { colour: "#e69f00", shape: "diamond" },
    { colour: "#009e73", shape: "hexagon" },
    { colour: "#cc79a7", shape: "triangle" },
    { colour: "#d55e00", shape: "rectangle" },
  ]),
);

const SOURCE_WORDS = new Map([
  ["measured", "measured in traced steps"],
  ["estimated", "estimated by a cost model"],
  ["given", "given in the file"],
  ["bounded", "estimated for the largest sizes"],
  ["unknown", "unknown, counted as nothing"],
]);

/** @type {Readonly<Record<string, { label: string, title: string, needs: readonly (keyof Facts)[], colour: (facts: Facts, count: number) => Colouring }>>} */
export const COLOURINGS = Object.freeze({
  device: { label: "Device", title: "Device of each group", needs: ["placement"], colour: byDevice },
  time: { label: "Time", title: "Time on its device", needs: ["timeUs"], colour: ({ timeUs }, count) => byQuantity(timeUs, count, "us") },
  bytes: { label: "Bytes", title: "Bytes of its outputs", needs: ["bytes"], colour: ({ bytes }, count) => byQuantity(bytes, count, "bytes") },
  peak: {
    label: "Share of the peak",
    title: "Share of what its devices hold at their memory peak",
    needs: ["step"],
    colour: ({ step }, count) => byQuantity(step?.peakShare ?? null, count, "share"),
  },
  slack: { label: "Slack", title: "How much later it could end without making the step longer", needs: ["step"], colour: bySlack },
  critical: {
    label: "Critical chain",
    title: "Its time on the critical chain",
    needs: ["step"],
    colour: ({ step }, count) => byQuantity(step?.chainUs ?? null, count, "us", "not on the chain"),
  },
  gain: { label: "Gain if moved", title: "How much shorter the step gets by the best single move", needs: ["gainShare"], colour: byGain },
  source: { label: "Source of costs", title: "Where the costs of most of its ops are from", needs: ["costs"], colour: bySource },
  cpu: { label: "Cannot run on a GPU", title: "Ops that no GPU runs", needs: ["costs"], colour: byCpu },
});

/**
 * @param {string} key
 * @param {Facts} facts
 * @param {number} count of nodes
 * @returns {Colouring} all nodes alike while the facts are not known
 */
export function colouring(key, facts, count) {
  const wish = COLOURINGS[key] ?? COLOURINGS.device;
  if (wish.needs.some((fact) => facts[fact] === null || facts[fact] === undefined)) {
    return { looks: UNKNOWN, lookOf: new Uint8Array(count), legend: [{ look: 0, words: "Shown once playback stops" }] };
  }
  return wish.colour(facts, count);
}

/**
 * A node whose ops are on several devices has a stripe for each of them, once the step says which.
 *
 * @param {Facts} facts
 * @param {number} count
 * @returns {Colouring}
 */
function byDevice({ placement, looks, step }, count) {
  const devices = /** @type {ArrayLike<number>} */ (placement);
  const mixOf = new Map([...(step?.parts ?? [])].map(([node, parts]) => [node, mixOfParts(parts).join(" ")]));
  const mixes = [...new Set(mixOf.values())].sort();
  const lookOf = Uint16Array.from({ length: count }, (_, node) =>
    devices[node] === SPLIT ? looks.length + 1 + mixes.indexOf(mixOf.get(node) ?? "") : devices[node]);
  const legend = [...looks.map(({ label }) => label), "on several devices"].map((text, look) => ({ look, words: text }));
  const striped = mixes.length > 0 ? [{ look: looks.length + 1, words: STRIPED }] : [];
  const known = legend.filter(({ look }) => look < looks.length || lookOf.includes(look));
  const places = [...(step?.parts.values() ?? [])].flatMap((parts) => parts.map(({ device }) => device));
  const inUse = inUseOf(looks.length, [...lookOf, ...places]);
  return { looks: withSplits(looks, mixes), lookOf, legend: [...known, ...striped], inUse };
}

/**
 * Devices of the stripes of a node: with a few steps of width there are few looks, which pictures share.
 *
 * @param {readonly Part[]} parts by device
 * @returns {number[]} each device as often as it has parts of the width, at least once
 */
function mixOfParts(parts) {
  const all = parts.reduce((sum, { timeUs }) => sum + timeUs, 0);
  const widths = parts.map(({ timeUs }) => (all > 0 ? (STRIPES * timeUs) / all : STRIPES / parts.length));
  const counts = widths.map((width) => Math.max(1, Math.floor(width)));
  const total = () => counts.reduce((sum, count) => sum + count, 0);
  const furthest = (/** @type {1 | -1} */ side, /** @type {(index: number) => boolean} */ may) =>
    [...counts.keys()].filter(may).sort((one, other) => side * (widths[other] - counts[other] - widths[one] + counts[one]) || one - other)[0];
  while (total() < STRIPES) {
    counts[furthest(1, () => true)] += 1;
  }
  while (total() > STRIPES && counts.some((count) => count > 1)) {
    counts[furthest(-1, (index) => counts[index] > 1)] -= 1;
  }
  return parts.flatMap(({ device }, index) => new Array(counts[index]).fill(device));
}

/** @param {string} mix devices, such as `0 0 2` */
function devicesOf(mix) {
  return mix.split(" ").map(Number);
}

/** @type {WeakMap<readonly NodeLook[], Map<string, readonly NodeLook[]>>} one array for equal looks: nothing is styled again */
const splits = new WeakMap();

/**
 * @param {readonly NodeLook[]} looks of the devices
 * @param {readonly string[]} mixes
 */
function withSplits(looks, mixes) {
  const known = splits.get(looks) ?? new Map();
  const key = mixes.join();
  if (!known.has(key)) {
    const striped = mixes.map((mix) => ({ ...SPLIT_LOOK, stripes: devicesOf(mix).map((device) => looks[device].colour) }));
    known.set(key, Object.freeze([...looks, SPLIT_LOOK, ...striped]));
  }
  splits.set(looks, known);
  return /** @type {readonly NodeLook[]} */ (known.get(key));
}

/** @type {readonly NodeLook[]} */
const RAMP_AND_NOTHING = Object.freeze([...RAMP, NOTHING]);
/** @type {readonly NodeLook[]} the least is the darkest */
const REVERSED = Object.freeze([...RAMP].reverse());

/**
 * @param {ArrayLike<number | null> | null} values [nodes]
 * @param {number} count
 * @param {import("./scale-steps.js").Unit} unit
 * @param {string} [none] of what is zero
 * @returns {Colouring}
 */
function byQuantity(values, count, unit, none = "none") {
  const known = Array.from({ length: count }, (_, node) => values?.[node] ?? 0);
  const edges = bounds(known.reduce((most, value) => Math.max(most, value), 0), unit);
  const lookOf = Uint8Array.from(known, (value) => (value > 0 ? stepOf(value, edges) : STEPS));
  const steps = RAMP.map((_, look) => ({ look, words: stepWords(look, edges, unit) }));
  const legend = [...(lookOf.includes(STEPS) ? [{ look: STEPS, words: none }] : []), ...steps];
  return { looks: RAMP_AND_NOTHING, lookOf, legend: legend.filter(({ look }) => lookOf.includes(look)) };
}

/**
 * @param {Facts} facts
 * @param {number} count
 * @returns {Colouring}
 */
function bySlack({ step }, count) {
  const slack = /** @type {StepFacts} */ (step).slackUs;
  const finite = Array.from({ length: count }, (_, node) => (Number.isFinite(slack[node]) ? slack[node] : 0));
  const edges = bounds(finite.reduce((most, value) => Math.max(most, value), 0), "us");
  const lookOf = Uint8Array.from(finite, (value) => stepOf(value, edges));
  const legend = REVERSED.map((_, look) => ({ look, words: stepWords(look, edges, "us") }));
  return { looks: REVERSED, lookOf, legend: legend.filter(({ look }) => lookOf.includes(look)) };
}

/** Share of the step below which a move counts as without effect. */
export const LEAST_GAIN = 0.001;
/** Shares of the step from which the colour of a gain is one step darker: what saves little looks little. */
const GAIN_EDGES = Object.freeze([0.01, 0.02, 0.05, 0.1]);

/** @type {readonly NodeLook[]} */
const GAINS = Object.freeze([...RAMP, NOTHING, /** @type {NodeLook} */ ({ colour: "--node-unplaced", shape: "rectangle" })]);

/**
 * @param {Facts} facts
 * @param {number} count
 * @returns {Colouring}
 */
function byGain({ gainShare }, count) {
  const gains = /** @type {ArrayLike<number | null>} */ (gainShare);
  const all = Array.from({ length: count }, (_, node) => gains[node]);
  const lookOf = Uint8Array.from(all, (gain) => (gain === null ? STEPS + 1 : gain >= LEAST_GAIN ? stepOf(gain, GAIN_EDGES) : STEPS));
  const legend = [
    { look: STEPS + 1, words: "may not move" },
    { look: STEPS, words: "no move helps by 0.1 % of the step" },
    ...RAMP.map((_, look) => ({ look, words: `${stepWords(look, GAIN_EDGES, "share")} of the step` })),
  ];
  return { looks: GAINS, lookOf, legend: legend.filter(({ look }) => lookOf.includes(look)) };
}

/** @type {readonly NodeLook[]} */
const SOURCES = Object.freeze([...KINDS, NOTHING]);

/**
 * @param {Facts} facts
 * @param {number} count
 * @returns {Colouring}
 */
function bySource({ costs }, count) {
  const { sources, sourceOf } = /** @type {CostFacts} */ (costs);
  const lookOf = Uint8Array.from({ length: count }, (_, node) => (sourceOf[node] < 0 ? KINDS.length : sourceOf[node] % KINDS.length));
  const legend = sources.map((name, look) => ({ look, words: SOURCE_WORDS.get(name) ?? name }));
  return { looks: SOURCES, lookOf, legend: legend.filter(({ look }) => lookOf.includes(look)) };
}

/** @type {readonly NodeLook[]} */
const CPU = Object.freeze(/** @type {NodeLook[]} */ ([NOTHING, { colour: "#d55e00", shape: "rectangle" }]));

/**
 * @param {Facts} facts
 * @param {number} count
 * @returns {Colouring}
 */
function byCpu({ costs }, count) {
  const lookOf = Uint8Array.from({ length: count }, (_, node) => /** @type {CostFacts} */ (costs).needsCpu[node]);
  const legend = [
    { look: 0, words: "all ops can run on a GPU" },
    { look: 1, words: "some ops run on a CPU only" },
  ];
  return { looks: CPU, lookOf, legend };
}
