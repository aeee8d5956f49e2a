/**
 * The shown episode and its movement: a pure state without a clock.
 *
 *     following --seek, step, play, best--> paused or playing
 *     paused    --play--> playing --the last episode--> following while the run works, else paused
 *     any       --follow--> following
 */

/** @typedef {"following" | "playing" | "paused"} PlayerMode */

/**
 * @typedef {object} PlayerState
 * @property {number} index of the shown episode, -1 without one
 * @property {number} length number of episodes
 * @property {PlayerMode} mode
 * @property {number} speed episodes a second
 * @property {number} owed fraction of an episode that has passed since the last one
 * @property {boolean} live whether more episodes will come
 */

export const SPEEDS = Object.freeze([2, 10, 50, 250]);

/**
 * @param {number} [speed]
 * @returns {PlayerState}
 */
export function initialPlayer(speed = 10) {
  return Object.freeze({ index: -1, length: 0, mode: "following", speed, owed: 0, live: true });
}

/**
 * Update the number of episodes, and whether more will come.
 *
 * @param {PlayerState} player
 * @param {number} length
 * @param {boolean} live
 * @returns {PlayerState}
 */
export function withLength(player, length, live) {
  const index = player.mode === "following" ? length - 1 : clamped(player.index, length);
  if (length === player.length && live === player.live && index === player.index) {
    return player;
  }
  return Object.freeze({ ...player, length, live, index });
}

/**
 * @param {PlayerState} player
 * @param {number} index
 * @returns {PlayerState}
 */
export function seek(player, index) {
  const mode = player.mode === "playing" ? "playing" : "paused";
  return Object.freeze({ ...player, index: clamped(Math.round(index), player.length), mode, owed: 0 });
}

/**
 * @param {PlayerState} player
 * @param {number} by episodes, negative to go back
 * @returns {PlayerState}
 */
export function step(player, by) {
  return Object.freeze({ ...player, index: clamped(player.index + by, player.length), mode: "paused", owed: 0 });
}

/**
 * Play or pause; from the last episode, play from the start.
 *
 * @param {PlayerState} player
 * @returns {PlayerState}
 */
export function togglePlay(player) {
  if (player.mode === "playing") {
    return Object.freeze({ ...player, mode: "paused", owed: 0 });
  }
  if (player.length === 0) {
    return player;
  }
  const index = player.index >= player.length - 1 ? 0 : player.index;
  return Object.freeze({ ...player, index, mode: "playing", owed: 0 });
}

/**
 * Show the newest episode, and each new one as it comes.
 *
 * @param {PlayerState} player
 * @returns {PlayerState}
 */
export function follow(player) {
  return Object.freeze({ ...player, index: player.length - 1, mode: "following", owed: 0 });
}

/**
 * @param {PlayerState} player
 * @param {number} speed episodes a second
 * @returns {PlayerState}
 */
export function withSpeed(player, speed) {
  return Object.freeze({ ...player, speed });
}

/**
 * The last of the ascending `indices` before the shown one, or the first after it.
 *
 * @param {PlayerState} player
 * @param {readonly number[]} indices
 * @param {-1 | 1} by
 * @returns {number} -1 without one
 */
export function neighbour({ index }, indices, by) {
  const found = by < 0 ? indices.findLast((each) => each < index) : indices.find((each) => each > index);
  return found ?? -1;
}

/**
 * Let `seconds` pass.
 *
 * @param {PlayerState} player
 * @param {number} seconds
 * @returns {PlayerState}
 */
export function tick(player, seconds) {
  if (player.mode !== "playing") {
    return player;
  }
  const owed = player.owed + seconds * player.speed;
  const whole = Math.floor(owed);
  const index = Math.min(player.index + whole, player.length - 1);
  if (index >= player.length - 1) {
    return Object.freeze({ ...player, index, mode: player.live ? "following" : "paused", owed: 0 });
  }
  return Object.freeze({ ...player, index, owed: owed - whole });
}

/**
 * @param {number} index
 * @param {number} length
 * @returns {number}
 */
function clamped(index, length) {
  return Math.max(Math.min(index, length - 1), length > 0 ? 0 : -1);
}
