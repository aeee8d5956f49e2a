/** The sizes of drawn groups and edges, in the units of the server's layout. */

/** @typedef {import("../ui/contracts.js").GroupGraph} GroupGraph */

/**
 * @typedef {object} DrawnEdge
 * @property {number} source
 * @property {number} target
 * @property {number} strength from 0 to 3, with the logarithm of its bytes
 * @property {number} bendX the point that its curve is drawn towards
 * @property {number} bendY
 *
 * @typedef {object} Drawing
 * @property {Float64Array} x [nodes]
 * @property {Float64Array} y [nodes]
 * @property {Uint8Array} levels [nodes] an index of `sizes`
 * @property {number[]} sizes the few diameters that there are: equal nodes share a picture
 * @property {Float64Array} radii [nodes]
 * @property {DrawnEdge[]} edges
 * @property {number} room between neighbours
 */

/** Diameters, in distances between neighbours. */
const LEAST_SHARE = 0.45;
const GREATEST_SHARE = 1.1;
export const SIZE_LEVELS = 5;
const STRENGTHS = 4;
const DEFAULT_SPACING = 60;
/** of edges over many layers, in distances between neighbours */
const MOST_BEND = 5;
const STRETCH_LIMITS = [0.5, 4];

/**
 * The area of a group grows with its time (on the kind where the groups take longest), the strength of an edge with the
 * logarithm of its bytes, so that control edges and scalars are faint. Edges over several layers are bent, so that the
 * groups between do not hide them. The whole layout is stretched sideways to fill its place.
 *
 * @param {GroupGraph} graph
 * @param {number} aspect width by height of its place
 * @returns {Drawing}
 */
export function geometry(graph, aspect) {
  const { across, down } = spacing(graph);
  const stretch = stretchOf(graph, aspect);
  const room = Math.min(across * stretch, down);
  const x = Float64Array.from(graph.groups, (group) => group.x * stretch);
  const y = Float64Array.from(graph.groups, (group) => group.y);
  const times = graph.groups.map((group) => Object.values(group.time_us).filter(Number.isFinite).reduce(greater, 0));
  const longest = times.reduce(greater, Number.MIN_VALUE);
  const levels = Uint8Array.from(times, (time) => Math.round((SIZE_LEVELS - 1) * Math.sqrt(time / longest)));
  const sizes = Array.from({ length: SIZE_LEVELS }, (_, level) =>
    room * (LEAST_SHARE + ((GREATEST_SHARE - LEAST_SHARE) * level) / (SIZE_LEVELS - 1)));
  const most = Math.log1p(graph.edges.reduce((bytes, edge) => greater(bytes, edge.bytes), 1));
  const edges = graph.edges.map(({ source, target, bytes }, index) => {
    const share = Math.log1p(Math.max(0, bytes)) / most;
    const strength = Math.min(STRENGTHS - 1, Math.floor(STRENGTHS * share ** 2));
    const layers = Math.abs(y[target] - y[source]) / down;
    const bend = layers > 1.5 ? room * Math.min(0.4 + layers * 0.25, MOST_BEND) * (index % 2 ? 1 : -1) : 0;
    const [alongX, alongY] = [x[target] - x[source], y[target] - y[source]];
    const length = Math.hypot(alongX, alongY) || 1;
    return {
      source,
      target,
      strength,
      bendX: (x[source] + x[target]) / 2 - (alongY / length) * bend,
      bendY: (y[source] + y[target]) / 2 + (alongX / length) * bend,
    };
  });
  return { x, y, levels, sizes, radii: Float64Array.from(levels, (level) => sizes[level] / 2), edges, room };
}

/**
 * The least distances between neighbours: in a layer, and from layer to layer.
 *
 * @param {GroupGraph} graph
 * @returns {{ across: number, down: number }}
 */
export function spacing(graph) {
  const layers = layersOf(graph);
  const across = [...layers.values()].map(leastGap).reduce(lesser, Infinity);
  const down = leastGap([...layers.keys()]);
  const either = Math.min(across, down);
  const fallback = Number.isFinite(either) ? either : DEFAULT_SPACING;
  return { across: Number.isFinite(across) ? across : fallback, down: Number.isFinite(down) ? down : fallback };
}

/**
 * @param {GroupGraph} graph
 * @param {number} aspect
 * @returns {number}
 */
function stretchOf(graph, aspect) {
  const width = extent(graph.groups.map(({ x }) => x));
  const height = extent(graph.groups.map(({ y }) => y));
  if (!(width > 0 && height > 0 && aspect > 0)) {
    return 1;
  }
  return Math.max(STRETCH_LIMITS[0], Math.min(STRETCH_LIMITS[1], (aspect * height) / width));
}

/**
 * @param {GroupGraph} graph
 * @returns {Map<number, number[]>} the x of the groups at each y
 */
function layersOf(graph) {
  /** @type {Map<number, number[]>} */
  const layers = new Map();
  for (const { x, y } of graph.groups) {
    const layer = layers.get(y);
    if (layer) {
      layer.push(x);
    } else {
      layers.set(y, [x]);
    }
  }
  return layers;
}

/**
 * @param {number[]} values
 * @returns {number} Infinity if all are equal
 */
function leastGap(values) {
  const ordered = [...values].sort((one, other) => one - other);
  const gaps = ordered.slice(1).map((value, index) => value - ordered[index]);
  return gaps.filter((gap) => gap > 1e-6).reduce(lesser, Infinity);
}

/** @param {number[]} values */
function extent(values) {
  return values.reduce(greater, -Infinity) - values.reduce(lesser, Infinity);
}

/**
 * @param {number} one
 * @param {number} other
 */
function greater(one, other) {
  return Math.max(one, other);
}

/**
 * @param {number} one
 * @param {number} other
 */
function lesser(one, other) {
  return Math.min(one, other);
}
