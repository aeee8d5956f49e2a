/**
 * The look of a device everywhere: a colour from Okabe and Ito's set, which colour-blind people can distinguish, a
 * shape and a short name; never the colour alone. CPUs are grey and square.
 */

/** @typedef {import("../ui/contracts.js").Device} Device */

/**
 * @typedef {object} DeviceLook
 * @property {number} index
 * @property {string} colour
 * @property {Shape} shape
 * @property {Pattern} pattern of a line that stands for it, beside its colour
 * @property {string} label short, such as `GPU 0`
 * @property {string} name the whole device string
 * @property {string} kind
 */

/** @typedef {"ellipse" | "round-rectangle" | "diamond" | "hexagon" | "triangle" | "star" | "rectangle" | "pentagon" | "octagon"} Shape */

/** @typedef {"solid" | "dashed" | "double" | "dotted"} Pattern */

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a400", "#7b5ea7"];
const CPU_COLOURS = ["#7d8590", "#a3a9b1", "#5c6470"];

/** @type {Shape[]} */
const SHAPES = ["ellipse", "diamond", "hexagon", "triangle", "round-rectangle", "pentagon", "star"];

/** @type {Pattern[]} */
const PATTERNS = ["solid", "dashed", "double", "dotted"];

/**
 * @param {readonly Device[]} devices
 * @returns {DeviceLook[]}
 */
export function deviceLooks(devices) {
  const seen = { cpu: 0, other: 0 };
  const labels = shortLabels(devices);
  const hasOthers = devices.some((device) => device.class !== "CPU");
  return devices.map((device, index) => {
    const cpu = device.class === "CPU" && hasOthers;
    const place = cpu ? seen.cpu++ : seen.other++;
    return {
      index,
      colour: cpu ? CPU_COLOURS[place % CPU_COLOURS.length] : COLOURS[place % COLOURS.length],
      shape: cpu ? "rectangle" : SHAPES[place % SHAPES.length],
      pattern: PATTERNS[index % PATTERNS.length],
      label: labels[index],
      name: device.name,
      kind: device.kind,
    };
  });
}

/**
 * `GPU 0` for `/device:GPU:0`; the whole names if short ones would be equal.
 *
 * @param {readonly Device[]} devices
 * @returns {string[]}
 */
function shortLabels(devices) {
  const short = devices.map(({ name }) => {
    const parts = /device:([A-Za-z_]+):(\d+)$/.exec(name);
    return parts ? `${parts[1]} ${parts[2]}` : name;
  });
  return new Set(short).size === short.length ? short : devices.map(({ name }) => name);
}

/**
 * The points of a shape in a box of 2 × 2 around 0, for SVG; null for an ellipse.
 *
 * @param {Shape} shape
 * @returns {string | null}
 */
export function shapePoints(shape) {
  switch (shape) {
    case "ellipse":
      return null;
    case "diamond":
      return "0,-1 1,0 0,1 -1,0";
    case "triangle":
      return "0,-1 1,1 -1,1";
    case "hexagon":
      return "-1,0 -0.5,-1 0.5,-1 1,0 0.5,1 -0.5,1";
    case "pentagon":
      return "0,-1 1,-0.2 0.6,1 -0.6,1 -1,-0.2";
    case "octagon":
      return "-0.4,-1 0.4,-1 1,-0.4 1,0.4 0.4,1 -0.4,1 -1,0.4 -1,-0.4";
    case "star":
      return "0,-1 0.3,-0.35 1,-0.3 0.45,0.15 0.62,0.9 0,0.5 -0.62,0.9 -0.45,0.15 -1,-0.3 -0.3,-0.35";
    default:
      return "-1,-0.9 1,-0.9 1,0.9 -1,0.9";
  }
}

/**
 * @param {Shape} shape
 * @returns {(readonly [number, number])[] | null} its corners in a box of 2 × 2 around 0; null for an ellipse
 */
export function shapeCorners(shape) {
  const corners = shapePoints(shape)?.split(" ").map((corner) => corner.split(",").map(Number));
  return corners?.map(([x, y]) => /** @type {const} */ ([x, y])) ?? null;
}
