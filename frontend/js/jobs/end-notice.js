/**
 * The button “Notify me when it ends”. The page's own feed pauses while its tab is hidden, so a wanted notification asks
 * for the job's state itself.
 */

import { setText } from "../ui/dom.js";
import { getJson, isGone } from "../ui/server.js";
import { initialNotice, isOver, noticeWords, reduceNotice } from "./notice-state.js";
import { statusWords } from "./words.js";

/** @typedef {import("./notice-state.js").NoticeAction} NoticeAction */

const EVERY_MILLISECONDS = 10_000;

class EndNotice {
  #button;
  #words;
  #state;
  /** Of this page in this tab. */
  #key = `notify:${location.pathname}`;
  #timer = 0;

  /**
   * @param {HTMLButtonElement} button with the kind of the job, its id and its status
   * @param {HTMLElement} words
   */
  constructor(button, words) {
    this.#button = button;
    this.#words = words;
    this.#state = initialNotice({
      wasWanted: sessionStorage.getItem(this.#key) !== null,
      permission: Notification.permission,
      status: String(button.dataset.status),
    });
    button.addEventListener("click", () => this.#onClick());
    this.#show();
  }

  async #onClick() {
    if (this.#state.isWanted) {
      this.#apply({ type: "declined" });
    } else {
      this.#apply({ type: "asked", permission: await Notification.requestPermission() });
    }
  }

  /** @param {NoticeAction} action */
  #apply(action) {
    this.#state = reduceNotice(this.#state, action);
    this.#show();
  }

  #show() {
    const { isWanted, isDue, status } = this.#state;
    if (isWanted) {
      sessionStorage.setItem(this.#key, "yes");
    } else {
      sessionStorage.removeItem(this.#key);
    }
    this.#button.hidden = isOver(status);
    this.#button.setAttribute("aria-pressed", String(isWanted));
    setText(this.#words, noticeWords(this.#state, this.#what));
    if (isDue) {
      this.#notify();
      this.#apply({ type: "shown" });
    } else if (isWanted && this.#timer === 0) {
      this.#timer = window.setInterval(() => this.#look(), EVERY_MILLISECONDS);
    } else if (!isWanted) {
      clearInterval(this.#timer);
      this.#timer = 0;
    }
  }

  async #look() {
    const { kind, jobId } = this.#button.dataset;
    try {
      const states = /** @type {Record<string, Record<string, { status: string }>>} */ (
        await getJson(`/states.json?${kind}=${jobId}`)
      );
      this.#apply({ type: "status", status: states[String(kind)]?.[String(jobId)]?.status ?? "deleted" });
    } catch (error) {
      if (isGone(error)) {
        this.#apply({ type: "status", status: "deleted" });
      } // else the next look asks again
    }
  }

  #notify() {
    const title = `${this.#what[0]?.toUpperCase()}${this.#what.slice(1)} ${statusWords(this.#state.status).toLowerCase()}`;
    const name = document.querySelector("h1")?.textContent ?? "";
    try {
      const notice = new Notification(title, { body: name, tag: location.href });
      notice.addEventListener("click", () => {
        window.focus();
        notice.close();
      });
    } catch {
      setText(this.#words, title); // some browsers of phones have the word, but show none from a page
    }
  }

  get #what() {
    return String(this.#button.dataset.what);
  }
}

/**
 * Offer it where the page has the button and the browser can.
 *
 * @param {ParentNode} root
 */
export function offerEndNotice(root) {
  const button = root.querySelector("[data-part=notify]");
  const words = root.querySelector("[data-part=notify-words]");
  if (button instanceof HTMLButtonElement && words instanceof HTMLElement && "Notification" in window && isSecureContext) {
    new EndNotice(button, words);
  }
}
