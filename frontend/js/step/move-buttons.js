/** The buttons that move groups to another device, each with what the move would change. */

import { deviceMark } from "../graph/device-legend.js";
import { element, setText } from "../ui/dom.js";
import { formatStepChange } from "../ui/format.js";

/** @typedef {import("../graph/devices.js").DeviceLook} DeviceLook */
/** @typedef {import("./gains.js").MoveGains} MoveGains */

/** So many devices have a key. */
const KEYS = 9;

/**
 * @param {readonly DeviceLook[]} looks
 * @param {number} current device of the groups; −1 if they are on several
 * @param {Promise<MoveGains> | null} gains null: they are locked
 * @param {(device: number) => void} onMove
 * @param {number} [count] of groups
 * @returns {HTMLElement}
 */
export function moveButtons(looks, current, gains, onMove, count = 1) {
  const places = looks.map((look) => {
    const change = element("span", { class: "move-change" });
    const button = element(
      "button",
      { type: "button", class: "button is-move", "data-device": look.index, "aria-pressed": String(look.index === current), title: look.index < KEYS ? `Key ${look.index + 1}` : "" },
      deviceMark(look),
      `${look.label} `,
      change,
    );
    button.addEventListener("click", () => button.getAttribute("aria-disabled") !== "true" && onMove(look.index));
    return { device: look.index, target: button, change };
  });
  showChanges(places, current, gains);
  const list = element("div", { class: "moves", role: "group", "aria-label": count === 1 ? "Move the group to a device" : "Move the groups to a device" });
  list.append(...places.map(({ target }) => target));
  return list;
}

/**
 * Write beside each device what the move there would change, as soon as it is known. One that is not allowed can be
 * tried: the server says why not.
 *
 * @param {readonly { device: number, target: HTMLElement, change: HTMLElement }[]} places where a move can go
 * @param {number} current device of the groups; −1 if they are on several
 * @param {Promise<MoveGains> | null} gains null: they are locked
 */
export function showChanges(places, current, gains) {
  const others = places.filter(({ device }) => device !== current);
  for (const { device, target, change } of places) {
    setText(change, device === current ? "here" : gains ? "…" : "locked");
    target.setAttribute("aria-disabled", String(!gains && device !== current));
  }
  gains?.then(
    ({ nowUs, stepTimesUs, missingBytes }) => {
      for (const { device, change } of others) {
        setText(change, changeWords(nowUs, stepTimesUs[device], missingBytes[device]));
      }
    },
    () => others.forEach(({ change }) => setText(change, "")),
  );
}

/**
 * What moving groups would change, for a screen reader.
 *
 * @param {string} name of the groups
 * @param {readonly DeviceLook[]} looks
 * @param {number} current their device; −1 if they are on several
 * @param {MoveGains} gains
 * @returns {string}
 */
export function costWords(name, looks, current, { nowUs, stepTimesUs, missingBytes }) {
  const others = looks.filter(({ index }) => index !== current);
  return `${name}: ${others.map(({ index, label }) => `${label} ${changeWords(nowUs, stepTimesUs[index], missingBytes[index])}`).join(", ")}`;
}

/**
 * @param {number | null} nowUs
 * @param {number | null} afterUs
 * @param {number} missingBytes
 * @returns {string}
 */
export function changeWords(nowUs, afterUs, missingBytes) {
  if (afterUs === null) {
    return "not allowed";
  }
  if (missingBytes > 0) {
    return "does not fit";
  }
  return nowUs ? formatStepChange(nowUs, afterUs) : "";
}
