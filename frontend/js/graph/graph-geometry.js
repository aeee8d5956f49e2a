/** The sizes of drawn groups and edges, in the units of the server's layout. */

/** @typedef {import("../ui/contracts.js").GroupGraph} GroupGraph */

/**
 * @typedef {object} DrawnEdge
 * @property {number} source
 * @property {number} target
 * @property {number} strength from 0 to 3, with the logarithm of its bytes
 * @property {boolean} isFar whether it passes over a whole strip
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
 * @property {{ left: number, right: number, leadsUp: boolean }[]} strips parts of the layers, in the order of the data
 * @property {number} height
 */

/** Diameters, in distances between neighbours. */
const LEAST_SHARE = 0.45;
const GREATEST_SHARE = 0.9;
export const SIZE_LEVELS = 5;
const STRENGTHS = 4;
/** of edges over many layers, in distances between neighbours */
const MOST_BEND = 2.5;
const STRETCH_LIMITS = [0.6, 3];

/**
 * The area of a group grows with its time (on the kind where the groups take longest), the strength of an edge with the
 * logarithm of its bytes, so that control edges and scalars are faint. Edges over several layers of a strip are bent, so
 * that the groups between do not hide them. The whole layout is stretched sideways to fill its place.
 *
 * @param {GroupGraph} graph
 * @param {number} aspect width by height of its place
 * @returns {Drawing}
 */
export function geometry(graph, aspect) {
  const stretch = stretchOf(graph, aspect);
  const room = Math.min(graph.across * stretch, graph.down);
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
    const layers = Math.abs(y[target] - y[source]) / graph.down;
    const strips = Math.abs(stripOf(graph, target) - stripOf(graph, source));
    const bends = layers > 2 && strips === 0;
    const bend = bends ? room * Math.min(0.3 + layers * 0.15, MOST_BEND) * (index % 2 ? 1 : -1) : 0;
    const [alongX, alongY] = [x[target] - x[source], y[target] - y[source]];
    const length = Math.hypot(alongX, alongY) || 1;
    return {
      source,
      target,
      strength,
      isFar: strips > 1,
      bendX: (x[source] + x[target]) / 2 - (alongY / length) * bend,
      bendY: (y[source] + y[target]) / 2 + (alongX / length) * bend,
    };
  });
  const strips = graph.strips.map(({ left, right, leads_up: leadsUp }) => ({ left: left * stretch, right: right * stretch, leadsUp }));
  const radii = Float64Array.from(levels, (level) => sizes[level] / 2);
  return { x, y, levels, sizes, radii, edges, room, strips, height: graph.height };
}

/**
 * The whole drawing in the middle of its place. The drawing knows its bounds; Cytoscape would style all nodes to find them.
 *
 * @param {Drawing} drawing with at least one node
 * @param {{ width: number, height: number }} size pixels
 * @param {number} padding pixels
 * @param {readonly [number, number]} limits of the zoom, which go before the whole
 * @returns {{ zoom: number, pan: { x: number, y: number } }}
 */
export function wholeView(drawing, { width, height }, padding, [least, most]) {
  const { left, right, top, bottom } = boundsOf(drawing);
  const fitting = Math.min((width - 2 * padding) / (right - left), (height - 2 * padding) / (bottom - top));
  const zoom = Math.max(least, Math.min(most, fitting));
  return { zoom, pan: { x: width / 2 - (zoom * (left + right)) / 2, y: height / 2 - (zoom * (top + bottom)) / 2 } };
}

/**
 * The top of the drawing.
 *
 * @param {Drawing} drawing with at least one node
 * @param {{ width: number }} size pixels
 * @param {number} padding pixels above it
 * @param {number} zoom
 * @returns {{ zoom: number, pan: { x: number, y: number } }}
 */
export function topView(drawing, { width }, padding, zoom) {
  const { left, right, top } = boundsOf(drawing);
  return { zoom, pan: { x: width / 2 - (zoom * (left + right)) / 2, y: padding - zoom * top } };
}

/** @param {Drawing} drawing */
function boundsOf({ x, y, radii }) {
  const [places, heights] = [Array.from(x), Array.from(y)];
  return {
    left: places.map((place, node) => place - radii[node]).reduce(lesser),
    right: places.map((place, node) => place + radii[node]).reduce(greater),
    top: heights.map((height, node) => height - radii[node]).reduce(lesser),
    bottom: heights.map((height, node) => height + radii[node]).reduce(greater),
  };
}

/**
 * @param {GroupGraph} graph
 * @param {number} group
 */
function stripOf({ groups, strips }, group) {
  return strips.findIndex(({ left, right }) => groups[group].x >= left && groups[group].x <= right);
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
