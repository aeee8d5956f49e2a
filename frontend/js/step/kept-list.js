/** The list of kept placements: show, rename, download, delete; keep the shown one; upload one. */

import { tokenOf } from "../run/kept-placements.js";
import { element, find, setAttributes, setText } from "../ui/dom.js";
import { watchDownloads } from "../ui/downloads.js";
import { counted, cutName, formatBytes, formatTime } from "../ui/format.js";

/** @typedef {import("../run/kept-placements.js").KeptPlacement} KeptPlacement */
/** @typedef {import("../run/kept-placements.js").KeptPlacements} KeptPlacements */

const ORIGINS = { hand: "by hand", run: "from a run", upload: "uploaded" };
const DOWNLOAD_WORDS = [
  ["placement.json", "Placement (.json)"],
  ["model.device_map.json", "device_map for PyTorch"],
  ["model.split_spec.json", "split_spec for pipeline stages"],
  ["placed.pb", "Placed GraphDef (.pb)"],
  ["placed.pbtxt", "Placed GraphDef as text (.pbtxt)"],
  ["placed.zip", "Placed SavedModel (.zip)"],
  ["placed.onnx", "Placed ONNX model (.onnx)"],
  ["placed-stages.zip", "Stages for ONNX Runtime (.zip)"],
];

export class KeptList {
  #root;
  #kept;
  #onShow;
  #downloads;
  #body = element("tbody");
  /** @type {readonly KeptPlacement[]} the rows as they were last written */
  #written = [];

  /**
   * @param {HTMLElement} root the section with `[data-kept=…]`; `data-downloads` names the files that can be written
   * @param {KeptPlacements} kept
   * @param {{ onShow: (token: string) => void, onKeep: (name: string) => Promise<string>,
   *   onGoOn: (method: string, evaluations: string) => Promise<void> }} acts
   */
  constructor(root, kept, { onShow, onKeep, onGoOn }) {
    this.#root = root;
    this.#kept = kept;
    this.#onShow = onShow;
    this.#downloads = downloadsOf(root);
    const heads = ["Name", "Step time", "Made", ""].map((text) => element("th", { scope: "col" }, text));
    const table = element("table", { class: "kept" }, element("thead", {}, element("tr", {}, ...heads)), this.#body);
    find(root, "[data-kept=rows]", HTMLElement).replaceChildren(table);
    const form = find(root, "[data-kept=keep]", HTMLFormElement);
    const name = find(form, "input[name=name]", HTMLInputElement);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#try(async () => {
        onShow(await onKeep(name.value));
        name.value = "";
      });
    });
    const goOn = find(root, "[data-kept=go-on]", HTMLFormElement);
    goOn.addEventListener("submit", (event) => {
      event.preventDefault();
      const asked = new FormData(goOn);
      this.#try(() => onGoOn(String(asked.get("method")), String(asked.get("evaluations"))));
    });
    const file = find(root, "[data-kept=file]", HTMLInputElement);
    file.addEventListener("change", () => {
      const [chosen] = file.files ?? [];
      if (chosen) {
        this.#say(`Simulating ${chosen.name}…`);
        this.#try(async () => onShow(await kept.upload(chosen)));
      }
      file.value = "";
    });
    watchDownloads(this.#body);
    this.show("");
  }

  /** @param {string} shown token of the shown placement */
  show(shown) {
    const { rows } = this.#kept;
    find(this.#root, "[data-kept=rows]", HTMLElement).hidden = rows.length === 0;
    if (this.#written !== rows && !this.#body.querySelector("input")) {
      this.#written = rows;
      this.#body.replaceChildren(...rows.map((row) => this.#row(row)));
    }
    for (const row of this.#body.rows) {
      const isShown = `placement-${row.dataset.placement}` === shown;
      setAttributes(find(row, "button.name", HTMLButtonElement), { "aria-current": isShown ? "true" : null });
    }
  }

  /** @param {KeptPlacement} row */
  #row(row) {
    const show = element("button", { type: "button", class: "link-button name" }, cutName(row.name, 60));
    show.addEventListener("click", () => this.#onShow(tokenOf(row)));
    const name = element("td", {}, show);
    const rename = this.#button("Rename", row, () => this.#rename(row, name));
    const remove = this.#button("Delete", row, () => {
      if (confirm(`Delete the placement “${row.name}”? This cannot be undone.`)) {
        this.#try(() => this.#kept.delete(row));
      }
    });
    const time = element("td", { class: "number" }, formatTime(row.step_time_us, 4));
    if (row.missing_bytes > 0) {
      time.append(element("span", { class: "is-over" }, ` lacks ${formatBytes(row.missing_bytes)}`));
    }
    return element(
      "tr",
      { "data-placement": row.id },
      name,
      time,
      element("td", {}, madeWords(row)),
      element("td", { class: "row-acts" }, this.#menu(row), rename, remove),
    );
  }

  /** @param {KeptPlacement} row */
  #menu(row) {
    const links = this.#downloads.map(([name, words]) => element("li", {}, element("a", { href: row.urls.downloads[name], "data-download": words, download: true }, words)));
    const summary = element("summary", { class: "button is-quiet", "aria-label": `Download ${cutName(row.name, 60)}` }, "Download");
    return element("details", { class: "menu" }, summary, element("ul", { class: "card menu-body" }, ...links));
  }

  /**
   * @param {KeptPlacement} row
   * @param {HTMLTableCellElement} cell
   */
  #rename(row, cell) {
    const input = element("input", { type: "text", maxlength: 200, value: row.name, "aria-label": "New name" });
    const form = element("form", { class: "rename" }, input, element("button", { class: "button", type: "submit" }, "Save"));
    const shown = [...cell.childNodes];
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#try(async () => {
        form.remove();
        cell.append(...shown);
        await this.#kept.rename(row, input.value);
      });
    });
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") {
        cell.replaceChildren(...shown);
      }
    });
    cell.replaceChildren(form);
    input.select();
  }

  /**
   * @param {string} words
   * @param {KeptPlacement} row
   * @param {() => void} act
   */
  #button(words, row, act) {
    const button = element("button", { type: "button", class: "button is-quiet", "aria-label": `${words} ${cutName(row.name, 60)}` }, words);
    button.addEventListener("click", act);
    return button;
  }

  /** @param {() => Promise<void>} act */
  async #try(act) {
    try {
      await act();
      this.#say("");
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {string} words */
  #say(words) {
    setText(find(this.#root, "[data-kept=message]", HTMLElement), words);
  }
}

/**
 * @param {KeptPlacement} row
 * @returns {string}
 */
export function madeWords(row) {
  const when = new Date(row.created_at).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
  const split = row.split_groups > 0 ? `, ${counted(row.split_groups, "group")} on several devices` : "";
  return `${ORIGINS[row.origin] ?? row.origin}, ${when}${split}`;
}

/**
 * The files that the graph's format can be written as, with words.
 *
 * @param {HTMLElement} root with `data-downloads`
 * @returns {[string, string][]}
 */
export function downloadsOf(root) {
  const names = String(root.dataset.downloads).split(" ");
  return /** @type {[string, string][]} */ (DOWNLOAD_WORDS.filter(([name]) => names.includes(name)));
}
