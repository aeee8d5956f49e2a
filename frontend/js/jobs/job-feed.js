/**
 * Fetches the events of a job (a run, a training, a comparison): first the stored ones, then each new one.
 *
 *     loading --all pages read--> streaming --3 failures in a row--> polling --after 5 polls--> streaming
 *     any --two failed requests for a page--> unreachable --a page--> the state before
 *     any --tab hidden--> paused --tab shown--> loading
 *     any --the job has ended and all its events have come--> ended
 *     any --the job has been deleted (404)--> gone
 *
 * A lost stream is reopened after the last applied number, so nothing is missed or repeated. A tab has at most one open
 * stream, a hidden tab none: browsers allow about six connections to a server.
 */

import { getJson } from "../ui/server.js";
import { hasEnded } from "./job-state.js";
import { deletedWords, UNREACHABLE } from "./words.js";

/** @typedef {"loading" | "live" | "reconnecting" | "unreachable" | "polling" | "paused" | "ended" | "gone"} Connection */

/**
 * The browser's functions that the feed uses; a test replaces them.
 *
 * @typedef {object} Surroundings
 * @property {(url: string) => Promise<unknown>} getJson
 * @property {(url: string) => EventSourceLike} openStream
 * @property {(act: () => void, milliseconds: number) => unknown} later
 * @property {(timer: any) => void} forget
 * @property {() => boolean} isHidden
 *
 * @typedef {object} Store the receiver of the events
 * @property {() => { lastSeq: number, missing: boolean, status: string }} state
 * @property {(action: import("./job-state.js").EventsAction<any> | import("./job-state.js").StatusAction) => void} apply
 *
 * @typedef {object} EventSourceLike
 * @property {(type: string, listener: (event: any) => void) => void} addEventListener
 * @property {() => void} close
 */

export const PAGE_SIZE = 2000;
export const POLL_MILLISECONDS = 2000;
const FAILURES_BEFORE_POLLING = 3;
const POLLS_BEFORE_STREAM = 5;
const LONGEST_WAIT_MILLISECONDS = 10_000;

export class JobFeed {
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
   * @param {Store} options.store
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

  /** Start, or continue after a pause. */
  resume() {
    if (this.#isFinal()) {
      return;
    }
    this.#close();
    if (this.#surroundings.isHidden()) {
      this.#setConnection("paused");
      return;
    }
    this.#setConnection("loading");
    this.#loadThen(() => this.#openStream());
  }

  /** Hold no connection until `resume`. */
  pause() {
    if (!this.#isFinal()) {
      this.#close();
      this.#setConnection("paused");
    }
  }

  /** Stop for good. */
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
    stream.addEventListener("open", () => this.#setConnection("live"));
    stream.addEventListener("events", (message) => this.#onEvents(stream, message.data));
    stream.addEventListener("status", (message) => this.#onStatus(stream, JSON.parse(message.data)));
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
    this.#setConnection("live");
    this.#store.apply({ type: "events", events: JSON.parse(data) });
    if (this.#store.state().missing) {
      this.#loadThen(() => undefined);
    }
  }

  /**
   * After an end or a deletion, read the pages: they have all events before it.
   *
   * @param {EventSourceLike} stream
   * @param {import("./job-state.js").JobStatus | { status: "deleted" }} news
   */
  #onStatus(stream, news) {
    if (stream !== this.#stream) {
      return;
    }
    this.#failures = 0;
    if (news.status !== "deleted" && !hasEnded(news.status)) {
      this.#setConnection("live");
      this.#store.apply({ type: "status", ...news });
    } else {
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
      this.#setConnection("reconnecting");
      this.#timer = this.#surroundings.later(() => this.#openStream(), this.#waitMilliseconds());
    }
  }

  #poll() {
    this.#loadThen(() => {
      this.#setConnection("polling");
      this.#polls += 1;
      const next = this.#polls >= POLLS_BEFORE_STREAM ? () => this.#openStream() : () => this.#poll();
      this.#timer = this.#surroundings.later(next, POLL_MILLISECONDS);
    });
  }

  /**
   * Read all stored events that are missing, then call `next` unless the job has ended.
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
          this.#setConnection("ended");
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
      this.#setConnection("gone");
      return;
    }
    this.#failures += 1;
    this.#setConnection(this.#failures > 1 ? "unreachable" : "reconnecting");
    const again = this.#failures >= FAILURES_BEFORE_POLLING ? () => this.#poll() : () => this.#loadThen(next);
    this.#timer = this.#surroundings.later(again, this.#waitMilliseconds());
  }

  async #catchUp() {
    for (;;) {
      const after = this.#store.state().lastSeq;
      const url = withQuery(this.#eventsUrl, { after, limit: PAGE_SIZE });
      const page = /** @type {import("../ui/contracts.js").EventsPage} */ (await this.#surroundings.getJson(url));
      const { events, last_seq: newest, ...status } = page;
      this.#store.apply({ type: "events", events, whole: true });
      const { lastSeq } = this.#store.state();
      if (lastSeq >= newest || lastSeq === after) {
        this.#store.apply({ type: "status", ...status });
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
  #setConnection(connection) {
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

/**
 * The words for a connection that brings no news.
 *
 * @param {Connection} connection
 * @param {string} what the page follows: `policy`
 * @returns {string} empty for a good connection
 */
export function connectionWords(connection, what) {
  switch (connection) {
    case "gone":
      return deletedWords(what);
    case "unreachable":
      return UNREACHABLE;
    default:
      return "";
  }
}

/**
 * Follow the job of this page: `events.json` and `events` beside the page's address.
 *
 * @param {Store} store
 * @param {(connection: Connection) => void} onConnection
 * @returns {JobFeed}
 */
export function follow(store, onConnection) {
  const feed = new JobFeed({
    eventsUrl: "events.json",
    streamUrl: "events",
    store,
    onConnection,
    surroundings: {
      getJson,
      openStream: (url) => new EventSource(url),
      later: (act, milliseconds) => setTimeout(act, milliseconds),
      forget: (timer) => clearTimeout(timer),
      isHidden: () => document.hidden,
    },
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? feed.pause() : feed.resume()));
  addEventListener("pagehide", () => feed.pause());
  addEventListener("pageshow", (event) => event.persisted && feed.resume());
  feed.resume();
  return feed;
}
