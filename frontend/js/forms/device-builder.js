/**
 * The devices of a form as rows of kind × count × memory, with a choice of machine and links.
 *
 * The text field is what the form sends. A change of the rows writes it, a change of the text is parsed by the server,
 * and the rows follow or say that they cannot show it.
 */

import { element, find, setText } from "../ui/dom.js";
import { formatCount } from "../ui/format.js";
import { post } from "../ui/server.js";
import { errorSentence } from "../ui/sentences.js";
import { faultOfRows, linksThatFit, MOST_DEVICES, MOST_MEMORY_GIB, plain, textOfRows } from "./device-text.js";

/** @typedef {import("./device-text.js").Described} Described */
/** @typedef {import("./device-text.js").DeviceRow} DeviceRow */

const REST_MILLISECONDS = 300;
const NO_ROWS = "Rows cannot show these devices; change them in the text.";

export class DeviceBuilder {
  #host;
  #text;
  #echo;
  #address;
  #choices;
  #changed;
  /** @type {Described} */
  #described;
  /** @type {DeviceRow[]} */
  #rows = [];
  #links = "";
  #asked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {HTMLElement} part the fieldset of the devices
   * @param {() => void} changed called when what the devices are is known anew
   */
  constructor(part, changed) {
    this.#host = find(part, "[data-part=device-builder]", HTMLElement);
    this.#text = find(part, "textarea", HTMLTextAreaElement);
    this.#echo = find(part, "[data-part=devices-echo]", HTMLElement);
    this.#address = String(part.dataset.address);
    this.#choices = /** @type {import("./device-text.js").DeviceChoices} */ (JSON.parse(find(part, "script", HTMLScriptElement).text));
    this.#changed = changed;
    this.#described = this.#choices.described;
    this.#text.addEventListener("input", () => {
      this.#text.setCustomValidity("");
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#ask(true), REST_MILLISECONDS);
    });
    this.#host.hidden = false;
    this.#take(this.#described, true);
    if (this.#text.value !== this.#text.defaultValue) {
      this.#ask(true); // a browser has restored what was entered before
    }
  }

  /** What the devices are, as far as the server has said; with an error where they are none. */
  get described() {
    return this.#described;
  }

  /**
   * Ask the server what the text says.
   *
   * @param {boolean} showRows whether the rows follow it
   */
  async #ask(showRows) {
    const number = ++this.#asked;
    try {
      const answer = await post(this.#address, { text: this.#text.value }, "application/json");
      const described = /** @type {Described} */ (await answer.json());
      if (number === this.#asked) {
        this.#take(described, showRows);
      }
    } catch {
      setText(this.#echo, "The server does not say what these devices are; it will when the form is sent.");
    }
  }

  /**
   * @param {Described} described
   * @param {boolean} showRows
   */
  #take(described, showRows) {
    this.#described = described;
    this.#say(described.error === "" ? described.words : errorSentence(described.error), described.error !== "");
    if (showRows && described.error === "") {
      this.#rows = described.rows ?? [];
      this.#links = described.links;
      this.#draw();
    }
    this.#changed();
  }

  /**
   * @param {string} words
   * @param {boolean} isWrong
   */
  #say(words, isWrong) {
    this.#echo.hidden = words === "";
    this.#echo.toggleAttribute("data-wrong", isWrong);
    setText(this.#echo, words);
  }

  /** Write the rows into the text. */
  #write() {
    const fault = faultOfRows(this.#rows);
    this.#text.setCustomValidity(fault); // the form is not sent with devices that are not those of the rows
    if (fault !== "") {
      this.#asked += 1; // an answer that is under way is out of date
      this.#described = { ...this.#described, error: fault };
      this.#say(fault, true);
      this.#changed();
      return;
    }
    this.#set(textOfRows(this.#rows, this.#links, this.#choices.kinds), false);
  }

  /**
   * @param {string} text
   * @param {boolean} showRows
   */
  #set(text, showRows) {
    this.#text.value = text;
    this.#text.removeAttribute("aria-invalid");
    this.#text.closest(".field")?.querySelector(".errorlist")?.remove();
    this.#ask(showRows);
  }

  #draw() {
    const { machine, rows } = this.#described;
    const isShown = machine === "" && rows !== null;
    const list = isShown ? this.#rows.map((row, index) => this.#drawRow(row, index)) : [];
    const add = element("button", { type: "button", class: "button" }, "Add devices");
    add.addEventListener("click", () => this.#add());
    const note = machine === "" && rows === null ? [element("p", { class: "hint" }, NO_ROWS)] : [];
    this.#host.replaceChildren(
      ...note,
      ...(isShown ? [element("ul", { class: "device-rows", "aria-label": "Devices" }, ...list)] : []),
      element("div", { class: "device-tools" }, ...(isShown ? [add] : []), this.#drawLinks(isShown)),
    );
  }

  /**
   * @param {DeviceRow} row
   * @param {number} index
   */
  #drawRow(row, index) {
    const number = formatCount(index + 1);
    const count = element("input", { type: "number", min: 1, max: MOST_DEVICES, step: 1, required: true, value: row.count, "aria-label": `Count, row ${number}` });
    const kind = element("select", { "aria-label": `Kind, row ${number}` }, ...this.#kindOptions(row.kind));
    const memory = element("input", { type: "number", min: 0, max: MOST_MEMORY_GIB, step: "any", required: true, value: plain(row.memory_gib), "aria-label": `Memory of each in GiB, row ${number}` });
    const remove = element("button", { type: "button", class: "icon-button", "aria-label": `Remove row ${number}`, title: "Remove" }, "×");
    kind.value = row.kind;
    count.addEventListener("input", () => this.#change(index, { count: count.value === "" ? 0 : Number(count.value) }));
    memory.addEventListener("input", () => this.#change(index, { memory_gib: memory.value === "" ? 0 : Number(memory.value) }));
    kind.addEventListener("input", () => {
      const usual = this.#usualMemory(kind.value);
      memory.value = plain(usual);
      this.#change(index, { kind: kind.value, memory_gib: usual });
      this.#redrawLinks();
    });
    remove.addEventListener("click", () => this.#remove(index));
    for (const control of [count, kind, memory]) {
      control.addEventListener("input", (event) => event.stopPropagation()); // the form looks again once the text has changed
    }
    return element("li", { class: "device-row" }, count, element("span", { "aria-hidden": "true" }, "×"), kind, memory, element("span", { class: "hint" }, "GiB each"), remove);
  }

  /** @param {string} chosen */
  #kindOptions(chosen) {
    const names = this.#choices.kinds.map(({ name }) => name);
    return (names.includes(chosen) ? names : [chosen, ...names]).map((name) => element("option", { value: name }, name));
  }

  /** @param {boolean} isShown whether there are rows, whose links can be chosen */
  #drawLinks(isShown) {
    const { machine } = this.#described;
    const usual = element("option", { value: "" }, isShown ? "the usual machines of these kinds" : "other devices");
    const fitting = isShown ? linksThatFit(this.#rows, this.#choices) : [];
    const links = fitting.map(({ name, label }) => element("option", { value: `@${name}` }, label));
    const machines = this.#choices.machines.map(({ name, label }) => element("option", { value: name }, label));
    const select = element("select", { "data-part": "device-links" }, usual, ...links, ...machines);
    select.value = machine || (isShown && this.#links ? `@${this.#links}` : "");
    select.addEventListener("input", (event) => {
      event.stopPropagation();
      this.#chooseLinks(select.value);
    });
    return element("label", { class: "device-links" }, element("span", {}, "Machine and links"), select);
  }

  #redrawLinks() {
    if (!linksThatFit(this.#rows, this.#choices).some(({ name }) => name === this.#links) && this.#links !== "") {
      this.#links = ""; // a kind without such links: the usual ones, as the line below says
      this.#write();
    }
    this.#host.querySelector(".device-links")?.replaceWith(this.#drawLinks(true));
  }

  /** @param {string} value `@` and the name of links, the name of a machine, or nothing */
  #chooseLinks(value) {
    if (value !== "" && !value.startsWith("@")) {
      this.#set(value, true);
      return;
    }
    this.#links = value.slice(1);
    if (this.#rows.length === 0) {
      const first = this.#choices.kinds.find(({ name }) => name === "H100") ?? this.#choices.kinds[0];
      this.#set(textOfRows([{ count: 2, kind: first.name, memory_gib: first.memory_gib }], "", this.#choices.kinds), true);
      return;
    }
    this.#write();
  }

  /** @param {string} kind */
  #usualMemory(kind) {
    return this.#choices.kinds.find(({ name }) => name === kind)?.memory_gib ?? 16;
  }

  /**
   * @param {number} index
   * @param {Partial<DeviceRow>} change
   */
  #change(index, change) {
    this.#rows = this.#rows.map((row, at) => (at === index ? { ...row, ...change } : row));
    this.#write();
  }

  #add() {
    const kind = this.#rows.some((row) => row.kind === "CPU") || this.#rows.length === 0 ? "H100" : "CPU";
    this.#rows = [...this.#rows, { count: 1, kind, memory_gib: this.#usualMemory(kind) }];
    this.#draw();
    this.#write();
    this.#focus(this.#rows.length - 1);
  }

  /** @param {number} index */
  #remove(index) {
    this.#rows = this.#rows.filter((_, at) => at !== index);
    this.#draw();
    this.#write();
    this.#focus(Math.min(index, this.#rows.length - 1));
  }

  /** @param {number} index of a row; the button that adds one where there is none */
  #focus(index) {
    const control = this.#host.querySelectorAll(".device-row input[type=number]:first-child")[index] ?? this.#host.querySelector("button");
    if (control instanceof HTMLElement) {
      control.focus();
    }
  }
}
