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

/** @typedef {{ title: string, source: string }} Titles `source`: where the times come from */

const PNG_SCALE = 2;
const PADDING = 12;
/** Of a line above the picture. */
const LINE_HEIGHT = 16;
const [LARGEST_FONT, SMALLEST_FONT] = [12, 7];
/** Pixels of a side: browsers draw no larger canvas. */
const MOST_PIXELS = 16_000;

/**
 * @param {Picture} picture
 * @param {string} stem of the file's name
 * @param {Titles} titles
 */
export function saveSvg(picture, stem, titles) {
  const { width, height } = sizeOf(picture);
  const context = new SvgContext();
  drawWithTitles(context, picture, titles);
  const text = context.toSvg(width, height, { title: Object.values(titles).join(". "), background: colour("--surface") });
  save(new Blob([text], { type: "image/svg+xml" }), `${stem}-${picture.name}.svg`);
}

/**
 * @param {Picture} picture
 * @param {string} stem of the file's name
 * @param {Titles} titles
 * @returns {Promise<void>} throws Error where the browser cannot make it
 */
export async function savePng(picture, stem, titles) {
  const { width, height } = sizeOf(picture);
  const scale = Math.min(PNG_SCALE, MOST_PIXELS / Math.max(width, height));
  const canvas = element("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = canvas.getContext("2d");
  if (!context) {
    throw new Error("This browser cannot draw the picture.");
  }
  context.scale(scale, scale);
  context.fillStyle = colour("--surface");
  context.fillRect(0, 0, width, height);
  drawWithTitles(context, picture, titles);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!(blob instanceof Blob)) {
    throw new Error("This browser cannot draw the picture.");
  }
  save(blob, `${stem}-${picture.name}.png`);
}

/**
 * @param {Picture} picture
 * @returns {{ width: number, height: number }} of its file
 */
function sizeOf(picture) {
  const { width, height } = picture.size();
  return { width: width + 2 * PADDING, height: height + 2 * PADDING + 2 * LINE_HEIGHT };
}

/**
 * @param {Surface} context
 * @param {Picture} picture
 * @param {Titles} titles
 */
function drawWithTitles(context, picture, titles) {
  context.translate(PADDING, PADDING);
  drawTitles(context, titles, picture.size().width, colour("--text"));
  context.translate(0, 2 * LINE_HEIGHT);
  picture.draw(context);
}

/**
 * Two lines at the top, in letters that fit.
 *
 * @param {Pick<Surface, "font" | "fillStyle" | "textAlign" | "textBaseline" | "measureText" | "fillText">} context
 * @param {Titles} titles
 * @param {number} width
 * @param {string} fill colour of the letters
 */
export function drawTitles(context, { title, source }, width, fill) {
  [context.fillStyle, context.textAlign, context.textBaseline] = [fill, "start", "middle"];
  [title, source].forEach((line, index) => {
    context.font = `${LARGEST_FONT}px sans-serif`;
    const size = Math.min(LARGEST_FONT, (LARGEST_FONT * width) / Math.max(1, context.measureText(line).width));
    context.font = `${Math.max(SMALLEST_FONT, Math.floor(size))}px sans-serif`;
    context.fillText(line, 0, (index + 0.5) * LINE_HEIGHT);
  });
}

/**
 * Buttons that save each picture, in `list`.
 *
 * @param {Element} list
 * @param {readonly Picture[]} pictures
 * @param {string} stem of the files' names
 * @param {Titles} titles
 */
export function offerPictures(list, pictures, stem, titles) {
  const rows = pictures.map((picture) => {
    const svg = element("button", { type: "button", class: "link-button", "aria-label": `${picture.label} (.svg)` }, ".svg");
    const png = element("button", { type: "button", class: "link-button", "aria-label": `${picture.label} (.png)` }, ".png");
    svg.addEventListener("click", () => saveSvg(picture, stem, titles));
    png.addEventListener("click", () => savePng(picture, stem, titles));
    return element("li", { class: "picture-row", "data-picture": picture.name }, element("span", {}, picture.label), svg, png);
  });
  list.replaceChildren(...rows);
  list.closest("details")?.addEventListener("toggle", () => {
    rows.forEach((row, index) => {
      row.hidden = pictures[index].size().width === 0;
    });
  });
}
