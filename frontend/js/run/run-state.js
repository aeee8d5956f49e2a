/**
 * The state of a run as a pure function of its events: replaying them gives what live watching gave.
 *
 * Events are numbered from 1. One that was seen is ignored; one that comes too early is not applied, and `missing`
 * tells the feed to fetch what lies between.
 */

/**
 * @typedef {object} Episode
 * @property {number} episode numbered from 1
 * @property {number} stepTimeUs
 * @property {boolean} feasible
 * @property {number | null} bestStepTimeUs best feasible so far, trivial placements included
 * @property {number} evaluations used so far
 * @property {number} elapsedSeconds
 * @property {Uint8Array} placement [groups] device of each group
 *
 * @typedef {object} RunState
 * @property {number} lastSeq number of the last event applied
 * @property {boolean} missing whether an event came before one that is not here yet
 * @property {boolean} unreadable whether an event had a version that this page does not know
 * @property {import("../ui/contracts.js").RunStatus} status
 * @property {string} error
 * @property {import("../ui/contracts.js").StartedEvent | null} started
 * @property {readonly import("../ui/contracts.js").BaselineEvent[]} baselines one a method, the newest counts
 * @property {readonly Episode[]} episodes
 * @property {number} bestIndex of the first episode with the least feasible step time, -1 without one
 * @property {{ stage: string, done: number, total: number } | null} progress
 * @property {import("../ui/contracts.js").Report | null} report
 *
 * @typedef {{ type: "events", events: readonly import("../ui/contracts.js").RunEvent[] }} EventsAction
 * @typedef {{ type: "status", status: import("../ui/contracts.js").RunStatus, error: string }} StatusAction
 */

export const KNOWN_VERSION = 1;

const ENDED = new Set(["done", "failed", "cancelled"]);

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
    episodes: Object.freeze([]),
    bestIndex: -1,
    progress: null,
    report: null,
  });
}

/**
 * @param {import("../ui/contracts.js").RunStatus} status
 * @returns {boolean} whether no more events will come
 */
export function hasEnded(status) {
  return ENDED.has(status);
}

/**
 * @param {RunState} state
 * @param {EventsAction | StatusAction} action
 * @returns {RunState} the same object where nothing changed
 */
export function reduce(state, action) {
  if (action.type === "events") {
    return withEvents(state, action.events);
  }
  if (state.status === action.status && state.error === action.error) {
    return state;
  }
  return Object.freeze({ ...state, status: action.status, error: action.error });
}

/**
 * @param {RunState} state
 * @param {readonly import("../ui/contracts.js").RunEvent[]} events
 * @returns {RunState}
 */
function withEvents(state, events) {
  const ahead = events.filter((event) => event.seq > state.lastSeq).sort((one, other) => one.seq - other.seq);
  const fresh = withoutGaps(ahead, state.lastSeq);
  const missing = ahead.length > 0 && (ahead.at(-1)?.seq ?? 0) > (fresh.at(-1)?.seq ?? state.lastSeq);
  if (fresh.length === 0) {
    return missing === state.missing ? state : Object.freeze({ ...state, missing });
  }
  const status = state.status === "queued" ? "running" : state.status; // a new event means that a worker has it
  const draft = { ...state, status, missing, lastSeq: fresh[fresh.length - 1].seq, episodes: [...state.episodes] };
  for (const event of fresh) {
    apply(draft, event);
  }
  return Object.freeze({ ...draft, episodes: Object.freeze(draft.episodes) });
}

/**
 * Of events in order, those that follow `lastSeq` one by one; each once.
 *
 * @param {readonly import("../ui/contracts.js").RunEvent[]} ordered
 * @param {number} lastSeq
 * @returns {import("../ui/contracts.js").RunEvent[]}
 */
function withoutGaps(ordered, lastSeq) {
  const following = [];
  let expected = lastSeq + 1;
  for (const event of ordered) {
    if (event.seq > expected) {
      break;
    }
    if (event.seq === expected) {
      following.push(event);
      expected += 1;
    }
  }
  return following;
}

/**
 * @param {Omit<RunState, "episodes"> & { episodes: Episode[] }} draft changed in place
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
    case "progress":
      draft.progress = { stage: event.stage, done: event.done, total: event.total };
      break;
    case "finished":
      draft.report = event.report;
      draft.progress = null;
      break;
    default: // a type from a newer server: its number counts, its content does not
  }
}

/**
 * @param {Omit<RunState, "episodes"> & { episodes: Episode[] }} draft changed in place
 * @param {import("../ui/contracts.js").EpisodeEvent} event
 */
function addEpisode(draft, event) {
  const best = draft.bestIndex >= 0 ? draft.episodes[draft.bestIndex].stepTimeUs : Infinity;
  if (event.feasible && event.step_time_us < best) {
    draft.bestIndex = draft.episodes.length;
  }
  draft.progress = null;
  draft.episodes.push({
    episode: event.episode,
    stepTimeUs: event.step_time_us,
    feasible: event.feasible,
    bestStepTimeUs: event.best_step_time_us,
    evaluations: event.evaluations,
    elapsedSeconds: event.elapsed_seconds,
    placement: Uint8Array.from(event.placement), // a cluster has at most 64 devices
  });
}
