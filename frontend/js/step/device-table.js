/** What each device does during a step, as a table: a row a device, whose times add up to the step. */

import { deviceMark } from "../graph/device-legend.js";
import { areMany, listedDevices } from "../graph/devices-in-use.js";
import { element, scroller } from "../ui/dom.js";
import { formatShare, formatTime } from "../ui/format.js";
import { DEVICE_PARTS, devicePartsOf, devicesInUse } from "./device-parts.js";

/**
 * @param {import("./step.js").Step} step
 * @param {readonly import("../graph/devices.js").DeviceLook[]} looks
 * @returns {HTMLElement[]} the table without the parts that no device has, and a line about the devices that it leaves out
 */
export function deviceTable(step, looks) {
  const devices = devicePartsOf(step);
  const shown = (devices[0] ?? []).map((_, index) => index).filter((index) => devices.some((parts) => parts[index].us > 0));
  const heads = ["Device", ...shown.map((index) => DEVICE_PARTS[devices[0][index].name]), "The whole step"];
  const { listed, words } = listedDevices(looks.length, devicesInUse(step));
  const rows = listed.map((device) => {
    const look = looks[device];
    const parts = shown.map((index) => devices[look.index][index]);
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, deviceMark(look), ` ${look.label}`),
      ...parts.map(({ name, us }) => cell(name, us, step.stepTimeUs)),
      element("td", { class: "number" }, formatTime(step.stepTimeUs)),
    );
  });
  const table = element(
    "table",
    { class: "parts" },
    element("caption", { class: "visually-hidden" }, "Each device over the step: the times in a row add up to it"),
    element("thead", {}, element("tr", {}, ...heads.map((text, index) => element("th", { scope: "col", class: index > 0 ? "number" : "" }, text)))),
    element("tbody", {}, ...rows),
  );
  const place = scroller("Each device over the step", table);
  place.classList.toggle("many-devices", areMany(looks.length));
  return words ? [place, element("p", { class: "hint" }, `${words}.`)] : [place];
}

/**
 * @param {string} name
 * @param {number} us
 * @param {number} stepTimeUs
 */
function cell(name, us, stepTimeUs) {
  const share = us > 0 && stepTimeUs > 0 ? formatShare(us / stepTimeUs) : "";
  return element("td", { class: "number", "data-name": name, "data-us": us }, formatTime(us), element("span", { class: "muted" }, share));
}
