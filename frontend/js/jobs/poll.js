/** Polling: paused while the tab is hidden, and slower while the server does not answer. */

import { isGone } from "../ui/server.js";
import { deletedWords, UNREACHABLE } from "./words.js";

const LONGEST_WAIT_MILLISECONDS = 30_000;

/**
 * Call `ask` every `milliseconds` until it returns false or the server answers 404.
 *
 * @param {() => Promise<boolean>} ask resolves to whether to ask again; throws without an answer
 * @param {number} milliseconds
 * @param {(failures: number, error: unknown) => void} [onFailure] called with the failures in a row, 0 once it works again
 */
export function poll(ask, milliseconds, onFailure = () => undefined) {
  let failures = 0;
  const wait = () => Math.min(milliseconds * 2 ** failures, LONGEST_WAIT_MILLISECONDS);
  const next = () => setTimeout(turn, wait());
  async function turn() {
    if (document.hidden) {
      document.addEventListener("visibilitychange", turn, { once: true });
      return;
    }
    try {
      const again = await ask();
      if (failures > 0) {
        failures = 0;
        onFailure(0, null);
      }
      if (again) {
        next();
      }
    } catch (error) {
      failures += 1;
      onFailure(failures, error);
      if (!isGone(error)) {
        next();
      }
    }
  }
  turn();
}

/**
 * A failure in words.
 *
 * @param {string} what was asked for: `policy`
 * @param {number} failures in a row
 * @param {unknown} error the last of them
 * @returns {string} empty after a single failure, which the next answer may end
 */
export function failureWords(what, failures, error) {
  if (isGone(error)) {
    return deletedWords(what);
  }
  return failures > 1 ? UNREACHABLE : "";
}
