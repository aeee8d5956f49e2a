/** Saves drawings of the page as SVG and PNG. */

import { colour } from "./colours.js";
import { save } from "./downloads.js";
import { element } from "./dom.js";
import { SvgContext } from "./svg-context.js";

/** @typedef {import("./svg-elements.js").Surface} Surface */

/**
 * @typedef {object} Picture
 * @property {string} name of its file, without a suffix
 * @property {string} label
 * @property {() => { width: number, height: number }} size in pixels; 0 while it is not shown
 * @property {(surface: Surface) => void} draw as it is shown now
 */

const PNG_SCALE = 2;
const PADDING = 12;
/** Pixels of a side: browsers draw no larger canvas. */
const MOST_PIXELS = 16_000;

/**
 * @param {Picture} picture
 * @param {string} stem of the file's name
 * @param {string} title
 */
export function saveSvg(picture, stem, title) {
  const { width, height } = picture.size();
  const context = new SvgContext();
  context.translate(PADDING, PADDING);
  picture.draw(context);
  const text = context.toSvg(width + 2 * PADDING, height + 2 * PADDING, { title, background: colour("--surface") });
  save(new Blob([text], { type: "image/svg+xml" }), `${stem}-${picture.name}.svg`);
}

/**
 * @param {Picture} picture
 * @param {string} stem of the file's name
 * @returns {Promise<void>} throws Error where the browser cannot make it
 */
export async function savePng(picture, stem) {
  const size = picture.size();
  const [width, height] = [size.width + 2 * PADDING, size.height + 2 * PADDING];
  const scale = Math.min(PNG_SCALE, MOST_PIXELS / Math.max(width, height));
  const canvas = element("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = canvas.getContext("2d");
  if (!context) {
    throw new Error("This browser cannot draw the picture.");
  }
  context.scale(scale, scale);
  context.fillStyle = colour("--surface");
  context.fillRect(0, 0, width, height);
  context.translate(PADDING, PADDING);
  picture.draw(context);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!(blob instanceof Blob)) {
    throw new Error("This browser cannot draw the picture.");
  }
  save(blob, `${stem}-${picture.name}.png`);
}

/**
 * Buttons that save each picture, in `list`.
 *
 * @param {Element} list
 * @param {readonly Picture[]} pictures
 * @param {string} stem of the files' names
 * @param {string} title
 */
export function offerPictures(list, pictures, stem, title) {
  const rows = pictures.map((picture) => {
    const svg = element("button", { type: "button", class: "link-button", "aria-label": `${picture.label} (.svg)` }, ".svg");
    const png = element("button", { type: "button", class: "link-button", "aria-label": `${picture.label} (.png)` }, ".png");
    svg.addEventListener("click", () => saveSvg(picture, stem, title));
    png.addEventListener("click", () => savePng(picture, stem));
    return element("li", { class: "picture-row", "data-picture": picture.name }, element("span", {}, picture.label), svg, png);
  });
  list.replaceChildren(...rows);
  list.closest("details")?.addEventListener("toggle", () => {
    rows.forEach((row, index) => {
      row.hidden = pictures[index].size().width === 0;
    });
  });
}
