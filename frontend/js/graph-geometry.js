/** How large groups and edges are drawn, in the units of the server's layout. */

/** @typedef {import("./contracts.js").GraphOfGroups} GraphOfGroups */

const LEAST_SHARE = 0.3;
const GREATEST_SHARE = 0.72;
const DEFAULT_SPACING = 60;

/**
 * The area of a group grows with its time (on the kind where the groups take longest), the width of an edge with the
 * logarithm of its bytes.
 *
 * @param {GraphOfGroups} graph
 * @returns {{ sizes: number[], widths: number[], font: number }}
 */
export function geometry(graph) {
  const room = spacing(graph);
  const times = graph.groups.map((group) => Math.max(0, ...Object.values(group.time_us).filter(Number.isFinite)));
  const longest = Math.max(...times, Number.MIN_VALUE);
  const sizes = times.map((time) => room * (LEAST_SHARE + (GREATEST_SHARE - LEAST_SHARE) * Math.sqrt(time / longest)));
  const most = Math.log1p(graph.edges.reduce((bytes, edge) => Math.max(bytes, edge.bytes), 1));
  const widths = graph.edges.map((edge) => room * (0.012 + 0.05 * (Math.log1p(Math.max(0, edge.bytes)) / most) ** 2));
  return { sizes, widths, font: room * 0.2 };
}

/**
 * The least distance between neighbours: between layers, or between two groups of one layer.
 *
 * @param {GraphOfGroups} graph
 * @returns {number}
 */
export function spacing(graph) {
  const layers = layersOf(graph);
  const ys = [...layers.keys()].sort((one, other) => one - other);
  const gaps = ys.slice(1).map((y, index) => y - ys[index]);
  for (const xs of layers.values()) {
    xs.sort((one, other) => one - other);
    gaps.push(...xs.slice(1).map((x, index) => x - xs[index]));
  }
  const positive = gaps.filter((gap) => gap > 1e-6);
  return positive.length > 0 ? Math.min(...positive) : DEFAULT_SPACING;
}

/**
 * @param {GraphOfGroups} graph
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
