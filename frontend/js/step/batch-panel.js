/** The tab of the micro-batches of a run for a stream: its answer's batch as a picture and as tables. */

import { linearTicks } from "../chart/scale.js";
import { deviceLooks } from "../graph/devices.js";
import { hasEnded } from "../jobs/job-state.js";
import { element, find, setText, svg } from "../ui/dom.js";
import { formatBytes, formatShare, formatTime } from "../ui/format.js";
import { getJson, isRefusal, showFailure } from "../ui/server.js";
import { SortedTable } from "../ui/sorted-table.js";
import { batchPeakLists, MEMORY_HEIGHT, memoryParts } from "./batch-memory.js";
import { heldWords, peakWords } from "./batch-memory-model.js";
import { batchPhases, batchRows, batchWords, blockWords, passOf, spanLabel, waitsOf } from "./batch-model.js";

/** @typedef {import("./batch-model.js").Block} Block */
/** @typedef {import("./batch-model.js").StreamBatch} StreamBatch */

const ROW_HEIGHT = 34;
const SPAN_HEIGHT = 22;
/** From a device's blocks to those of the next one: its memory is between. */
const STRIDE = ROW_HEIGHT + MEMORY_HEIGHT;
const ABOVE_ROWS = 24;
const BELOW_ROWS = 26;
/** The gap between the names and the picture. */
const BESIDE_NAMES = 10;
/** A longer batch is drawn wider than its place, and scrolled. */
const LEAST_SPAN_WIDTH = 7;
const MOST_WIDTH = 12_000;
const TICK_WIDTH = 110;
/** Pixels that a letter of a phase's name takes. */
const LETTER_WIDTH = 7.5;

export class BatchPanel {
  #root;
  #looks;
  #picture;
  /** @type {StreamBatch | null} */
  #batch = null;
  #isEnded = false;
  #isWanted = false;
  #isLoading = false;
  /** @type {Map<Block, SVGElement>} */
  #spans = new Map();

  /**
   * @param {HTMLElement} root the section, with `[data-batch=…]`
   * @param {readonly import("../ui/contracts.js").Device[]} devices
   * @param {import("../run/store.js").Store<import("../run/page-state.js").PageState>} store
   */
  constructor(root, devices, store) {
    this.#root = root;
    this.#looks = deviceLooks(devices);
    this.#picture = this.#part("picture");
    new ResizeObserver(() => this.#draw()).observe(this.#picture);
    store.subscribe(["run"], ({ run }) => {
      this.#isEnded = run !== null && hasEnded(run.status) && Boolean(run.report?.feasible);
      this.#load();
    });
  }

  /** Its tab is shown: the batch is simulated for it. */
  show() {
    this.#isWanted = true;
    this.#load();
  }

  async #load() {
    if (!this.#isWanted || !this.#isEnded || this.#isLoading || this.#batch) {
      return;
    }
    this.#isLoading = true;
    setText(this.#part("words"), "Simulating the batch…");
    try {
      this.#batch = /** @type {StreamBatch} */ (await getJson("blocks.json"));
      this.#show(this.#batch);
    } catch (error) {
      setText(this.#part("words"), isRefusal(error) ? error.message : "");
      if (!isRefusal(error)) {
        showFailure(this.#part("failure"), "The batch cannot be drawn.", error, () => this.#load());
      }
    } finally {
      this.#isLoading = false;
    }
  }

  /** @param {StreamBatch} batch */
  #show(batch) {
    this.#part("failure").replaceChildren();
    setText(this.#part("words"), batchWords(batch, this.#labels));
    this.#part("body").hidden = false;
    const passes = new Set(batch.blocks.map(passOf));
    this.#part("backward-key").hidden = !passes.has("backward");
    this.#part("optimizer-key").hidden = !passes.has("optimizer");
    this.#draw();
    const rows = batchRows(batch, this.#labels).map(({ device }) => ({ device, label: this.#labels[device] }));
    this.#part("peaks").replaceChildren(...batchPeakLists(batch.memory, rows));
    const details = find(this.#root, "[data-batch=details]", HTMLDetailsElement);
    details.addEventListener("toggle", () => details.open && this.#fillTables(batch), { once: true });
    this.#root.dataset.state = "ready";
  }

  get #labels() {
    return this.#looks.map(({ label }) => label);
  }

  #draw() {
    const batch = this.#batch;
    if (!batch || this.#picture.clientWidth === 0) {
      return;
    }
    const rows = batchRows(batch, this.#labels);
    const names = element("ul", { class: "batch-names", "aria-hidden": "true" }, ...rows.map(({ device, mark }) => this.#name(batch, device, mark)));
    this.#picture.replaceChildren(names);
    const most = Math.max(...rows.map(({ blocks }) => blocks.length));
    const room = Math.max(120, this.#picture.clientWidth - names.offsetWidth - BESIDE_NAMES);
    const width = Math.min(MOST_WIDTH, Math.max(room, most * LEAST_SPAN_WIDTH));
    const label = `Timeline of the batch. ${batchWords(batch, this.#labels)} The tables below have the same blocks.`;
    const scroller = element("div", { class: "batch-scroller", role: "region", tabindex: 0, "aria-label": "Timeline of the batch" });
    this.#picture.append(scroller);
    const drawn = this.#svg(batch, rows, width, label);
    drawn.addEventListener("pointermove", (event) => this.#read(batch, rows, width, /** @type {PointerEvent} */ (event)));
    scroller.append(drawn);
  }

  /**
   * @param {StreamBatch} batch
   * @param {number} device
   * @param {string} mark
   */
  #name(batch, device, mark) {
    const { label, name } = this.#looks[device];
    const text = element("span", { title: name }, label);
    const words = element("span", { class: "batch-name" }, text, ...(mark ? [element("strong", { class: "batch-mark" }, mark)] : []));
    return element("li", { class: mark ? "is-busiest" : null }, words, element("span", { class: "batch-memory-words" }, peakWords(batch.memory, device)));
  }

  /**
   * Say what is held where the pointer is.
   *
   * @param {StreamBatch} batch
   * @param {readonly import("./batch-model.js").BatchRow[]} rows
   * @param {number} width
   * @param {PointerEvent} event
   */
  #read(batch, rows, width, event) {
    const { left, top } = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    const row = rows[Math.floor((event.clientY - top - ABOVE_ROWS) / STRIDE)];
    if (row) {
      const us = Math.min(1, Math.max(0, (event.clientX - left) / (width - 1))) * batch.batch_time_us;
      setText(this.#part("readout"), heldWords(batch.memory, row.device, this.#labels[row.device], us));
    }
  }

  /**
   * @param {StreamBatch} batch
   * @param {readonly import("./batch-model.js").BatchRow[]} rows
   * @param {number} width
   * @param {string} label
   */
  #svg(batch, rows, width, label) {
    const height = topOf(rows.length) + BELOW_ROWS;
    const end = Math.max(batch.batch_time_us, Number.MIN_VALUE);
    const x = (/** @type {number} */ us) => (us / end) * (width - 1);
    const hatch = svg("pattern", { id: "batch-hatching", width: 6, height: 6, patternUnits: "userSpaceOnUse" }, svg("path", { class: "batch-hatch", d: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5" }));
    this.#spans = new Map(rows.flatMap(({ blocks }, row) => blocks.map((block) => [block, spanOf(block, row, x)])));
    return svg(
      "svg",
      { class: "batch", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      svg("defs", {}, hatch),
      ...batchPhases(batch).flatMap((phase) => phaseParts(phase, x, height)),
      ...rows.flatMap(({ mark }, row) => rowParts(mark !== "", row, width)),
      ...this.#spans.values(),
      ...memoryParts(batch.memory, rows.map(({ device }, row) => ({ device, top: topOf(row) + ROW_HEIGHT, colour: this.#looks[device].colour, label: this.#labels[device] })), end, x),
      ...tickParts(end, x, width, height),
    );
  }

  /** @param {StreamBatch} batch */
  #fillTables(batch) {
    const rows = batchRows(batch, this.#labels);
    const heads = ["Device", "Busy in a micro-batch", "Busy in the batch", "Idle in the fill", "Idle in the steady state", "Idle in the drain", "Held always", "Peak over the batch", "Reached at", "Then in flight", "Memory"];
    const { floor_bytes: floors, limit_bytes: limits, peaks } = batch.memory;
    const lines = rows.map(({ device, mark }) => {
      const load = batch.device_load_us[device];
      const share = formatShare((load * batch.stream.micro_batches) / batch.batch_time_us);
      const { time_us: at, in_flight: flying } = peaks[device];
      const memory = [formatBytes(floors[device]), formatBytes(batch.peak_bytes[device]), formatTime(at), String(flying), formatBytes(limits[device])];
      const cells = [formatTime(load), share, ...waitsOf(batch, device).map((us) => formatTime(us)), ...memory].map((text) => element("td", { class: "number" }, text));
      return element("tr", {}, element("th", { scope: "row" }, this.#labels[device], ...(mark ? [` (${mark})`] : [])), ...cells);
    });
    const head = element("tr", {}, ...heads.map((text, index) => element("th", { scope: "col", class: index > 0 ? "number" : null }, text)));
    const table = element("table", {}, element("caption", { class: "visually-hidden" }, "Devices over the batch"), element("thead", {}, head), element("tbody", {}, ...lines));
    this.#part("devices").replaceChildren(element("div", { class: "table-scroller", role: "region", tabindex: 0, "aria-label": "Devices over the batch" }, table));
    this.#fillBlocks(rows.flatMap(({ blocks }) => blocks));
  }

  /** @param {readonly Block[]} blocks */
  #fillBlocks(blocks) {
    const indexed = blocks.map((block, index) => ({ block, index }));
    /** @type {SortedTable<{ block: Block, index: number }>} */
    const table = new SortedTable(this.#part("blocks"), {
      caption: "Blocks of the batch",
      look: "blocks",
      keyOf: ({ index }) => index,
      onChoose: ({ block, index }) => {
        table.choose(index);
        this.#mark(block);
      },
      columns: [
        { key: "block", label: "Block", valueOf: ({ block }) => block.micro, cells: ({ block }) => [blockWords(block)] },
        { key: "device", label: "Device", valueOf: ({ block }) => this.#labels[block.device], cells: ({ block }) => [this.#labels[block.device]] },
        { key: "start", label: "Start", numeric: true, valueOf: ({ block }) => block.start_us, cells: ({ block }) => [formatTime(block.start_us, 4)] },
        { key: "end", label: "End", numeric: true, valueOf: ({ block }) => block.end_us, cells: ({ block }) => [formatTime(block.end_us, 4)] },
        { key: "time", label: "Takes", numeric: true, valueOf: ({ block }) => block.end_us - block.start_us, cells: ({ block }) => [formatTime(block.end_us - block.start_us)] },
      ],
    });
    table.show(indexed);
  }

  /** @param {Block} chosen */
  #mark(chosen) {
    for (const [block, span] of this.#spans) {
      span.classList.toggle("is-chosen", block === chosen);
    }
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#root, `[data-batch=${name}]`, HTMLElement);
  }
}

/** @param {number} row */
function topOf(row) {
  return ABOVE_ROWS + row * STRIDE;
}

/**
 * @param {Block} block
 * @param {number} row
 * @param {(us: number) => number} x
 * @returns {SVGElement}
 */
function spanOf(block, row, x) {
  const left = x(block.start_us);
  const width = Math.max(0.5, x(block.end_us) - left - 0.5);
  const place = { x: left, y: topOf(row) + (ROW_HEIGHT - SPAN_HEIGHT) / 2, width, height: SPAN_HEIGHT };
  const label = spanLabel(block, width);
  const pass = passOf(block);
  const title = `${blockWords(block)}: ${formatTime(block.start_us, 4)} to ${formatTime(block.end_us, 4)}, ${formatTime(block.end_us - block.start_us)}`;
  return svg(
    "g",
    { class: "batch-span", "data-pass": pass, "data-micro": block.micro },
    svg("title", {}, title),
    svg("rect", { class: `batch-${pass}`, ...place }),
    ...(pass === "backward" ? [svg("rect", { fill: "url(#batch-hatching)", ...place })] : []),
    ...(label ? [svg("text", { class: "batch-label", x: left + width / 2, y: place.y + SPAN_HEIGHT / 2 + 4 }, label)] : []),
  );
}

/**
 * @param {import("./batch-model.js").Phase} phase
 * @param {(us: number) => number} x
 * @param {number} height
 * @returns {SVGElement[]}
 */
function phaseParts({ name, startUs, endUs }, x, height) {
  const [left, width] = [x(startUs), x(endUs) - x(startUs)];
  const room = name.length * LETTER_WIDTH;
  return [
    svg("rect", { class: `batch-phase is-${name.split(" ")[0]}`, x: left, y: 0, width, height: height - BELOW_ROWS + 4 }),
    ...(room <= width ? [svg("text", { class: "batch-phase-name", x: left + 5, y: 15 }, name)] : []),
  ];
}

/**
 * @param {boolean} isBusiest
 * @param {number} row
 * @param {number} width
 */
function rowParts(isBusiest, row, width) {
  const y = topOf(row);
  return [svg("rect", { class: `batch-row${isBusiest ? " is-busiest" : ""}`, x: 0.5, y: y + 1.5, width: width - 1, height: ROW_HEIGHT - 3 })];
}

/**
 * @param {number} end of the batch in µs
 * @param {(us: number) => number} x
 * @param {number} width
 * @param {number} height
 */
function tickParts(end, x, width, height) {
  return linearTicks([0, end], Math.max(2, Math.floor(width / TICK_WIDTH))).flatMap((us) => {
    const anchor = us === 0 ? "start" : x(us) > width - 40 ? "end" : "middle";
    return [
      svg("line", { class: "batch-tick", x1: x(us), x2: x(us), y1: height - BELOW_ROWS + 2, y2: height - BELOW_ROWS + 7 }),
      svg("text", { class: "batch-tick-words", x: x(us), y: height - 6, "text-anchor": anchor }, formatTime(us)),
    ];
  });
}
