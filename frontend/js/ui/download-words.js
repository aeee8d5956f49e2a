/** Words for a download that is being made. */

import { formatBytes, formatDuration } from "./format.js";

/**
 * @typedef {object} Progress of one download
 * @property {string} name of the file, as its link says it
 * @property {number} seconds since the click
 * @property {number} receivedBytes
 * @property {number | null} totalBytes null: not known
 * @property {number} receivingSeconds since its first byte
 */

/** Time left is named once so much has been received. */
const LEAST_SHARE = 0.02;

/**
 * @param {Progress} progress
 * @returns {string} while it is made, and then while it is received
 */
export function progressWords({ seconds, receivedBytes, totalBytes, receivingSeconds }) {
  if (receivedBytes === 0) {
    return `Preparing… ${Math.floor(seconds)} s`;
  }
  if (totalBytes === null) {
    return `Receiving… ${formatBytes(receivedBytes)}`;
  }
  const share = receivedBytes / totalBytes;
  const left = share >= LEAST_SHARE && share < 1 ? `, ${formatDuration((receivingSeconds * (1 - share)) / share)} left` : "";
  return `Receiving… ${formatBytes(receivedBytes)} of ${formatBytes(totalBytes)}${left}`;
}

/**
 * The file's name in a Content-Disposition header of this server.
 *
 * @param {string | null} header
 * @returns {string}
 */
export function fileNameOf(header) {
  return /filename="([^"/\\]+)"/.exec(header ?? "")?.[1] ?? "download";
}
