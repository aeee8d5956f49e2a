/** The devices of a run: colour, shape, and load under the shown placement. */

import { element, scroller, setText, svg } from "../ui/dom.js";
import { DeviceFold } from "./device-fold.js";
import { areMany } from "./devices-in-use.js";
import { shapePoints } from "./devices.js";
import { stripesOf } from "./stripes.js";
import { counted, formatBytes, formatCount, formatShare, formatTime } from "../ui/format.js";

/** @typedef {import("./devices.js").DeviceLook} DeviceLook */

/**
 * The mark of a look in the graph.
 *
 * @param {Pick<import("./graph-style.js").NodeLook, "colour" | "shape" | "stripes">} look its colour may be a custom property
 * @returns {SVGElement}
 */
export function deviceMark({ colour, shape, stripes }) {
  const points = shapePoints(shape);
  const outline = points === null ? svg("circle", { r: 1 }) : svg("polygon", { points });
  outline.setAttribute("fill", stripes ? "none" : colour.startsWith("--") ? `var(${colour})` : colour);
  const striped = stripesOf(stripes ?? [], shape).map((stripe) => svg("polygon", { class: "stripe", points: stripe.corners.join(" "), fill: stripe.colour }));
  return svg("svg", { class: "device-mark", viewBox: "-1.1 -1.1 2.2 2.2", "aria-hidden": "true" }, ...striped, outline);
}

/**
 * Let groups be dropped on an element to move them to a device.
 *
 * @param {HTMLElement} target
 * @param {DeviceLook} look
 */
export function asDropTarget(target, look) {
  target.dataset.dropDevice = String(look.index);
  target.style.setProperty("--drop-colour", look.colour);
  target.style.setProperty("--drop-pattern", look.pattern);
  return target;
}

/**
 * The mark of a group that no move changes.
 *
 * @returns {HTMLElement}
 */
export function lockMark() {
  const path = svg("path", { d: "M6 11V8a6 6 0 0 1 12 0v3M4 11h16v10H4z" });
  const mark = svg("svg", { class: "lock-mark", viewBox: "0 0 24 24", "aria-hidden": "true" }, path);
  return element("span", { class: "lock", title: "Locked" }, mark, element("span", { class: "visually-hidden" }, "locked"));
}

export class DeviceLegend {
  #rows;
  #devices;
  #fold = new DeviceFold(() => this.#list());
  /** @type {readonly boolean[] | null} [devices] null: not known yet */
  #inUse = null;

  /**
   * @param {HTMLElement} host
   * @param {readonly import("../ui/contracts.js").Device[]} devices
   * @param {readonly DeviceLook[]} looks
   */
  constructor(host, devices, looks) {
    this.#devices = devices;
    this.#rows = devices.map((device, index) => makeRow(device, looks[index]));
    const inStream = host.dataset.quantity === "period";
    const head = ["Device", "Groups", "Runs ops", inStream ? "Share of the period" : "Share of the step", inStream ? "Peak memory of one micro-batch" : "Peak memory"];
    const table = element(
      "table",
      { class: "legend" },
      element("caption", { class: "visually-hidden" }, "Load of each device under the placement"),
      element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...this.#rows.map(({ row }) => row)),
    );
    if (areMany(devices.length)) {
      const place = scroller("Devices", table);
      place.classList.add("many-devices");
      host.replaceChildren(place, this.#fold.root);
    } else {
      host.replaceChildren(table);
    }
    this.#list();
  }

  /**
   * @param {readonly import("./placement.js").Load[] | null} loads [devices]
   * @param {number | null} stepTimeUs of the shown placement
   */
  show(loads, stepTimeUs) {
    this.#inUse = loads && loads.map(({ groups, parts }) => groups + parts > 0);
    this.#list();
    this.#rows.forEach((cells, index) => {
      const load = loads?.[index];
      const share = load && stepTimeUs ? Math.min(1, load.timeUs / stepTimeUs) : null;
      setText(cells.groups, `${formatCount(load?.groups)}${load?.parts ? ` + ${counted(load.parts, "part")}` : ""}`);
      setText(cells.time, formatTime(load?.timeUs));
      setText(cells.share, formatShare(share));
      cells.bar.value = share ?? 0;
    });
  }

  #list() {
    const listed = this.#fold.show(this.#devices.length, this.#inUse);
    this.#rows.forEach(({ row }, device) => (row.hidden = !listed.has(device)));
  }

  /** @param {readonly number[] | null} peakBytes [devices] of the shown placement; null: not known yet */
  showPeaks(peakBytes) {
    this.#rows.forEach((cells, index) => {
      setText(cells.bytes, formatBytes(peakBytes?.[index]));
      cells.bytes.classList.toggle("is-over", (peakBytes?.[index] ?? 0) > usableBytes(this.#devices[index]));
    });
  }
}

/** @param {import("../ui/contracts.js").Device} device what a step may take of its memory */
function usableBytes(device) {
  return device.memory_bytes - (device.reserved_bytes ?? 0);
}

/** @param {import("../ui/contracts.js").Device} device */
function memoryWords(device) {
  const reserved = device.reserved_bytes ? `, ${formatBytes(device.reserved_bytes)} reserved` : "";
  return `${formatBytes(device.memory_bytes)}${reserved}`;
}

/**
 * @param {import("../ui/contracts.js").Device} device
 * @param {DeviceLook} look
 */
function makeRow(device, look) {
  const groups = element("td", { class: "number" });
  const time = element("td", { class: "number" });
  const share = element("span", { class: "number" });
  const bytes = element("td", { class: "number" });
  const bar = element("meter", { min: 0, max: 1, value: 0, "aria-hidden": "true" });
  const name = element(
    "th",
    { scope: "row", title: `${device.name}, ${device.kind}, ${memoryWords(device)}` },
    element(
      "div",
      { class: "device-name" },
      deviceMark(look),
      element("span", {}, look.label),
      element("span", { class: "device-kind" }, `${device.kind} · ${memoryWords(device)}`),
    ),
  );
  const row = element("tr", {}, name, groups, time, element("td", { class: "meter-cell" }, element("div", {}, bar, share)), bytes);
  asDropTarget(row, look);
  return { row, groups, time, share, bytes, bar };
}
