/** The common part of the states of all jobs: pure functions of numbered events and of the server's status. */

/**
 * @template Event
 * @typedef {{ type: "events", events: readonly Event[], whole?: boolean }} EventsAction `whole`: no event between them
 *   is stored, since a thinned run has gaps in its numbers
 */

/**
 * The server's status of a job, beside its events.
 *
 * @typedef {object} JobStatus
 * @property {import("../ui/contracts.js").RunStatus} status
 * @property {string} error
 * @property {string} [stage] of a training, before its first events
 * @property {number} [done]
 * @property {number} [total]
 *
 * @typedef {{ type: "status" } & JobStatus} StatusAction
 */

export const KNOWN_VERSION = 1;

/** A graph that has been read is ready; the other jobs are done. */
const ENDED = new Set(["done", "ready", "failed", "cancelled"]);

/**
 * @param {string} status
 * @returns {boolean} whether no more events will come
 */
export function hasEnded(status) {
  return ENDED.has(status);
}

/**
 * The events that follow `lastSeq` without a gap, each once, from events in any order; of whole pages, with all gaps.
 *
 * @template {{ seq: number }} Event
 * @param {readonly Event[]} events
 * @param {number} lastSeq number of the last event that was applied
 * @param {boolean} [whole] whether no event between them is stored
 * @returns {{ fresh: Event[], missing: boolean }} `missing`: one came before another that is not here yet
 */
export function following(events, lastSeq, whole = false) {
  const ahead = events.filter(({ seq }) => seq > lastSeq).sort((one, other) => one.seq - other.seq);
  const fresh = [];
  let last = lastSeq;
  for (const event of ahead) {
    if (event.seq > last + 1 && !whole) {
      break;
    }
    if (event.seq > last) {
      fresh.push(event);
      last = event.seq;
    }
  }
  return { fresh, missing: (ahead.at(-1)?.seq ?? last) > last };
}
