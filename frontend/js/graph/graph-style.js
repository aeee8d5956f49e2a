/** The style of the grouped graph, for Cytoscape. */

import { colour } from "../ui/colours.js";

export const EDGES_WITH_ARROWS = 1500;
const FONT_SHARE = 0.2;

/** The library accepts a data mapper for a shape, its types do not. */
const SHAPE_OF_DATA = /** @type {import("../../vendor/cytoscape.esm.min.mjs").default.Css.NodeShape} */ (
  /** @type {unknown} */ ("data(shape)")
);

/** The same for an opacity. */
const OPACITY_OF_DATA = /** @type {number} */ (/** @type {unknown} */ ("data(opacity)"));

/** @type {import("../../vendor/cytoscape.esm.min.mjs").default.StylesheetStyle} */
const BENT = {
  selector: "edge.bent",
  style: { "curve-style": "unbundled-bezier", "control-point-distances": "data(bend)", "control-point-weights": 0.5 },
};

/**
 * @param {{ edges: number, room: number }} graph its number of edges, and the distance between neighbours
 * @returns {import("../../vendor/cytoscape.esm.min.mjs").default.StylesheetStyle[]}
 */
export function graphStyle({ edges, room }) {
  const text = colour("--text");
  const surface = colour("--surface");
  const accent = colour("--accent");
  const outline = colour("--border-strong");
  const faint = colour("--edge");
  const crossing = colour("--edge-crossing");
  const curve = edges > EDGES_WITH_ARROWS ? "haystack" : "bezier";
  return [
    {
      selector: "node",
      style: {
        width: "data(size)",
        height: "data(size)",
        shape: SHAPE_OF_DATA,
        "background-color": "data(colour)",
        "border-width": room * 0.04,
        "border-color": outline,
        label: "data(label)",
        color: text,
        "font-size": room * FONT_SHARE,
        "font-family": "system-ui, sans-serif",
        "text-valign": "bottom",
        "min-zoomed-font-size": 8,
        "text-outline-color": surface,
        "text-outline-width": room * 0.03,
        "overlay-opacity": 0,
      },
    },
    {
      selector: "edge",
      style: {
        width: "data(width)",
        "line-color": faint,
        "curve-style": curve,
        "target-arrow-shape": curve === "haystack" ? "none" : "triangle",
        "target-arrow-color": faint,
        "arrow-scale": 0.7,
        opacity: OPACITY_OF_DATA,
        "overlay-opacity": 0,
      },
    },
    ...(curve === "haystack" ? [] : [BENT]),
    { selector: "edge.crossing", style: { "line-color": crossing, "target-arrow-color": crossing } },
    {
      selector: "edge.near",
      style: { "line-color": accent, "target-arrow-color": accent, opacity: 1, width: room * 0.09, "z-index": 8 },
    },
    { selector: "node.hover", style: { "border-color": text, "border-width": room * 0.12, "z-index": 9 } },
    {
      selector: "node.chosen",
      style: {
        "border-color": text,
        "border-width": room * 0.18,
        "underlay-color": accent,
        "underlay-opacity": 0.45,
        "underlay-padding": room * 0.55,
        "underlay-shape": "ellipse",
        "z-index": 10,
        "font-weight": "bold",
      },
    },
  ];
}
