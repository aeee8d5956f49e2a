/** Whether a notification is wanted and when it is due, as a pure function of what the person and the server say. */

import { hasEnded } from "./job-state.js";

/**
 * @typedef {"default" | "granted" | "denied"} Permission of the browser: not asked yet, given, refused
 *
 * @typedef {object} NoticeState
 * @property {boolean} isWanted
 * @property {Permission} permission
 * @property {string} status of the job
 * @property {boolean} isDue whether to show the notification now
 *
 * @typedef {{ type: "asked", permission: Permission }
 *   | { type: "declined" }
 *   | { type: "status", status: string }
 *   | { type: "shown" }} NoticeAction
 */

/**
 * @param {object} found
 * @param {boolean} found.wasWanted before the page was loaded again
 * @param {Permission} found.permission
 * @param {string} found.status
 * @returns {NoticeState}
 */
export function initialNotice({ wasWanted, permission, status }) {
  return next({ isWanted: wasWanted && permission === "granted", permission, status, isDue: false });
}

/**
 * @param {NoticeState} state
 * @param {NoticeAction} action
 * @returns {NoticeState}
 */
export function reduceNotice(state, action) {
  switch (action.type) {
    case "asked":
      return next({ ...state, permission: action.permission, isWanted: action.permission === "granted" });
    case "declined":
      return next({ ...state, isWanted: false });
    case "status":
      return next({ ...state, status: action.status });
    case "shown":
      return next({ ...state, isWanted: false });
  }
}

/**
 * @param {NoticeState} state
 * @returns {NoticeState}
 */
function next(state) {
  return Object.freeze({ ...state, isDue: state.isWanted && isOver(state.status) });
}

/**
 * @param {string} status
 * @returns {boolean} whether nothing more comes
 */
export function isOver(status) {
  return hasEnded(status) || status === "deleted";
}

/**
 * What the page says beside the button.
 *
 * @param {NoticeState} state
 * @param {string} what `run`
 * @returns {string} empty where there is nothing to say
 */
export function noticeWords({ isWanted, permission, status }, what) {
  if (isOver(status)) {
    return "";
  }
  if (permission === "denied") {
    return "This browser allows no notifications from here. Its settings for this site can change that.";
  }
  return isWanted ? `A notification comes when this ${what} ends, as long as this tab is open.` : "";
}
