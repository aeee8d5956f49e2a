/**
 * What a page shows, in one place: its parts read it, change it, and are told of the changes that they asked for.
 *
 * @template {object} State an immutable value; a change makes a new one
 */
export class Store {
  #state;
  /** In the order in which they are told. @type {Set<Subscriber>} */
  #subscribers = new Set();
  #isTelling = false;

  /** @param {State} first */
  constructor(first) {
    this.#state = /** @type {Readonly<State>} */ (Object.freeze({ ...first }));
  }

  get state() {
    return this.#state;
  }

  /**
   * Change some values. A list with the same items is the same value.
   *
   * @param {Partial<State>} patch
   */
  set(patch) {
    const changed = Object.fromEntries(Object.entries(patch).filter(([key, value]) => !isSame(value, /** @type {any} */ (this.#state)[key])));
    if (Object.keys(changed).length > 0) {
      this.#state = Object.freeze({ ...this.#state, ...changed });
      this.#tell();
    }
  }

  /**
   * @param {readonly (keyof State)[]} keys
   * @param {(state: Readonly<State>, before: Readonly<State>) => void} listener called once after a change of some of
   *   these values, with the state that it was told of before. What it changes itself, others are told of next.
   * @returns {() => void} ends it
   */
  subscribe(keys, listener) {
    let known = this.#state;
    const subscriber = {
      isOutdated: () => keys.some((key) => known[key] !== this.#state[key]),
      tell: () => {
        const before = known;
        known = this.#state;
        listener(known, before);
      },
    };
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  #tell() {
    if (this.#isTelling) {
      return; // a listener changes something: it is told of in its turn
    }
    this.#isTelling = true;
    for (let next = this.#outdated(); next; next = this.#outdated()) {
      try {
        next.tell();
      } catch (error) {
        queueMicrotask(() => { throw error; }); // the others are told all the same
      }
    }
    this.#isTelling = false;
  }

  /** @returns {Subscriber | undefined} the first one that has not been told of a change */
  #outdated() {
    return [...this.#subscribers].find((subscriber) => subscriber.isOutdated());
  }
}

/**
 * @typedef {object} Subscriber
 * @property {() => boolean} isOutdated whether a value that it asked for is another one than it was told of last
 * @property {() => void} tell
 */

/**
 * @param {unknown} one
 * @param {unknown} other
 */
function isSame(one, other) {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => Object.is(item, other[index]));
  }
  return Object.is(one, other);
}
