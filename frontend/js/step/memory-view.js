/** The memory of each device over a step, on the timeline's axis of time. */

import { listedDevices } from "../graph/devices-in-use.js";
import { Canvas } from "../drawing/canvas.js";
import { colour, onThemeChange } from "../ui/colours.js";
import { formatBytes } from "../ui/format.js";
import { devicesInUse } from "./device-parts.js";
import { firstAbove } from "./lanes.js";
import { memoryScale } from "./memory-scale.js";
import { gutterOf } from "./time-axis.js";

/** @typedef {import("./step.js").Step} Step */

const ROW = 32;
const GAP = 6;
const REST_HEIGHT = 20;
/** Room above the limit, so that its line shows. */
const HEADROOM = 1.08;

export class MemoryView {
  #host;
  #axis;
  #looks;
  #canvas;
  /** Pixels left of the curves, as they were drawn. */
  #gutter = 0;
  /** @type {Step | null} */
  #step = null;
  /** The devices with a row, and a line about the others. */
  #rows;

  /**
   * @param {HTMLElement} host
   * @param {import("./time-axis.js").TimeAxis} axis
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
   */
  constructor(host, axis, looks) {
    this.#host = host;
    this.#axis = axis;
    this.#looks = looks;
    this.#canvas = new Canvas(host, (context) => this.drawOn(context));
    this.#rows = listedDevices(looks.length, null);
    this.#fit();
    onThemeChange(() => this.#canvas.redrawSoon());
    axis.onChange(() => this.#canvas.redrawSoon());
  }

  /** @param {Step} step */
  show(step) {
    this.#step = step;
    this.#rows = listedDevices(this.#looks.length, devicesInUse(step));
    this.#fit();
    this.#canvas.redrawSoon();
  }

  #fit() {
    const { listed, words } = this.#rows;
    this.#host.style.height = `${listed.length * (ROW + GAP) + (words ? REST_HEIGHT : 0)}px`;
  }

  /** @param {import("../ui/svg-elements.js").Surface} surface with the size of the host */
  drawOn(surface) {
    const [context, step] = [/** @type {CanvasRenderingContext2D} */ (surface), this.#step];
    this.#gutter = gutterOf(this.#host.clientWidth);
    const width = this.#host.clientWidth - this.#gutter;
    context.font = `12px ${getComputedStyle(this.#host).fontFamily}`;
    context.textBaseline = "middle";
    if (step) {
      const scale = memoryScale(step.texts.peaks.map(({ bytes }) => bytes), step.texts.memory_bytes);
      const { listed, words } = this.#rows;
      listed.forEach((device, row) => this.#drawDevice(context, step, scale, this.#looks[device], row * (ROW + GAP), width));
      context.textAlign = "left";
      context.fillStyle = colour("--muted");
      context.fillText(words, 0, listed.length * (ROW + GAP) + REST_HEIGHT / 2);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Step} step
   * @param {ReturnType<typeof memoryScale>} scale
   * @param {import("../graph/devices.js").DeviceLook} look
   * @param {number} top
   * @param {number} width
   */
  #drawDevice(context, step, scale, look, top, width) {
    const peak = step.texts.peaks[look.index].bytes;
    const limit = step.texts.memory_bytes[look.index];
    const most = scale.most * HEADROOM;
    const bottom = top + ROW;
    const heightOf = (/** @type {number} */ bytes) => bottom - (bytes / most) * ROW;
    context.textAlign = "left";
    context.fillStyle = colour("--text");
    context.fillText(look.label, 0, top + 8, this.#gutter - 8);
    context.fillStyle = colour("--muted");
    context.fillText(formatBytes(peak), 0, top + 23, this.#gutter - 8);
    context.save();
    context.beginPath();
    context.rect(this.#gutter, top, width, ROW);
    context.clip();
    this.#fillCurve(context, step.memory(look.index), look.colour, bottom, width, heightOf);
    context.restore();
    context.fillStyle = colour("--border-strong");
    context.fillRect(this.#gutter, bottom, width, 1);
    const limitTop = scale.shown[look.index] ? Math.round(heightOf(limit)) : top;
    if (scale.shown[look.index]) {
      context.fillStyle = colour("--danger");
      context.fillRect(this.#gutter, limitTop, width, 2);
    }
    context.textAlign = "right";
    context.fillStyle = colour("--text");
    const beyond = scale.shown[look.index] ? "" : ", above this scale";
    context.fillText(`limit ${formatBytes(limit)}${beyond}`, this.#gutter + width - 4, Math.min(limitTop + 11, bottom - 8), width - 8);
  }

  /**
   * The curve as the most bytes in each pixel, so that no peak is lost and the work is bounded by the width.
   *
   * @param {CanvasRenderingContext2D} context
   * @param {{ timeUs: Float64Array, bytes: Float64Array }} curve
   * @param {string} fill
   * @param {number} bottom
   * @param {number} width
   * @param {(bytes: number) => number} heightOf
   */
  #fillCurve(context, { timeUs, bytes }, fill, bottom, width, heightOf) {
    const [low, high] = this.#axis.domain;
    context.fillStyle = fill;
    context.globalAlpha = 0.75;
    context.beginPath();
    context.moveTo(this.#gutter, bottom);
    let at = Math.max(0, firstAbove(timeUs, low) - 1);
    for (let pixel = 0; pixel < width; pixel += 1) {
      const until = low + ((pixel + 1) / width) * (high - low);
      let most = bytes[at];
      while (at + 1 < timeUs.length && timeUs[at + 1] < until) {
        at += 1;
        most = Math.max(most, bytes[at]);
      }
      context.lineTo(this.#gutter + pixel, heightOf(most));
      context.lineTo(this.#gutter + pixel + 1, heightOf(most));
    }
    context.lineTo(this.#gutter + width, bottom);
    context.fill();
    context.globalAlpha = 1;
  }
}
