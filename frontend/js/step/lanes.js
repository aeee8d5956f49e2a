/** The rows of a timeline: one of ops for each device, one of transfers for each bus or pair of devices. */

/** @typedef {import("./step.js").Step} Step */

/**
 * @typedef {object} Lane
 * @property {"ops" | "transfers"} what
 * @property {number} device that computes or sends
 * @property {string} label
 * @property {Int32Array} activities in order of their starts
 * @property {Float64Array} starts in µs
 * @property {Float64Array} ends in µs
 *
 * @typedef {object} Idle one idle time of a device
 * @property {number} index
 * @property {number} startUs
 * @property {number} endUs
 */

/**
 * @param {Step} step
 * @param {readonly string[]} labels of devices
 * @param {readonly number[]} listed devices with a row
 * @returns {Lane[]} each of these devices, followed by its links
 */
export function lanesOf(step, labels, listed = labels.map((_, device) => device)) {
  /** @type {Map<string, { device: number, label: string, members: number[] }>} */
  const links = new Map();
  const sources = step.array("transfer.source");
  for (let transfer = 0; transfer < step.transferCount; transfer += 1) {
    const device = sources[transfer];
    const to = step.texts.contention === "bus" ? [] : step.destinations(transfer);
    const key = `${device} ${to}`;
    const words = `${labels[device]} → ${to.length ? to.map((index) => labels[index]).join(", ") : "others"}`;
    const link = links.get(key) ?? { device, label: words, members: [] };
    links.set(key, link);
    link.members.push(transfer);
  }
  const devices = step.array("op.device");
  /** @type {number[][]} */
  const opsOf = labels.map(() => []);
  for (let op = 0; op < step.opCount; op += 1) {
    opsOf[devices[op]].push(op);
  }
  /** @type {Lane[][]} */
  const linksOf = labels.map(() => []);
  for (const { device, label, members } of links.values()) {
    linksOf[device].push(laneOf(step, "transfers", device, label, members));
  }
  return listed.flatMap((device) => [laneOf(step, "ops", device, labels[device], opsOf[device]), ...linksOf[device]]);
}

/**
 * @param {Step} step
 * @param {"ops" | "transfers"} what
 * @param {number} device
 * @param {string} label
 * @param {number[]} members indices of ops or of transfers
 * @returns {Lane}
 */
function laneOf(step, what, device, label, members) {
  const kind = what === "ops" ? "op" : "transfer";
  const [starts, ends] = [step.array(`${kind}.start_us`), step.array(`${kind}.end_us`)];
  const lasting = members.filter((index) => ends[index] > starts[index]).sort((one, other) => starts[one] - starts[other]);
  const first = what === "ops" ? 0 : step.opCount;
  return {
    what,
    device,
    label,
    activities: Int32Array.from(lasting, (index) => first + index),
    starts: Float64Array.from(lasting, (index) => starts[index]),
    ends: Float64Array.from(lasting, (index) => ends[index]),
  };
}

/**
 * The first place in `values`, which ascend, that is above `value`.
 *
 * @param {ArrayLike<number>} values
 * @param {number} value
 * @returns {number}
 */
export function firstAbove(values, value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/**
 * The bars of a lane between two times, as pixels. Bars that share a pixel become one, so that their number is bounded
 * by the width, however many activities there are.
 *
 * @param {Lane} lane
 * @param {readonly [number, number]} domain in µs
 * @param {number} width in pixels
 * @param {(place: number) => number} look a number for the look of a bar; only bars of one look are joined
 * @param {(from: number, to: number, place: number, count: number) => void} draw pixels, the place of the longest of the
 *   bars, and how many they are
 */
export function visibleBars(lane, [low, high], width, look, draw) {
  const scale = width / (high - low);
  let from = NaN;
  let to = NaN;
  let place = -1;
  let count = 0;
  const overlapping = lane.what === "transfers";
  for (let at = overlapping ? 0 : firstAbove(lane.ends, low); at < lane.starts.length && lane.starts[at] < high; at += 1) {
    if (lane.ends[at] <= low) {
      continue;
    }
    const left = Math.max(0, (lane.starts[at] - low) * scale);
    const right = Math.min(width, (lane.ends[at] - low) * scale);
    if (count > 0 && right - from < 1.5 && look(at) === look(place)) {
      to = Math.max(to, right);
      place = lane.ends[at] - lane.starts[at] > lane.ends[place] - lane.starts[place] ? at : place;
      count += 1;
      continue;
    }
    if (count > 0) {
      draw(from, to, place, count);
    }
    [from, to, place, count] = [left, right, at, 1];
  }
  if (count > 0) {
    draw(from, to, place, count);
  }
}

/**
 * @param {Lane} lane
 * @param {number} us
 * @param {number} tolerance in µs
 * @returns {number} the activity there, or the nearest within the tolerance; -1 for none
 */
export function activityAt(lane, us, tolerance) {
  const after = firstAbove(lane.starts, us + tolerance);
  let best = -1;
  let distance = Infinity;
  for (let at = after - 1; at >= 0 && at >= after - 64; at -= 1) {
    const away = Math.max(lane.starts[at] - us, us - lane.ends[at], 0);
    if (away <= tolerance && away < distance) {
      best = lane.activities[at];
      distance = away;
    }
  }
  return best;
}

/**
 * @param {Step} step
 * @param {number} device
 * @returns {Idle[]}
 */
export function idleTimes(step, device) {
  const devices = step.array("idle.device");
  const [starts, ends] = [step.array("idle.start_us"), step.array("idle.end_us")];
  const found = [];
  for (let index = 0; index < devices.length; index += 1) {
    if (devices[index] === device) {
      found.push({ index, startUs: starts[index], endUs: ends[index] });
    }
  }
  return found;
}
