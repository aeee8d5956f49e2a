/**
 * Groups that a person drags out of the graph onto a device: the devices light up with what the move would change, a mark
 * follows the pointer, and Escape or a release elsewhere moves nothing; after a release a line says so, until the next press.
 */

import { asDropTarget, deviceMark, lockMark } from "../graph/device-legend.js";
import { element, setText } from "../ui/dom.js";
import { showChanges } from "./move-buttons.js";

/** @typedef {import("../graph/devices.js").DeviceLook} DeviceLook */

/**
 * @typedef {object} Load what is dragged
 * @property {string} words such as `3 groups`
 * @property {string} stays what is said of locked groups among them; empty: none is locked
 * @property {boolean} isLocked whether none of them may move
 * @property {number} current their device; −1 if they are on several
 * @property {Promise<import("./gains.js").MoveGains> | null} gains null: they are locked
 */

/** Pixels from the pointer to the mark that follows it. */
const GHOST_PIXELS = 14;
const NOTHING = "Nothing moved: drop groups on another device.";

export class GroupDrag {
  #root;
  #bar;
  #nothing = element("p", { class: "hint drop-nothing", role: "status" });
  #looks;
  /** @type {AbortController | null} ends the drag under way */
  #drag = null;
  /** @type {Element | null} the target below the pointer */
  #over = null;

  /**
   * @param {HTMLElement} root of the page; `[data-drop-device]` in it are devices that groups can be dropped on
   * @param {HTMLElement} stage of the graph, over which devices are shown while groups are dragged
   * @param {readonly DeviceLook[]} looks
   */
  constructor(root, stage, looks) {
    this.#root = root;
    this.#looks = looks;
    this.#bar = element("div", { class: "drop-bar", hidden: true, "aria-hidden": "true" });
    stage.append(this.#bar, this.#nothing);
  }

  /**
   * Follow the pointer until it is released.
   *
   * @param {PointerEvent} event with which the drag begins
   * @param {Load} load
   * @param {(device: number) => void} onDrop not called for the device where they are, or where they may not go
   */
  begin(event, load, onDrop) {
    this.#end();
    const drag = new AbortController();
    this.#drag = drag;
    const ghost = ghostOf(load);
    this.#root.append(ghost);
    this.#showBar(load);
    this.#root.classList.add("is-dragging-groups");
    drag.signal.addEventListener("abort", () => {
      ghost.remove();
      this.#bar.hidden = true;
      this.#root.classList.remove("is-dragging-groups");
      this.#light(null);
    });
    const listen = (/** @type {string} */ type, /** @type {(event: any) => void} */ act) =>
      window.addEventListener(type, act, { signal: drag.signal, capture: true });
    const move = (/** @type {PointerEvent} */ { clientX: x, clientY: y }) => {
      const [left, top] = [within(x, ghost.offsetWidth, innerWidth), within(y, ghost.offsetHeight, innerHeight)];
      ghost.style.transform = `translate(${left}px, ${top}px)`;
      this.#light(this.#targetAt(x, y, load.current));
    };
    listen("pointermove", (/** @type {PointerEvent} */ next) => next.pointerId === event.pointerId && move(next));
    listen("pointerup", (/** @type {PointerEvent} */ up) => {
      const over = this.#over;
      this.#end();
      if (up.pointerId === event.pointerId && over) {
        onDrop(deviceOf(over));
      } else if (up.pointerId === event.pointerId) {
        setText(this.#nothing, load.isLocked ? load.stays : NOTHING);
        window.addEventListener("pointerdown", () => setText(this.#nothing, ""), { once: true, capture: true });
      }
    });
    listen("pointercancel", () => this.#end());
    listen("pointerdown", () => this.#end());
    listen("blur", (/** @type {FocusEvent} */ blur) => blur.target === window && this.#end());
    listen("keydown", (/** @type {KeyboardEvent} */ key) => {
      if (key.key === "Escape") {
        key.stopPropagation();
        key.preventDefault();
        this.#end();
      }
    });
    move(event);
  }

  #end() {
    this.#drag?.abort();
    this.#drag = null;
  }

  /** @param {Load} load */
  #showBar({ current, gains }) {
    const places = this.#looks.map((look) => {
      const change = element("span", { class: "move-change" });
      const target = element("span", { class: "drop-target" }, deviceMark(look), `${look.label} `, change);
      asDropTarget(target, look);
      return { device: look.index, target, change };
    });
    showChanges(places, current, gains);
    this.#bar.replaceChildren(...places.map(({ target }) => target));
    this.#bar.hidden = false;
  }

  /** @param {Element | null} target the one below the pointer */
  #light(target) {
    if (target !== this.#over) {
      this.#over?.classList.remove("is-over");
      target?.classList.add("is-over");
      this.#over = target;
    }
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} current device of the groups
   * @returns {Element | null} a device that takes them
   */
  #targetAt(x, y, current) {
    const target = document.elementFromPoint(x, y)?.closest("[data-drop-device]");
    if (!target || deviceOf(target) === current) {
      return null;
    }
    const inBar = this.#bar.querySelector(`[data-drop-device="${deviceOf(target)}"]`);
    return inBar?.getAttribute("aria-disabled") === "true" ? null : target;
  }
}

/**
 * Where the mark begins: behind the pointer, or before it where the window ends.
 *
 * @param {number} at of the pointer
 * @param {number} size of the mark
 * @param {number} room in the window
 */
function within(at, size, room) {
  const behind = at + GHOST_PIXELS;
  return behind + size <= room ? behind : Math.max(0, at - GHOST_PIXELS - size);
}

/** @param {Element} target */
function deviceOf(target) {
  return Number(target.getAttribute("data-drop-device"));
}

/** @param {Load} load */
function ghostOf({ words, stays, isLocked }) {
  const ghost = element("div", { class: "drag-ghost", "aria-hidden": "true" }, ...(isLocked ? [lockMark()] : []), element("span", { class: "name" }, words));
  const more = element("span", { class: "hint" });
  setText(more, stays);
  ghost.append(more);
  return ghost;
}
