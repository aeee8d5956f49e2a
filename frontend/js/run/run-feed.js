/**
 * Brings a run's events: all that are stored first, then each new one as it comes.
 *
 *     loading --all pages read--> streaming --3 failures in a row--> polling --now and then--> streaming
 *     any --tab hidden--> paused --tab shown--> loading
 *     any --the run has ended and all its events are here--> ended
 *     any --the server knows no such run (404)--> gone
 *
 * A lost stream is opened again after the last number that was applied, so nothing is missed or repeated. One stream at
 * most is open in a tab, and none in a hidden one: browsers allow about six connections to a server.
 */

import { hasEnded } from "./run-state.js";

/** @typedef {"loading" | "live" | "reconnecting" | "polling" | "paused" | "ended" | "gone"} Connection */

/**
 * What the feed needs of a browser, so that a test can stand in for it.
 *
 * @typedef {object} Surroundings
 * @property {(url: string) => Promise<unknown>} getJson
 * @property {(url: string) => EventSourceLike} openStream
 * @property {(act: () => void, milliseconds: number) => unknown} later
 * @property {(timer: any) => void} forget
 * @property {() => boolean} isHidden
 *
 * @typedef {object} EventSourceLike
 * @property {(type: string, listener: (event: any) => void) => void} addEventListener
 * @property {() => void} close
 */

export const PAGE_SIZE = 1000;
export const POLL_MILLISECONDS = 2000;
const FAILURES_BEFORE_POLLING = 3;
const POLLS_BEFORE_STREAM = 5;
const LONGEST_WAIT_MILLISECONDS = 10_000;

export class RunFeed {
  #surroundings;
  #eventsUrl;
  #streamUrl;
  #store;
  #onConnection;
  /** @type {EventSourceLike | null} */
  #stream = null;
  /** @type {unknown} */
  #timer = null;
  /** @type {Promise<void> | null} */
  #catchingUp = null;
  #failures = 0;
  #polls = 0;
  /** @type {Connection} */
  #connection = "loading";
  #stopped = false;

  /**
   * @param {object} options
   * @param {string} options.eventsUrl of pages of events
   * @param {string} options.streamUrl of the stream
   * @param {{ state: () => import("./run-state.js").RunState,
   *   apply: (action: import("./run-state.js").EventsAction | import("./run-state.js").StatusAction) => void }} options.store
   * @param {(connection: Connection) => void} options.onConnection
   * @param {Surroundings} options.surroundings
   */
  constructor({ eventsUrl, streamUrl, store, onConnection, surroundings }) {
    this.#eventsUrl = eventsUrl;
    this.#streamUrl = streamUrl;
    this.#store = store;
    this.#onConnection = onConnection;
    this.#surroundings = surroundings;
  }

  /** Begin, or go on after a pause. */
  resume() {
    if (this.#isFinal()) {
      return;
    }
    this.#close();
    if (this.#surroundings.isHidden()) {
      this.#tell("paused");
      return;
    }
    this.#tell(this.#store.state().lastSeq === 0 ? "loading" : "reconnecting");
    this.#loadThen(() => this.#openStream());
  }

  /** Hold no connection until `resume`. */
  pause() {
    if (!this.#isFinal()) {
      this.#close();
      this.#tell("paused");
    }
  }

  /** For good. */
  stop() {
    this.#stopped = true;
    this.#close();
  }

  #openStream() {
    if (this.#isOver()) {
      return;
    }
    this.#close();
    const after = this.#store.state().lastSeq;
    const stream = this.#surroundings.openStream(withQuery(this.#streamUrl, { after }));
    this.#stream = stream;
    stream.addEventListener("open", () => this.#tell("live"));
    stream.addEventListener("events", (message) => this.#onEvents(stream, message.data));
    stream.addEventListener("status", () => this.#onStatus(stream));
    stream.addEventListener("error", () => this.#onStreamLost(stream));
  }

  /**
   * @param {EventSourceLike} stream
   * @param {string} data
   */
  #onEvents(stream, data) {
    if (stream !== this.#stream) {
      return;
    }
    this.#failures = 0;
    this.#tell("live");
    this.#store.apply({ type: "events", events: JSON.parse(data) });
    if (this.#store.state().missing) {
      this.#loadThen(() => undefined);
    }
  }

  /**
   * The stream says that the run has ended; the pages say the same with all events before it.
   *
   * @param {EventSourceLike} stream
   */
  #onStatus(stream) {
    if (stream === this.#stream) {
      this.#close();
      this.#loadThen(() => {
        this.#timer = this.#surroundings.later(() => this.#openStream(), POLL_MILLISECONDS);
      });
    }
  }

  /** @param {EventSourceLike} stream */
  #onStreamLost(stream) {
    if (stream !== this.#stream) {
      return;
    }
    this.#close();
    this.#failures += 1;
    if (this.#failures >= FAILURES_BEFORE_POLLING) {
      this.#polls = 0;
      this.#poll();
    } else {
      this.#tell("reconnecting");
      this.#timer = this.#surroundings.later(() => this.#openStream(), this.#waitMilliseconds());
    }
  }

  #poll() {
    this.#tell("polling");
    this.#loadThen(() => {
      this.#polls += 1;
      const next = this.#polls >= POLLS_BEFORE_STREAM ? () => this.#openStream() : () => this.#poll();
      this.#timer = this.#surroundings.later(next, POLL_MILLISECONDS);
    });
  }

  /**
   * Read all stored events that are not here yet, then go on with `next` unless that was all there will ever be.
   *
   * @param {() => void} next
   */
  #loadThen(next) {
    this.#catchingUp ??= this.#catchUp().finally(() => {
      this.#catchingUp = null;
    });
    this.#catchingUp.then(
      () => {
        if (hasEnded(this.#store.state().status) && !this.#store.state().missing) {
          this.#close();
          this.#tell("ended");
        } else if (!this.#isOver()) {
          next();
        }
      },
      (error) => this.#retry(next, error),
    );
  }

  /**
   * @param {() => void} next
   * @param {unknown} error
   */
  #retry(next, error) {
    if (this.#isOver()) {
      return;
    }
    this.#close();
    if (error instanceof Error && "status" in error && error.status === 404) {
      this.#tell("gone");
      return;
    }
    this.#failures += 1;
    this.#tell("reconnecting");
    const again = this.#failures >= FAILURES_BEFORE_POLLING ? () => this.#poll() : () => this.#loadThen(next);
    this.#timer = this.#surroundings.later(again, this.#waitMilliseconds());
  }

  async #catchUp() {
    for (;;) {
      const after = this.#store.state().lastSeq;
      const url = withQuery(this.#eventsUrl, { after, limit: PAGE_SIZE });
      const page = /** @type {import("../ui/contracts.js").EventsPage} */ (await this.#surroundings.getJson(url));
      this.#store.apply({ type: "events", events: page.events });
      const { lastSeq } = this.#store.state();
      if (lastSeq >= page.last_seq || lastSeq === after) {
        this.#store.apply({ type: "status", status: page.status, error: page.error });
        return;
      }
    }
  }

  #isOver() {
    return this.#isFinal() || this.#connection === "paused";
  }

  #isFinal() {
    return this.#stopped || this.#connection === "ended" || this.#connection === "gone";
  }

  #waitMilliseconds() {
    return Math.min(1000 * 2 ** (this.#failures - 1), LONGEST_WAIT_MILLISECONDS);
  }

  #close() {
    this.#stream?.close();
    this.#stream = null;
    if (this.#timer !== null) {
      this.#surroundings.forget(this.#timer);
      this.#timer = null;
    }
  }

  /** @param {Connection} connection */
  #tell(connection) {
    if (connection !== this.#connection) {
      this.#connection = connection;
      this.#onConnection(connection);
    }
  }
}

/**
 * @param {string} url
 * @param {Record<string, number>} values
 * @returns {string}
 */
function withQuery(url, values) {
  const query = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  return `${url}${url.includes("?") ? "&" : "?"}${query.join("&")}`;
}
