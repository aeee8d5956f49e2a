/**
 * The state of a run as a pure function of its events: replaying them gives what live watching gave.
 *
 * Events are numbered from 1. A repeated one is ignored; one that comes too early is not applied, and `missing` makes
 * the feed fetch the ones between. A thinned run has gaps: a page of its events is whole.
 */

import { following, KNOWN_VERSION } from "../jobs/job-state.js";
import { GrowingList } from "../ui/growing-list.js";

/**
 * @typedef {object} Episode
 * @property {number} seq number of its event
 * @property {number} episode numbered from 1
 * @property {number} stepTimeUs
 * @property {boolean} feasible
 * @property {number | null} bestStepTimeUs best feasible so far, trivial placements included
 * @property {number} evaluations used so far
 * @property {number} elapsedSeconds
 * @property {Int16Array} placement [groups] device of each group, `SPLIT` of `graph/colouring.js` for one on several
 * @property {number | null} levelGroups the number of groups of the level at which it was found; null: not known
 *
 * @typedef {object} RunState
 * @property {number} lastSeq number of the last event applied
 * @property {boolean} missing whether an event came before one that is not here yet
 * @property {boolean} unreadable whether an event had a version that this page does not know
 * @property {import("../ui/contracts.js").RunStatus} status
 * @property {string} error
 * @property {import("../ui/contracts.js").StartedEvent | null} started
 * @property {readonly import("../ui/contracts.js").BaselineEvent[]} baselines one a method, the newest counts
 * @property {GrowingList<Episode>} episodes
 * @property {boolean} anyInfeasible whether one of them does not fit in memory
 * @property {number} bestUs the least feasible step time among them, Infinity without one
 * @property {number} bestIndex of the first episode with the least feasible step time, -1 without one
 * @property {GrowingList<import("../ui/contracts.js").UpdateEvent>} updates what a method that learns says of it
 * @property {GrowingList<number>} improvements indices of the episodes that are feasible and faster than all before
 * @property {{ stage: string, done: number, total: number } | null} progress
 * @property {import("../ui/contracts.js").Report | null} report
 * @property {number} reportSeq number of the event that has it, 0 without one
 *
 * @typedef {{ -readonly [Name in keyof RunState]: RunState[Name] } & {
 *   added: Episode[], improved: number[], learned: import("../ui/contracts.js").UpdateEvent[],
 * }} Draft with the new episodes, improvements and updates
 *
 * @typedef {import("../jobs/job-state.js").EventsAction<import("../ui/contracts.js").RunEvent>} EventsAction
 * @typedef {import("../jobs/job-state.js").StatusAction} StatusAction
 */

/**
 * @param {import("../ui/contracts.js").RunStatus} [status]
 * @param {string} [error]
 * @returns {RunState}
 */
export function initialState(status = "queued", error = "") {
  return Object.freeze({
    lastSeq: 0,
    missing: false,
    unreadable: false,
    status,
    error,
    started: null,
    baselines: Object.freeze([]),
    episodes: new GrowingList(),
    anyInfeasible: false,
    bestIndex: -1,
    improvements: new GrowingList(),
    updates: new GrowingList(),
    bestUs: Infinity,
    progress: null,
    report: null,
    reportSeq: 0,
  });
}

/**
 * @param {RunState} state
 * @param {EventsAction | StatusAction} action
 * @returns {RunState} the same object where nothing changed
 */
export function reduce(state, action) {
  if (action.type === "events") {
    return withEvents(state, action);
  }
  if (state.status === action.status && state.error === action.error) {
    return state;
  }
  return Object.freeze({ ...state, status: action.status, error: action.error });
}

/**
 * @param {RunState} state
 * @param {EventsAction} action
 * @returns {RunState}
 */
function withEvents(state, { events, whole }) {
  const { fresh, missing } = following(events, state.lastSeq, whole);
  if (fresh.length === 0) {
    return missing === state.missing ? state : Object.freeze({ ...state, missing });
  }
  const status = state.status === "queued" ? "running" : state.status; // a new event shows that a worker has it
  /** @type {Draft} */
  const draft = { ...state, status, missing, lastSeq: fresh[fresh.length - 1].seq, added: [], improved: [], learned: [] };
  for (const event of fresh) {
    apply(draft, event);
  }
  const { added, improved, learned, ...next } = draft;
  return Object.freeze({
    ...next,
    episodes: state.episodes.with(added),
    improvements: state.improvements.with(improved),
    updates: state.updates.with(learned),
  });
}

/**
 * @param {Draft} draft changed in place
 * @param {import("../ui/contracts.js").RunEvent} event
 */
function apply(draft, event) {
  if (event.version !== KNOWN_VERSION) {
    draft.unreadable = true;
    return;
  }
  switch (event.type) {
    case "started":
      draft.started = event;
      break;
    case "baseline":
      draft.baselines = [...draft.baselines.filter(({ method }) => method !== event.method), event];
      break;
    case "episode":
      addEpisode(draft, event);
      break;
    case "update":
      draft.learned.push(event);
      break;
    case "progress":
      draft.progress = { stage: event.stage, done: event.done, total: event.total };
      break;
    case "finished":
      draft.report = event.report;
      draft.reportSeq = event.seq;
      draft.progress = null;
      break;
    default: // a type of a newer server: only its number counts
  }
}

/**
 * @param {Draft} draft changed in place
 * @param {import("../ui/contracts.js").EpisodeEvent} event
 */
function addEpisode(draft, event) {
  if (event.feasible && event.step_time_us < draft.bestUs) {
    draft.bestUs = event.step_time_us;
    draft.bestIndex = draft.episodes.length + draft.added.length;
    draft.improved.push(draft.bestIndex);
  }
  draft.anyInfeasible ||= !event.feasible;
  draft.progress = null;
  draft.added.push({
    seq: event.seq,
    episode: event.episode,
    stepTimeUs: event.step_time_us,
    feasible: event.feasible,
    bestStepTimeUs: event.best_step_time_us,
    evaluations: event.evaluations,
    elapsedSeconds: event.elapsed_seconds,
    placement: Int16Array.from(event.placement), // a cluster has at most 256 devices
    levelGroups: event.level_groups ?? null,
  });
}
