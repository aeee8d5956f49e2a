/**
 * The part of a canvas's drawing context that our pictures use, written as SVG. A drawing that takes a context can so be
 * saved as an image of pixels or of shapes. Text is escaped: names in a graph are untrusted.
 */

import { rounded } from "./round.js";

/** Of a character's height, where no canvas measures: on average. */
const CHARACTER_WIDTH = 0.56;
/** Control characters, half characters and two that XML does not have. */
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
/** Pixels from the middle of the letters to their line, in font sizes. */
const MIDDLE = 0.35;

/** A path, as `Path2D` is for a canvas. */
export class SvgPath {
  #parts = /** @type {string[]} */ ([]);

  /** @returns {string} */
  get data() {
    return this.#parts.join("");
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  moveTo(x, y) {
    this.#parts.push(`M${points(x, y)}`);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  lineTo(x, y) {
    this.#parts.push(`${this.#parts.length ? "L" : "M"}${points(x, y)}`);
  }

  /** @param {[number, number, number, number]} coordinates */
  quadraticCurveTo(...coordinates) {
    this.#parts.push(`Q${points(...coordinates)}`);
  }

  /** @param {[number, number, number, number, number, number]} coordinates */
  bezierCurveTo(...coordinates) {
    this.#parts.push(`C${points(...coordinates)}`);
  }

  /**
   * A whole circle, or an arc of one.
   *
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   * @param {number} from
   * @param {number} to
   */
  arc(x, y, radius, from, to) {
    const at = (/** @type {number} */ angle) => points(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
    const middle = (from + to) / 2;
    const size = `A${points(radius, radius)} 0 0 1 `;
    this.#parts.push(`M${at(from)}${size}${at(middle)}${size}${at(to)}`);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  rect(x, y, width, height) {
    this.#parts.push(`M${points(x, y)}h${rounded(width)}v${rounded(height)}h${rounded(-width)}Z`);
  }

  closePath() {
    this.#parts.push("Z");
  }
}

export class SvgContext {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  lineJoin = "miter";
  lineCap = "butt";
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = "start";
  textBaseline = "alphabetic";
  #path = new SvgPath();
  #dash = /** @type {number[]} */ ([]);
  #transform = [1, 1, 0, 0];
  #groups = 0;
  #clips = 0;
  /** @type {{ fields: Record<string, unknown>, transform: number[], dash: number[], groups: number }[]} */
  #saved = [];
  /** @type {string[]} */
  #parts = [];

  /**
   * The whole picture.
   *
   * @param {number} width
   * @param {number} height
   * @param {{ title: string, background: string }} about
   * @returns {string}
   */
  toSvg(width, height, { title, background }) {
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    const open = "</g>".repeat(this.#groups);
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" ${size}><title>${escaped(title)}</title>`,
      `<rect width="${width}" height="${height}" fill="${escaped(background)}"/>`,
      ...this.#parts,
      `${open}</svg>\n`,
    ].join("\n");
  }

  /** @returns {SvgPath} what takes the place of a `Path2D` */
  newPath() {
    return new SvgPath();
  }

  save() {
    const { fillStyle, strokeStyle, lineWidth, lineJoin, lineCap, globalAlpha, font, textAlign, textBaseline } = this;
    const fields = { fillStyle, strokeStyle, lineWidth, lineJoin, lineCap, globalAlpha, font, textAlign, textBaseline };
    this.#saved.push({ fields, transform: [...this.#transform], dash: [...this.#dash], groups: this.#groups });
  }

  restore() {
    const saved = this.#saved.pop();
    if (saved) {
      Object.assign(this, saved.fields);
      this.#transform = saved.transform;
      this.#dash = saved.dash;
      this.#parts.push("</g>".repeat(this.#groups - saved.groups));
      this.#groups = saved.groups;
    }
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  translate(x, y) {
    const [a, d, e, f] = this.#transform;
    this.#transform = [a, d, e + a * x, f + d * y];
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  scale(x, y) {
    const [a, d, e, f] = this.#transform;
    this.#transform = [a * x, d * y, e, f];
  }

  /** @param {number[]} dash */
  setLineDash(dash) {
    this.#dash = dash;
  }

  beginPath() {
    this.#path = new SvgPath();
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  moveTo(x, y) {
    this.#path.moveTo(x, y);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  lineTo(x, y) {
    this.#path.lineTo(x, y);
  }

  /** @param {[number, number, number, number]} coordinates */
  quadraticCurveTo(...coordinates) {
    this.#path.quadraticCurveTo(...coordinates);
  }

  /** @param {[number, number, number, number, number, number]} coordinates */
  bezierCurveTo(...coordinates) {
    this.#path.bezierCurveTo(...coordinates);
  }

  /** @param {[number, number, number, number, number]} circle */
  arc(...circle) {
    this.#path.arc(...circle);
  }

  /** @param {[number, number, number, number]} box */
  rect(...box) {
    this.#path.rect(...box);
  }

  closePath() {
    this.#path.closePath();
  }

  /** What is drawn until the matching `restore` is cut at the path. */
  clip() {
    this.#clips += 1;
    this.#groups += 1;
    const id = `clip-${this.#clips}`;
    this.#parts.push(`<clipPath id="${id}"><path d="${this.#path.data}"${this.#place()}/></clipPath><g clip-path="url(#${id})">`);
  }

  /** @param {SvgPath} [path] */
  fill(path = this.#path) {
    if (path.data) {
      this.#parts.push(`<path d="${path.data}" fill="${escaped(this.fillStyle)}"${this.#alpha()}${this.#place()}/>`);
    }
  }

  /** @param {SvgPath} [path] */
  stroke(path = this.#path) {
    if (path.data) {
      this.#parts.push(`<path d="${path.data}" fill="none"${this.#pen()}${this.#alpha()}${this.#place()}/>`);
    }
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  fillRect(x, y, width, height) {
    const box = `x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(height)}"`;
    this.#parts.push(`<rect ${box} fill="${escaped(this.fillStyle)}"${this.#alpha()}${this.#place()}/>`);
  }

  clearRect() {} // nothing is there yet

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   */
  fillText(text, x, y) {
    this.#text(text, x, y, ` fill="${escaped(this.fillStyle)}"`);
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   */
  strokeText(text, x, y) {
    this.#text(text, x, y, ` fill="none"${this.#pen()}`);
  }

  /** @param {string} text */
  measureText(text) {
    return { width: text.length * this.#font().size * CHARACTER_WIDTH };
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {string} paint
   */
  #text(text, x, y, paint) {
    const { size, family, weight } = this.#font();
    const line = this.textBaseline === "middle" ? y + size * MIDDLE : y;
    const anchor = ANCHORS[/** @type {keyof typeof ANCHORS} */ (this.textAlign)] ?? "start";
    const look = `font-size="${size}" font-family="${escaped(family)}"${weight}${anchor === "start" ? "" : ` text-anchor="${anchor}"`}`;
    this.#parts.push(`<text x="${rounded(x)}" y="${rounded(line)}" ${look}${paint}${this.#alpha()}${this.#place()}>${escaped(text)}</text>`);
  }

  #font() {
    const parts = /^(?:(bold|\d{3}) )?(\d+(?:\.\d+)?)px (.*)$/.exec(this.font);
    const weight = parts?.[1] ? ` font-weight="${parts[1]}"` : "";
    return { size: Number(parts?.[2] ?? 10), family: parts?.[3] ?? "sans-serif", weight };
  }

  #pen() {
    const join = this.lineJoin === "miter" ? "" : ` stroke-linejoin="${escaped(this.lineJoin)}"`;
    const dash = this.#dash.length ? ` stroke-dasharray="${this.#dash.map(Number).join(" ")}"` : "";
    return ` stroke="${escaped(this.strokeStyle)}" stroke-width="${rounded(this.lineWidth, 4)}"${join}${dash}`;
  }

  #alpha() {
    return this.globalAlpha === 1 ? "" : ` opacity="${rounded(this.globalAlpha)}"`;
  }

  #place() {
    const [a, d, e, f] = this.#transform;
    return a === 1 && d === 1 && e === 0 && f === 0 ? "" : ` transform="matrix(${rounded(a, 6)} 0 0 ${rounded(d, 6)} ${points(e, f)})"`;
  }
}

/** @param {number[]} coordinates */
function points(...coordinates) {
  return coordinates.map((value) => rounded(value)).join(" ");
}

/** @param {unknown} text */
function escaped(text) {
  const signs = /** @type {Record<string, string>} */ ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" });
  return String(text)
    .replace(NO_XML, "\ufffd")
    .replace(/[&<>"']/g, (sign) => signs[sign]);
}
