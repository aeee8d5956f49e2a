/** Asking again and again, but not while the tab is hidden, and less often while the server does not answer. */

const LONGEST_WAIT_MILLISECONDS = 30_000;

/**
 * Call `ask` every `milliseconds` until it returns false.
 *
 * @param {() => Promise<boolean>} ask whether to ask again; throws where there was no answer
 * @param {number} milliseconds
 * @param {(failures: number) => void} [onFailure] called with the failures in a row, 0 once it works again
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
        onFailure(0);
      }
      if (again) {
        next();
      }
    } catch {
      failures += 1;
      onFailure(failures);
      next();
    }
  }
  turn();
}
