/** The buttons that move a group to another device, each with what the move would change. */

import { deviceMark } from "../graph/device-legend.js";
import { element, setText } from "../ui/dom.js";
import { formatGap } from "../ui/format.js";

/** @typedef {import("../graph/devices.js").DeviceLook} DeviceLook */

/**
 * @typedef {object} Gains of one group, as `gains.json` has them
 * @property {(number | null)[]} step_time_us [devices] null: the group may not go there
 * @property {number[]} missing_bytes [devices]
 */

/**
 * @param {readonly DeviceLook[]} looks
 * @param {number} current device of the groups; −1 if they are on several
 * @param {Promise<Gains> | null} gains null: not told, for several groups
 * @param {(device: number) => void} onMove
 * @param {number} [count] of groups
 * @returns {HTMLElement}
 */
export function moveButtons(looks, current, gains, onMove, count = 1) {
  const buttons = looks.map((look) => {
    const change = element("span", { class: "move-change" }, look.index === current ? "here" : gains ? "…" : "");
    const button = element(
      "button",
      { type: "button", class: "button is-move", "data-device": look.index, "aria-pressed": String(look.index === current) },
      deviceMark(look),
      `${look.label} `,
      change,
    );
    button.addEventListener("click", () => button.getAttribute("aria-disabled") !== "true" && onMove(look.index));
    return { look, button, change };
  });
  gains?.then(
    ({ step_time_us: times, missing_bytes: missing }) => {
      const now = times[current] ?? null;
      for (const { look, button, change } of buttons.filter((each) => each.look.index !== current)) {
        const after = times[look.index];
        button.setAttribute("aria-disabled", String(after === null));
        setText(change, changeWords(now, after, missing[look.index]));
      }
    },
    () => buttons.forEach(({ look, change }) => look.index !== current && setText(change, "")),
  );
  const list = element("div", { class: "moves", role: "group", "aria-label": count === 1 ? "Move the group to a device" : "Move the groups to a device" });
  list.append(...buttons.map(({ button }) => button));
  return list;
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
  return nowUs ? formatGap(afterUs / nowUs - 1) : "";
}
