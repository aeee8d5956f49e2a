/** The sizes of drawn groups and edges, in the units of the server's layout. */

/** @typedef {import("../ui/contracts.js").GroupGraph} GroupGraph */

/**
 * @typedef {object} EdgeLook
 * @property {number} width
 * @property {number} opacity
 * @property {number} bend distance of its middle from the straight line
 */

/** Diameters, in distances between neighbours. */
const LEAST_SHARE = 0.5;
const GREATEST_SHARE = 1.2;
const DEFAULT_SPACING = 60;
/** of edges over many layers, in distances between neighbours */
const MOST_BEND = 5;
const STRETCH_LIMITS = [0.5, 4];

/**
 * The area of a group grows with its time (on the kind where the groups take longest), width and opacity of an edge
 * with the logarithm of its bytes, so that control edges and scalars are faint. Edges over several layers are bent, so
 * that the groups between do not hide them. The whole layout is stretched sideways to fill its place.
 *
 * @param {GroupGraph} graph
 * @param {number} aspect width by height of its place
 * @returns {{ stretch: number, room: number, sizes: number[], edges: EdgeLook[] }} `room` between neighbours
 */
export function geometry(graph, aspect) {
  const { across, down } = spacing(graph);
  const stretch = stretchOf(graph, aspect);
  const room = Math.min(across * stretch, down);
  const times = graph.groups.map((group) => Object.values(group.time_us).filter(Number.isFinite).reduce(greater, 0));
  const longest = times.reduce(greater, Number.MIN_VALUE);
  const sizes = times.map((time) => room * (LEAST_SHARE + (GREATEST_SHARE - LEAST_SHARE) * Math.sqrt(time / longest)));
  const most = Math.log1p(graph.edges.reduce((bytes, edge) => greater(bytes, edge.bytes), 1));
  const edges = graph.edges.map(({ source, target, bytes }, index) => {
    const strength = (Math.log1p(Math.max(0, bytes)) / most) ** 2;
    const layers = Math.abs(graph.groups[target].y - graph.groups[source].y) / down;
    const bend = layers > 1.5 ? room * Math.min(0.4 + layers * 0.25, MOST_BEND) * (index % 2 ? 1 : -1) : 0;
    return { width: room * (0.02 + 0.06 * strength), opacity: 0.2 + 0.8 * strength, bend };
  });
  return { stretch, room, sizes, edges };
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
