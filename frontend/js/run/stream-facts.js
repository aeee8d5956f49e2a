/** The figures of a run for the throughput of a stream, at the top of its page: those of the answer's batch. */

import { find, setText } from "../ui/dom.js";
import { formatCount, formatTime, NOTHING, significant } from "../ui/format.js";

/**
 * @param {HTMLElement} root
 * @param {import("./store.js").Store<import("./page-state.js").PageState>} store
 */
export function showStreamFacts(root, store) {
  const host = root.querySelector("[data-part=stream-facts]");
  if (!(host instanceof HTMLElement)) {
    return; // the run is for the time of one step
  }
  const note = find(root, "[data-part=stream-note]", HTMLElement);
  store.subscribe(["run"], ({ run }) => {
    const words = streamFacts(run?.report ?? null);
    if (words === null) {
      return; // what the server wrote stays
    }
    host.hidden = false;
    find(host, "[data-part=samples]", HTMLElement).hidden = words.figures.samples === NOTHING;
    for (const [name, text] of Object.entries(words.figures)) {
      setText(find(host, `[data-stream=${name}]`, HTMLElement), text);
    }
    note.hidden = words.note === "";
    setText(note, words.note);
  });
}

/**
 * @param {import("../ui/contracts.js").Report | null} report
 * @returns {{ figures: Record<"samples" | "rate" | "period" | "batch" | "stages", string>, note: string } | null} null: no report of a stream
 */
export function streamFacts(report) {
  if (!report?.stream) {
    return null;
  }
  const { samples_per_second: samples, micro_batches_per_second: rate, period_us: periodUs, batch_time_us: batchUs, stages, stream } = report;
  return {
    figures: {
      samples: samples == null ? NOTHING : significant(samples),
      rate: rate == null ? NOTHING : significant(rate),
      period: formatTime(periodUs, 4),
      batch: formatTime(batchUs, 4),
      stages: formatCount(stages),
    },
    note: stream.note ? `Another order than the one asked for: ${stream.note}.` : "",
  };
}
