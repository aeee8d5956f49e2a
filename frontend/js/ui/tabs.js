/** Tabs: one panel of several at a time. Which one stands in the address, behind `#`. */

/** Key → the tab that it goes to, of those that are offered. */
const KEYS = /** @type {Record<string, (at: number, count: number) => number>} */ ({
  ArrowLeft: (at, count) => (at + count - 1) % count,
  ArrowRight: (at, count) => (at + 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
});

export class Tabs {
  #list;
  #tabs;
  #onShow;
  #shown = "";

  /**
   * @param {HTMLElement} root with a `[role=tablist]`, which is hidden without JavaScript, and a panel for each tab
   * @param {(panel: string) => void} onShow called with the id of a panel that is shown from now on
   */
  constructor(root, onShow) {
    this.#list = /** @type {HTMLElement} */ (root.querySelector("[role=tablist]"));
    this.#tabs = /** @type {HTMLButtonElement[]} */ ([...this.#list.querySelectorAll("[role=tab]")]);
    this.#onShow = onShow;
    this.#list.hidden = false;
    for (const tab of this.#tabs) {
      tab.addEventListener("click", () => this.#choose(tab));
    }
    this.#list.addEventListener("keydown", (event) => this.#onKey(event));
    window.addEventListener("hashchange", () => this.follow());
    this.#show(this.#offered[0]);
    this.follow();
  }

  /** @returns {HTMLButtonElement[]} */
  get #offered() {
    return this.#tabs.filter(({ hidden }) => !hidden);
  }

  /** @returns {string} id of the shown panel */
  get shown() {
    return this.#shown;
  }

  /**
   * @param {string} panel its id
   * @param {boolean} isOffered
   */
  offer(panel, isOffered) {
    const tab = this.#tabOf(panel);
    if (tab && tab.hidden === isOffered) {
      tab.hidden = !isOffered;
      if (isOffered || panel === this.#shown) {
        this.#show(this.#offered[0]);
        this.follow();
      }
    }
  }

  /** @param {string} panel its id */
  show(panel) {
    const tab = this.#tabOf(panel);
    if (tab && !tab.hidden) {
      this.#choose(tab);
    }
  }

  /** @param {HTMLButtonElement} tab that a person has chosen */
  #choose(tab) {
    this.#show(tab);
    history.replaceState(history.state, "", `#${panelOf(tab).id}`);
  }

  /** @param {HTMLButtonElement} shown */
  #show(shown) {
    const { id } = panelOf(shown);
    for (const tab of this.#tabs) {
      tab.setAttribute("aria-selected", String(tab === shown));
      tab.tabIndex = tab === shown ? 0 : -1;
      panelOf(tab).hidden = tab !== shown;
    }
    if (id !== this.#shown) {
      this.#shown = id;
      this.#onShow(id);
    }
  }

  /** Show the panel that the address names, or the one with what it names. */
  follow() {
    const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    const tab = this.#tabs.find((each) => panelOf(each).contains(target));
    if (target && tab && !tab.hidden) {
      this.#show(tab);
      if (target !== panelOf(tab)) {
        target.scrollIntoView();
      }
    }
  }

  /** @param {string} panel its id */
  #tabOf(panel) {
    return this.#tabs.find((tab) => tab.getAttribute("aria-controls") === panel);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const offered = this.#offered;
    const at = offered.findIndex((tab) => tab === document.activeElement);
    const next = at < 0 ? undefined : KEYS[event.key]?.(at, offered.length);
    if (next !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      offered[next].focus();
      this.#choose(offered[next]);
    }
  }
}

/**
 * @param {HTMLButtonElement} tab
 * @returns {HTMLElement}
 */
function panelOf(tab) {
  return /** @type {HTMLElement} */ (document.getElementById(String(tab.getAttribute("aria-controls"))));
}
