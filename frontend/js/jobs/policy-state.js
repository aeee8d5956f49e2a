/**
 * The state of a training as a pure function of its events: replaying them gives what live watching gave.
 *
 * A training that resumes after losing its worker emits the seconds after its last saved state again: later points of
 * the lost worker are then dropped.
 */

import { formatGap } from "../ui/format.js";
import { following, KNOWN_VERSION } from "./job-state.js";
import { stageWords as countedWords, WAITING, WAITING_TO_GO_ON } from "./words.js";

/**
 * @typedef {object} HeldOutRow
 * @property {string} graph untrusted text
 * @property {string} cluster
 * @property {number | null} gap relative gap of the greedy pass to the search; null if it does not fit
 *
 * @typedef {object} ProgressEvent
 * @property {"progress"} type
 * @property {number} seq numbered from 1
 * @property {number} version
 * @property {string} stage
 * @property {number} done of the training as a whole, from 0 to 1
 * @property {number} seconds since it began
 * @property {number | null} mean_gap of the latest samples on training graphs to the best placements known
 * @property {HeldOutRow[]} held_out the new ones
 * @property {number} [held_out_from] the position of the first of them among all; missing in old trainings
 *
 * @typedef {object} Point
 * @property {number} seconds
 * @property {number} gap
 *
 * @typedef {object} PolicyState
 * @property {number} lastSeq
 * @property {boolean} missing whether an event came before one that is not here yet
 * @property {import("../ui/contracts.js").RunStatus} status
 * @property {import("./job-state.js").JobStatus} jobStatus the latest that came beside the events
 * @property {boolean} unreadable whether an event had a version that this page does not know
 * @property {string} stage
 * @property {number} done
 * @property {number} seconds
 * @property {readonly Point[]} points mean gaps of samples on training graphs to the best known placements
 * @property {readonly HeldOutRow[]} heldOut
 */

/**
 * @param {import("../ui/contracts.js").RunStatus} [status]
 * @returns {PolicyState}
 */
export function initialState(status = "queued") {
  const nothing = { lastSeq: 0, missing: false, unreadable: false, stage: "", done: 0, seconds: 0 };
  const jobStatus = Object.freeze({ status, error: "" });
  return Object.freeze({ ...nothing, status, jobStatus, points: Object.freeze([]), heldOut: Object.freeze([]) });
}

/**
 * @param {PolicyState} state
 * @param {import("./job-state.js").EventsAction<ProgressEvent> | import("./job-state.js").StatusAction} action
 * @returns {PolicyState} the same object where nothing changed
 */
export function reduce(state, action) {
  if (action.type === "status") {
    const { type: _, ...jobStatus } = action;
    const same = JSON.stringify(jobStatus) === JSON.stringify(state.jobStatus);
    return same ? state : Object.freeze({ ...state, status: jobStatus.status, jobStatus: Object.freeze(jobStatus) });
  }
  const { fresh, missing } = following(action.events, state.lastSeq);
  if (fresh.length === 0) {
    return missing === state.missing ? state : Object.freeze({ ...state, missing });
  }
  const draft = { ...state, missing, points: [...state.points], heldOut: [...state.heldOut] };
  for (const event of fresh) {
    draft.lastSeq = event.seq;
    if (event.version === KNOWN_VERSION) {
      apply(draft, event);
    } else {
      draft.unreadable = true;
    }
  }
  return Object.freeze({ ...draft, points: Object.freeze(draft.points), heldOut: Object.freeze(draft.heldOut) });
}

/**
 * @param {Omit<PolicyState, "points" | "heldOut"> & { points: Point[], heldOut: HeldOutRow[] }} draft changed in place
 * @param {ProgressEvent} event
 */
function apply(draft, event) {
  while (draft.points.length > 0 && draft.points[draft.points.length - 1].seconds > event.seconds) {
    draft.points.pop();
  }
  draft.stage = event.stage;
  draft.done = event.done;
  draft.seconds = event.seconds;
  const last = draft.points.at(-1);
  if (event.mean_gap !== null && (last?.gap !== event.mean_gap || event.stage !== "held_out")) {
    draft.points.push({ seconds: event.seconds, gap: event.mean_gap });
  }
  if (event.held_out.length > 0) {
    // by position: two rows may have the same names
    draft.heldOut.splice(event.held_out_from ?? draft.heldOut.length, Infinity, ...event.held_out);
  }
}

/**
 * @param {PolicyState} state
 * @param {Record<string, string>} stageWords stage → words, from the server
 * @returns {string} the stage alone, which is read aloud once
 */
export function stageName({ stage }, stageWords) {
  return stageWords[stage] ?? stage;
}

/**
 * @param {PolicyState} state
 * @param {Record<string, string>} stageWords
 * @returns {string} the stage with its progress
 */
export function stageSentence(state, stageWords) {
  const { stage, done, heldOut } = state;
  if (stage === "") {
    return "";
  }
  const words = stageName(state, stageWords);
  if (stage === "held_out" && heldOut.length > 0) {
    const gaps = heldOut.flatMap(({ gap }) => (gap === null ? [] : [gap]));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const gapWords = gaps.length > 0 ? `, against the search ${formatGap(mean)} on average` : "";
    const misfits = heldOut.length - gaps.length;
    return `${words}: ${heldOut.length} so far${gapWords}${misfits > 0 ? `, ${misfits} ${misfits === 1 ? "does" : "do"} not fit` : ""}`;
  }
  return `${words}, ${Math.round(done * 100)} % of the training`;
}

/**
 * The line under the bar of a training that has not ended; while it is queued again, without the last worker's stage.
 *
 * @param {PolicyState} state
 * @param {Record<string, string>} stageWords
 * @returns {string}
 */
export function progressWords(state, stageWords) {
  const { jobStatus } = state;
  if (jobStatus.status === "queued") {
    return state.lastSeq > 0 ? WAITING_TO_GO_ON : WAITING;
  }
  const words = isBuilding(state) ? countedWords({ ...jobStatus }) : stageSentence(state, stageWords) || jobStatus.stage;
  return words || "Loading the graphs…";
}

/**
 * @param {PolicyState} state
 * @returns {boolean} whether it is preparing a family of graphs, which emits no events
 */
export function isBuilding({ jobStatus }) {
  return (jobStatus.total ?? 0) > 0;
}

/**
 * The chart in words.
 *
 * @param {PolicyState} state
 * @param {boolean} ended
 * @returns {string}
 */
export function chartSentence({ points }, ended) {
  if (points.length === 0) {
    return ended
      ? "No line: training ended before every graph had a turn of reinforcement learning."
      : "A line appears here once every training graph has had a turn of reinforcement learning.";
  }
  const least = points.reduce((lowest, { gap }) => Math.min(lowest, gap), Infinity);
  const last = points[points.length - 1].gap;
  return `Against the best known placements: at first ${formatGap(points[0].gap)}, at best ${formatGap(least)}, now ${formatGap(last)}.`;
}
