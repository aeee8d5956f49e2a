/** Links to files that show that the file is being made: a card at the edge of the page, until the browser saves it. */

import { fileNameOf, progressWords } from "./download-words.js";
import { element, setText } from "./dom.js";
import { formatBytes } from "./format.js";
import { getFile } from "./server.js";

/** A file that comes sooner shows nothing. */
const QUIET_MILLISECONDS = 1000;
const SHOWN_AFTERWARDS_MILLISECONDS = 6000;
const TICK_MILLISECONDS = 250;

/**
 * Fetch the files of the links `a[data-download]` below `root`. A click with a key held, or without this script, is the
 * browser's own.
 *
 * @param {ParentNode & EventTarget} root
 * @param {(link: HTMLAnchorElement, signal: AbortSignal) => Promise<Response>} [ask] for the file of a link
 */
export function watchDownloads(root, ask = (link, signal) => getFile(link.href, signal)) {
  root.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[data-download]") : null;
    if (!(event instanceof MouseEvent) || !(link instanceof HTMLAnchorElement) || !isPlain(event)) {
      return;
    }
    event.preventDefault();
    if (link.getAttribute("aria-disabled") !== "true") {
      fetchFile(link, ask);
    }
  });
}

/**
 * Give bytes to the browser as a file.
 *
 * @param {Blob} blob
 * @param {string} name
 */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** @param {MouseEvent} event */
function isPlain({ button, ctrlKey, metaKey, shiftKey, altKey }) {
  return button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey;
}

/**
 * @param {HTMLAnchorElement} link
 * @param {(link: HTMLAnchorElement, signal: AbortSignal) => Promise<Response>} ask
 */
async function fetchFile(link, ask) {
  const abort = new AbortController();
  const card = new DownloadCard(link.dataset.download || link.textContent?.trim() || "file", () => abort.abort());
  link.setAttribute("aria-disabled", "true");
  try {
    const answer = await ask(link, abort.signal);
    const blob = await received(answer, (bytes, total) => card.receive(bytes, total));
    const name = fileNameOf(answer.headers.get("Content-Disposition"));
    save(blob, name);
    card.end(`${name}: ${formatBytes(blob.size)}`);
  } catch (error) {
    if (abort.signal.aborted) {
      card.remove();
    } else {
      card.fail(error instanceof Error ? error.message : String(error));
    }
  } finally {
    link.removeAttribute("aria-disabled");
  }
}

/**
 * @param {Response} answer
 * @param {(bytes: number, total: number | null) => void} onBytes
 * @returns {Promise<Blob>}
 */
async function received(answer, onBytes) {
  const length = answer.headers.get("Content-Encoding") ? null : answer.headers.get("Content-Length");
  const total = length === null ? null : Number(length);
  const parts = [];
  let bytes = 0;
  const reader = answer.body?.getReader();
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    parts.push(piece.value);
    bytes += piece.value.length;
    onBytes(bytes, total);
  }
  return new Blob(parts, { type: "application/octet-stream" });
}

class DownloadCard {
  #name;
  #words = element("span", { class: "download-words", "aria-hidden": "true" });
  #title = element("strong", { class: "name" });
  #bar = element("progress", { max: 1, "aria-label": "Download" });
  #button = element("button", { type: "button", class: "button is-quiet" }, "Stop");
  #card;
  #since = performance.now();
  #firstByteAt = 0;
  #bytes = 0;
  /** @type {number | null} */
  #total = null;
  #timer;
  #isShown = false;

  /**
   * @param {string} name
   * @param {() => void} stop
   */
  constructor(name, stop) {
    this.#name = name;
    this.#card = element("div", { class: "card download-card", role: "status" }, this.#title, this.#words, this.#bar, this.#button);
    this.#button.addEventListener("click", stop);
    this.#timer = window.setInterval(() => this.#tick(), TICK_MILLISECONDS);
  }

  /**
   * @param {number} bytes
   * @param {number | null} total
   */
  receive(bytes, total) {
    this.#firstByteAt ||= performance.now();
    this.#bytes = bytes;
    this.#total = total;
  }

  /** @param {string} words */
  end(words) {
    clearInterval(this.#timer);
    if (this.#isShown) {
      this.#bar.remove();
      this.#button.remove();
      setText(this.#title, "Saved");
      setText(this.#words, words);
      setTimeout(() => this.remove(), SHOWN_AFTERWARDS_MILLISECONDS);
    }
  }

  /** @param {string} sentence */
  fail(sentence) {
    clearInterval(this.#timer);
    this.#show();
    this.#bar.remove();
    this.#card.setAttribute("role", "alert");
    setText(this.#title, `${this.#name} could not be made.`);
    this.#words.removeAttribute("aria-hidden");
    setText(this.#words, sentence);
    setText(this.#button, "Close");
    this.#button.addEventListener("click", () => this.remove());
  }

  remove() {
    clearInterval(this.#timer);
    this.#card.remove();
  }

  #tick() {
    const now = performance.now();
    if (now - this.#since < QUIET_MILLISECONDS) {
      return;
    }
    this.#show();
    setText(this.#title, this.#name);
    setText(
      this.#words,
      progressWords({
        name: this.#name,
        seconds: (now - this.#since) / 1000,
        receivedBytes: this.#bytes,
        totalBytes: this.#total,
        receivingSeconds: (now - this.#firstByteAt) / 1000,
      }),
    );
    if (this.#total) {
      this.#bar.value = this.#bytes / this.#total;
    }
  }

  #show() {
    if (!this.#isShown) {
      this.#isShown = true;
      cards().append(this.#card);
    }
  }
}

/** @returns {Element} the place of all cards */
function cards() {
  const there = document.querySelector(".download-cards");
  if (there) {
    return there;
  }
  const made = element("div", { class: "download-cards" });
  document.body.append(made);
  return made;
}
