/** The picture of a timeline: where each bar of a step is, and how rows, bars, idle times and the axis are drawn. */

import { linearTicks } from "../chart/scale.js";
import { listedDevices } from "../graph/devices-in-use.js";
import { colour } from "../ui/colours.js";
import { cutName, timeUnit } from "../ui/format.js";
import { devicesInUse } from "./device-parts.js";
import { activityAt, firstAbove, idleTimes, lanesOf, visibleBars } from "./lanes.js";
import { NONE } from "./step.js";
import { gutterOf } from "./time-axis.js";

/** @typedef {import("./step.js").Step} Step */
/** @typedef {import("./lanes.js").Lane} Lane */

/**
 * @typedef {object} Target what the pointer is on
 * @property {number} activity or `NONE`
 * @property {number} idle index of an idle time, or -1
 * @property {number} x pixels
 * @property {number} y pixels
 */

const AXIS_HEIGHT = 24;
const ROWS = { ops: 24, transfers: 14 };
const GAP = 3;
const REST_HEIGHT = 20;
const LABEL_PIXELS = 44;
export const REACH_PIXELS = 3;
const IDLE_PIXELS = 3;
const [PLAIN, CRITICAL, CHOSEN] = [0, 1, 2];

export class TimelinePicture {
  #host;
  #axis;
  #looks;
  /** In pixels, as the picture was drawn: to ask for it at each bar would lay the page out each time. */
  #hostWidth = 0;
  /** @type {Step | null} */
  #step = null;
  /** @type {Lane[]} */
  #lanes = [];
  /** @type {ReturnType<typeof idleTimes>[]} */
  #idle = [];
  /** About the devices without a row. */
  #rest = "";
  /** @type {(op: number) => string} */
  #nameOf = String;
  /** @type {(activity: number) => boolean} */
  #isChosen = () => false;
  #chosen = NONE;
  /** @type {Record<string, string>} */
  #colours = {};

  /**
   * @param {HTMLElement} host its width, and its font
   * @param {import("./time-axis.js").TimeAxis} axis
   * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
   */
  constructor(host, axis, looks) {
    this.#host = host;
    this.#axis = axis;
    this.#looks = looks;
    this.recolour();
  }

  /**
   * @param {Step} step
   * @param {(op: number) => string} nameOf op → name of its group
   * @returns {number} pixels that it needs from top to bottom
   */
  show(step, nameOf) {
    const labels = this.#looks.map(({ label }) => label);
    this.#step = step;
    this.#nameOf = nameOf;
    const { listed, words } = listedDevices(labels.length, devicesInUse(step));
    this.#rest = words;
    this.#lanes = lanesOf(step, labels, listed);
    this.#idle = [];
    for (const device of listed) {
      this.#idle[device] = idleTimes(step, device);
    }
    return this.#top(this.#lanes.length) + (words ? REST_HEIGHT : 0);
  }

  /**
   * @param {number} activity the chosen one, or `NONE`
   * @param {(activity: number) => boolean} isChosen whether a bar belongs to what is chosen
   */
  choose(activity, isChosen) {
    this.#chosen = activity;
    this.#isChosen = isChosen;
  }

  /**
   * The pixel of an activity's middle, for tests.
   *
   * @param {number} activity
   * @returns {{ x: number, y: number } | null}
   */
  pixelOf(activity) {
    const lane = this.#lanes.findIndex(({ activities }) => activities.includes(activity));
    const step = this.#step;
    if (lane < 0 || !step) {
      return null;
    }
    this.#hostWidth = this.#host.clientWidth;
    const [start, end] = step.span(activity);
    return { x: this.#pixel((start + end) / 2), y: this.#top(lane) + ROWS[this.#lanes[lane].what] / 2 };
  }

  /** The colours of the page have changed. */
  recolour() {
    for (const name of ["text", "muted", "border", "border-strong", "surface", "accent", "edge-crossing", "sunken"]) {
      this.#colours[name] = colour(`--${name}`);
    }
  }

  /** @param {number} lane */
  #top(lane) {
    return this.#lanes.slice(0, lane).reduce((sum, { what }) => sum + ROWS[what] + GAP, AXIS_HEIGHT + GAP);
  }

  /** @returns {number} pixels of the axis */
  get width() {
    return Math.max(1, this.#hostWidth - this.#gutter);
  }

  get #gutter() {
    return gutterOf(this.#hostWidth);
  }

  /** @param {number} us */
  #pixel(us) {
    const [low, high] = this.#axis.domain;
    return this.#gutter + ((us - low) / (high - low)) * this.width;
  }

  /** @param {number} x pixels */
  time(x) {
    const [low, high] = this.#axis.domain;
    return low + ((x - this.#gutter) / this.width) * (high - low);
  }

  /** @param {import("../ui/svg-elements.js").Surface} surface with the size of the host */
  drawOn(surface) {
    const context = /** @type {CanvasRenderingContext2D} */ (surface);
    this.#hostWidth = this.#host.clientWidth;
    context.textBaseline = "middle";
    context.font = `12px ${getComputedStyle(this.#host).fontFamily}`;
    this.#drawAxis(context, this.#host.clientHeight);
    this.#lanes.forEach((lane, index) => this.#drawLane(context, lane, this.#top(index)));
    this.#drawRest(context);
    this.#drawEnd(context, this.#host.clientHeight);
    this.#drawWait(context);
  }

  /** @param {CanvasRenderingContext2D} context */
  #drawRest(context) {
    context.textAlign = "left";
    context.fillStyle = this.#colours.muted;
    context.fillText(this.#rest, 0, this.#top(this.#lanes.length) + REST_HEIGHT / 2);
  }

  /**
   * The end of the step, where the axis goes on for another one.
   *
   * @param {CanvasRenderingContext2D} context
   * @param {number} height
   */
  #drawEnd(context, height) {
    const end = this.#step?.stepTimeUs ?? Infinity;
    if (end >= this.#axis.domain[1] || end < this.#axis.domain[0]) {
      return;
    }
    const x = Math.round(this.#pixel(end)) + 0.5;
    context.save();
    context.setLineDash([4, 4]);
    context.strokeStyle = this.#colours.text;
    context.beginPath();
    context.moveTo(x, AXIS_HEIGHT);
    context.lineTo(x, height);
    context.stroke();
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} height
   */
  #drawAxis(context, height) {
    const { unit, divisor } = timeUnit(this.#axis.domain[1]);
    context.textAlign = "center";
    for (const tick of linearTicks(this.#axis.domain, Math.max(2, Math.floor(this.width / 110)))) {
      const x = Math.round(this.#pixel(tick)) + 0.5;
      context.fillStyle = this.#colours.border;
      context.fillRect(x, AXIS_HEIGHT, 1, height);
      context.fillStyle = this.#colours.muted;
      const words = `${(tick / divisor).toLocaleString("en", { maximumSignificantDigits: 6 })} ${unit}`;
      context.fillText(words, Math.min(x, this.#gutter + this.width - 28), AXIS_HEIGHT / 2);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Lane} lane
   * @param {number} top
   */
  #drawLane(context, lane, top) {
    const height = ROWS[lane.what];
    context.textAlign = "left";
    context.fillStyle = lane.what === "ops" ? this.#colours.text : this.#colours.muted;
    context.fillText(cutName(lane.label, 17), 0, top + height / 2, this.#gutter - 8);
    context.save();
    context.beginPath();
    context.rect(this.#gutter, top, this.width, height);
    context.clip();
    if (lane.what === "ops") {
      context.fillStyle = this.#colours.sunken;
      context.fillRect(this.#gutter, top, this.width, height);
      this.#drawIdle(context, lane.device, top, height);
    }
    this.#drawBars(context, lane, top, height);
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Lane} lane
   * @param {number} top
   * @param {number} height
   */
  #drawBars(context, lane, top, height) {
    const step = /** @type {Step} */ (this.#step);
    const look = (/** @type {number} */ place) => this.#lookOf(step, lane.activities[place]);
    const own = lane.what === "ops" ? this.#looks[lane.device].colour : this.#colours["edge-crossing"];
    visibleBars(lane, this.#axis.domain, this.width, look, (from, to, place, count) => {
      const kind = look(place);
      const width = Math.max(1, to - from - (to - from > 4 ? 1 : 0));
      context.globalAlpha = kind === PLAIN ? 0.5 : 1;
      context.fillStyle = kind === CHOSEN ? this.#colours.accent : own;
      context.fillRect(this.#gutter + from, top, width, height);
      context.globalAlpha = 1;
      if (step.isCritical[lane.activities[place]]) {
        context.fillStyle = this.#colours.text;
        context.fillRect(this.#gutter + from, top + height - 3, width, 3);
      }
      if (count === 1 && width > LABEL_PIXELS && lane.what === "ops") {
        this.#drawName(context, lane.activities[place], this.#gutter + from, top + height / 2 - 1, width);
      }
    });
  }

  /**
   * @param {Step} step
   * @param {number} activity
   */
  #lookOf(step, activity) {
    return this.#isChosen(activity) ? CHOSEN : step.isCritical[activity] ? CRITICAL : PLAIN;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} op
   * @param {number} x
   * @param {number} y
   * @param {number} width
   */
  #drawName(context, op, x, y, width) {
    const words = cutName(this.#nameOf(op), Math.floor((width - 8) / 7));
    context.strokeStyle = this.#colours.surface;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeText(words, x + 4, y);
    context.fillStyle = this.#colours.text;
    context.fillText(words, x + 4, y);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} device
   * @param {number} top
   * @param {number} height
   */
  #drawIdle(context, device, top, height) {
    const [low, high] = this.#axis.domain;
    context.strokeStyle = this.#colours["border-strong"];
    context.lineWidth = 1;
    context.beginPath();
    for (const { startUs, endUs } of this.#idle[device] ?? []) {
      const [left, right] = [this.#pixel(Math.max(startUs, low)), this.#pixel(Math.min(endUs, high))];
      if (right - left < IDLE_PIXELS) {
        continue;
      }
      const middle = Math.round(top + height / 2) + 0.5;
      context.moveTo(left + 1, middle);
      context.lineTo(right - 1, middle);
      for (const end of [left + 1, right - 1]) {
        context.moveTo(end, middle - 3);
        context.lineTo(end, middle + 3);
      }
    }
    context.stroke();
  }

  /** An arrow from what the chosen activity waited for. */
  #drawWait(/** @type {CanvasRenderingContext2D} */ context) {
    const step = this.#step;
    if (!step || this.#chosen === NONE || step.awaited(this.#chosen) === NONE) {
      return;
    }
    const [from, to] = [this.#edgeOf(step.awaited(this.#chosen), 1), this.#edgeOf(this.#chosen, 0)];
    if (!from || !to) {
      return;
    }
    context.strokeStyle = this.#colours.accent;
    context.fillStyle = this.#colours.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(from.x + 14, from.y, to.x - 14, to.y, to.x, to.y);
    context.stroke();
    context.beginPath();
    context.moveTo(to.x, to.y);
    context.lineTo(to.x - 7, to.y - 4);
    context.lineTo(to.x - 7, to.y + 4);
    context.fill();
  }

  /**
   * @param {number} activity
   * @param {0 | 1} end 0: its start
   */
  #edgeOf(activity, end) {
    const step = /** @type {Step} */ (this.#step);
    const middle = this.pixelOf(activity);
    return middle && { x: this.#pixel(step.span(activity)[end]), y: middle.y };
  }

  /**
   * @param {-1 | 1} by
   * @returns {number} the bar before or after the chosen one in its row; without one the first that is shown
   */
  neighbour(by) {
    const lane = this.#lanes.find(({ activities }) => activities.includes(this.#chosen));
    if (!lane) {
      const first = this.#lanes.find(({ activities }) => activities.length > 0);
      return first ? first.activities[Math.min(firstAbove(first.ends, this.#axis.domain[0]), first.ends.length - 1)] : NONE;
    }
    return lane.activities[lane.activities.indexOf(this.#chosen) + by] ?? this.#chosen;
  }

  /**
   * @param {number} x pixels
   * @param {number} y pixels
   * @returns {Target | null}
   */
  targetAt(x, y) {
    const lane = this.#lanes.findIndex(({ what }, index) => y >= this.#top(index) && y < this.#top(index) + ROWS[what]);
    if (lane < 0 || x < this.#gutter) {
      return null;
    }
    const us = this.time(x);
    const reach = this.time(x + REACH_PIXELS) - us;
    const activity = activityAt(this.#lanes[lane], us, reach);
    if (activity !== NONE) {
      return { activity, idle: -1, x, y };
    }
    const { what, device } = this.#lanes[lane];
    const idle = what === "ops" && this.#idle[device].find(({ startUs, endUs }) => startUs <= us && us < endUs);
    return idle ? { activity: NONE, idle: idle.index, x, y } : null;
  }
}
