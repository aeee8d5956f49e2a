/** Draws blocks and the edges between them onto a canvas: names and facts from nearby, colours alone from afar. */

import { pixelAt } from "../drawing/viewport.js";
import { paint } from "../ui/colours.js";
import { cutName, formatBytes, visible } from "../ui/format.js";
import { SvgContext } from "../ui/svg-context.js";
import { HEAD } from "./block-layout.js";

/** @typedef {import("./block-tree.js").BlockNode} BlockNode */
/** @typedef {import("./block-layout.js").Rectangle} Rectangle */
/** @typedef {import("../drawing/viewport.js").Viewport} Viewport */
/** @typedef {import("./block-shares.js").Share} Share */

/**
 * @typedef {object} BlockFace what is drawn of a block or op
 * @property {readonly Share[]} shares of its time by look
 * @property {readonly number[]} members of a fold the main look of each member
 * @property {string} time such as `12.3 ms`
 * @property {string} places such as `GPU 0`, `3 devices`
 * @property {readonly string[]} more lines for closed blocks, the most important first
 * @property {boolean} isCritical whether the critical chain passes
 * @property {boolean} isFaded a search has not found it
 * @property {boolean} isChosen
 * @property {boolean} isMarked it has ops of a chosen group
 *
 * @typedef {object} BundleFace
 * @property {Rectangle} from
 * @property {Rectangle} to
 * @property {number} bytes
 * @property {number} crossing bytes between devices; −1: none
 * @property {number} weight from 0 to 1, beside the heaviest
 * @property {boolean} isChosen
 */

const FONT = "system-ui, sans-serif";
const NAME_PIXELS = 13;
const LEAST_TEXT_PIXELS = 10;
/** A text that fits when it is so much narrower is not cut. */
const CONDENSED = 0.8;
/** Widths of texts are kept for as many. */
const MOST_WIDTHS = 4000;
/** Boxes narrower than this have no name, and no arrow. */
const LEAST_NAMED_PIXELS = 34;
const LEAST_MARKED_PIXELS = 74;
const BAR = 9;
const RADIUS = 7;
/** From one line to the next, beside the height of the letters. */
const LINE = 1.28;
const MARK_PIXELS = 16;

/** @type {Map<string, number>} text with its weight → its width, for letters of one pixel */
const widths = new Map();

export class BlockPicture {
  #context;
  #view;
  #colours;

  /**
   * @param {import("../ui/svg-elements.js").Surface} surface scaled to pixels of the page
   * @param {Viewport} view
   * @param {readonly { colour: string }[]} looks colours of the style sheet (`--ramp-2`), or `#rrggbb`
   */
  constructor(surface, view, looks) {
    const context = /** @type {CanvasRenderingContext2D} */ (surface);
    this.#context = context;
    this.#view = view;
    this.#colours = looks.map(({ colour }) => paint(colour));
    context.textBaseline = "middle";
    context.lineJoin = "round";
  }

  /**
   * @param {Rectangle} place
   * @returns {Rectangle} in pixels
   */
  #pixels({ x, y, width, height }) {
    const { zoom } = this.#view;
    const corner = pixelAt(this.#view, { x: [x], y: [y] }, 0);
    return { x: corner.x, y: corner.y, width: width * zoom, height: height * zoom };
  }

  /**
   * An opened block below what is in it.
   *
   * @param {BlockNode} node
   * @param {Rectangle} place
   * @param {BlockFace} face
   */
  open(node, place, face) {
    const context = this.#context;
    const box = this.#pixels(place);
    this.#box(box, paint(node.depth % 2 === 0 ? "--sunken" : "--surface"), face);
    const head = HEAD * this.#view.zoom;
    const size = Math.max(LEAST_TEXT_PIXELS, Math.min(NAME_PIXELS, NAME_PIXELS * this.#view.zoom));
    if (head >= size && box.width >= LEAST_NAMED_PIXELS) {
      const middle = box.y + head / 2;
      this.#arrow(box.x + 10, middle, true);
      const room = box.width - 2 * MARK_PIXELS;
      const name = Math.min(room, this.#text(titleOf(node), box.x + MARK_PIXELS + 3, middle, size, "--text", room, "600"));
      this.#text(`${face.time} · ${face.places}`, box.x + MARK_PIXELS + 13 + name, middle, size * 0.92, "--muted", room - name - 10);
    }
    context.globalAlpha = 1;
  }

  /**
   * A closed block, or an op.
   *
   * @param {BlockNode} node
   * @param {Rectangle} place
   * @param {BlockFace} face
   */
  closed(node, place, face) {
    const context = this.#context;
    const { zoom } = this.#view;
    const box = this.#pixels(place);
    const isBlock = node.row.block !== null;
    if (node.row.members > 0) {
      for (const away of [6, 3]) {
        this.#box({ ...box, x: box.x + away * zoom, y: box.y - away * zoom }, paint("--surface"), { ...face, isChosen: false, isMarked: false });
      }
    }
    this.#box(box, paint("--surface"), face);
    const isNamed = box.width >= LEAST_NAMED_PIXELS && box.height >= LEAST_TEXT_PIXELS + 4;
    this.#bar(box, face, isNamed ? Math.max(4, BAR * zoom) : box.height);
    if (isNamed) {
      this.#words(node, box, face, isBlock);
    }
    context.globalAlpha = 1;
  }

  /**
   * @param {BlockNode} node
   * @param {Rectangle} box in pixels
   * @param {BlockFace} face
   * @param {boolean} isBlock
   */
  #words(node, box, face, isBlock) {
    const { zoom } = this.#view;
    const size = Math.max(LEAST_TEXT_PIXELS, Math.min(NAME_PIXELS * 1.3, NAME_PIXELS * zoom));
    const rest = box.height - Math.max(4, BAR * zoom) - 4;
    const facts = [face.time, ...face.more].slice(0, Math.max(0, Math.floor(rest / (size * LINE)) - 1));
    const step = rest / (facts.length + 1);
    const hasArrow = isBlock && box.width >= LEAST_MARKED_PIXELS;
    const left = box.x + (hasArrow ? MARK_PIXELS + 1 : 6);
    const right = box.x + box.width - 6;
    const first = box.y + 2 + step / 2;
    if (hasArrow) {
      this.#arrow(box.x + 9, first, false);
    }
    const times = node.row.members > 0 ? `× ${node.row.members}` : "";
    const timesWide = times ? this.#width(times, size, "700") : 0;
    this.#text(node.row.name, left, first, size, "--text", right - left - (times ? timesWide + 6 : 0), "600");
    this.#text(times, right - timesWide, first, size, "--accent-strong", box.width, "700");
    const small = Math.max(LEAST_TEXT_PIXELS - 0.5, size * 0.9);
    facts.forEach((words, line) => this.#text(words, left, first + (line + 1) * step, small, "--muted", right - left));
    if (facts.length > 0) {
      const wide = this.#width(face.places, small);
      const room = right - left - this.#width(facts[0], small) - 8;
      this.#text(face.places, right - wide, first + step, small, "--text", wide <= room ? right - left : 0);
    }
  }

  /**
   * @param {Rectangle} box in pixels
   * @param {string} fill
   * @param {BlockFace} face
   */
  #box({ x, y, width, height }, fill, { isChosen, isMarked, isFaded }) {
    const context = this.#context;
    context.globalAlpha = isFaded ? 0.35 : 1;
    context.beginPath();
    roundedPath(context, x, y, width, height, Math.min(RADIUS * this.#view.zoom, RADIUS));
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = paint(isChosen || isMarked ? "--accent" : "--border-strong");
    context.lineWidth = isChosen ? 3 : isMarked ? 2 : 1;
    context.stroke();
  }

  /**
   * The shares by look from left to right; of a fold each member for itself.
   *
   * @param {Rectangle} box in pixels
   * @param {BlockFace} face
   * @param {number} height pixels
   */
  #bar(box, { shares, members, isCritical }, height) {
    const context = this.#context;
    const inset = Math.min(1, box.width / 20);
    const [top, width] = [box.y + box.height - height, box.width - 2 * inset];
    let left = box.x + inset;
    const parts = members.length > 0 ? members.map((look) => ({ look, share: 1 / members.length })) : shares;
    for (const { look, share } of parts) {
      context.fillStyle = this.#colours[look] ?? paint("--node-unplaced");
      const gap = members.length > 0 && width / members.length > 4 ? 1 : 0;
      context.fillRect(left, top + inset, Math.max(0.5, share * width - gap), height - 2 * inset);
      left += share * width;
    }
    if (isCritical) {
      context.fillStyle = paint("--text");
      context.fillRect(box.x + inset, top - Math.max(1, height * 0.22), width, Math.max(1, height * 0.22));
    }
  }

  /**
   * @param {number} x pixels
   * @param {number} y pixels
   * @param {boolean} isOpen
   */
  #arrow(x, y, isOpen) {
    const context = this.#context;
    context.fillStyle = paint("--muted");
    context.beginPath();
    for (const [across, down] of isOpen ? [[-4, -2.5], [4, -2.5], [0, 3]] : [[-2.5, -4], [3, 0], [-2.5, 4]]) {
      context.lineTo(x + across, y + down);
    }
    context.fill();
  }

  /**
   * @param {string} words untrusted text
   * @param {number} x pixels
   * @param {number} y pixels of its middle
   * @param {number} size pixels
   * @param {string} colour
   * @param {number} room pixels
   * @param {string} [weight]
   * @returns {number} how wide all of it would be
   */
  #text(words, x, y, size, colour, room, weight = "400") {
    if (room < 2.5 * size || !words) {
      return 0;
    }
    const context = this.#context;
    const width = this.#width(words, size, weight);
    const isCanvas = !(context instanceof SvgContext); // which alone makes letters narrower
    const shown = width * (isCanvas ? CONDENSED : 1) <= room ? visible(words) : cutName(words, Math.floor(([...words].length * room) / width));
    context.font = `${weight} ${size.toFixed(1)}px ${FONT}`;
    context.fillStyle = paint(colour);
    context.fillText(shown, x, y, Math.max(1, room));
    return width;
  }

  /**
   * @param {string} words
   * @param {number} size pixels
   * @param {string} [weight]
   */
  #width(words, size, weight = "400") {
    const key = `${weight}${words}`;
    if (!widths.has(key)) {
      if (widths.size >= MOST_WIDTHS) {
        widths.clear();
      }
      this.#context.font = `${weight} ${NAME_PIXELS}px ${FONT}`;
      widths.set(key, this.#context.measureText(words).width / NAME_PIXELS);
    }
    return /** @type {number} */ (widths.get(key)) * size;
  }

  /**
   * Edges, those of the chosen block and those between devices above all others.
   *
   * @param {readonly BundleFace[]} bundles
   * @param {boolean} hasChosen whether a block is chosen, so that all other edges step back
   * @param {boolean} isMoving whether the picture moves, so that edges are drawn in the quickest way
   */
  edges(bundles, hasChosen, isMoving) {
    const kinds = [
      { of: bundles.filter((each) => !each.isChosen && each.crossing < 0), colour: "--edge", alpha: hasChosen ? 0.25 : 0.75 },
      { of: bundles.filter((each) => !each.isChosen && each.crossing >= 0), colour: "--edge-crossing", alpha: hasChosen ? 0.3 : 0.85 },
      { of: bundles.filter((each) => each.isChosen && each.crossing < 0 && each.bytes === 0), colour: "--accent", alpha: 0.25 },
      { of: bundles.filter((each) => each.isChosen && each.crossing < 0 && each.bytes > 0), colour: "--accent", alpha: 1 },
      { of: bundles.filter((each) => each.isChosen && each.crossing >= 0), colour: "--edge-crossing", alpha: 1 },
    ];
    const context = this.#context;
    for (const { of, colour, alpha } of kinds) {
      context.strokeStyle = context.fillStyle = paint(colour);
      context.globalAlpha = alpha;
      for (const width of [0.75, 1.5, 2.5, 4]) {
        const inside = of.filter(({ weight }) => widthOf(weight) === width);
        context.lineWidth = Math.max(0.6, width * Math.min(1, 0.5 + this.#view.zoom / 2));
        context.beginPath();
        inside.forEach((bundle) => this.#line(bundle, isMoving && bundles.length > 600));
        context.stroke();
        if (!isMoving || bundles.length <= 600) {
          context.beginPath();
          inside.forEach((bundle) => this.#head(bundle));
          context.fill();
        }
      }
    }
    context.globalAlpha = 1;
  }

  /**
   * @param {BundleFace} bundle
   * @param {boolean} isStraight
   */
  #line(bundle, isStraight) {
    const context = this.#context;
    const { start, end, away } = this.#ends(bundle);
    context.moveTo(start.x, start.y);
    if (isStraight) {
      context.lineTo(end.x, end.y);
    } else {
      context.bezierCurveTo(start.x + away.x, start.y + away.y, end.x - away.x, end.y - away.y, end.x, end.y);
    }
  }

  /** @param {BundleFace} bundle */
  #head(bundle) {
    const context = this.#context;
    const { end, away } = this.#ends(bundle);
    const length = Math.hypot(away.x, away.y) || 1;
    const size = Math.min(7, Math.max(3, 7 * this.#view.zoom));
    const [across, down] = [(away.x / length) * size, (away.y / length) * size];
    context.moveTo(end.x, end.y);
    context.lineTo(end.x - across - down / 2, end.y - down + across / 2);
    context.lineTo(end.x - across + down / 2, end.y - down - across / 2);
    context.closePath();
  }

  /**
   * The bytes of edges at their middles, where they are far enough from each other and from blocks.
   *
   * @param {readonly BundleFace[]} bundles
   * @param {readonly Rectangle[]} closed blocks and ops that are seen
   */
  bytes(bundles, closed) {
    const context = this.#context;
    /** @type {{ x: number, y: number }[]} */
    const taken = [];
    const boxes = closed.map((place) => this.#pixels(place));
    const size = Math.max(LEAST_TEXT_PIXELS, Math.min(12, 11 * this.#view.zoom));
    context.font = `500 ${size.toFixed(1)}px ${FONT}`;
    context.textAlign = "center";
    for (const bundle of bundles) {
      const { start, end } = this.#ends(bundle);
      const at = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
      const isOver = boxes.some(({ x, y, width, height }) => at.x > x - 28 && at.x < x + width + 28 && at.y > y - 7 && at.y < y + height + 7);
      if (isOver || Math.hypot(start.x - end.x, start.y - end.y) < 20 || taken.some((each) => Math.abs(each.x - at.x) < 62 && Math.abs(each.y - at.y) < size + 3)) {
        continue;
      }
      taken.push(at);
      const words = formatBytes(bundle.crossing >= 0 ? bundle.crossing : bundle.bytes);
      context.lineWidth = 4;
      context.strokeStyle = paint("--surface");
      context.strokeText(words, at.x, at.y);
      context.fillStyle = paint(bundle.crossing >= 0 ? "--edge-crossing" : "--text");
      context.fillText(words, at.x, at.y);
    }
    context.textAlign = "start";
  }

  /**
   * From the side of one box to that of the other that it leads to.
   *
   * @param {BundleFace} bundle
   */
  #ends({ from, to }) {
    const [one, other] = [this.#pixels(from), this.#pixels(to)];
    const downs = other.y - (one.y + one.height);
    const ups = one.y - (other.y + other.height);
    const half = { from: one.x + one.width / 2, to: other.x + other.width / 2 };
    if (downs >= 0 || ups >= 0) {
      const isDown = downs >= 0;
      const start = { x: half.from, y: isDown ? one.y + one.height : one.y };
      const end = { x: half.to, y: isDown ? other.y : other.y + other.height };
      return { start, end, away: { x: 0, y: (isDown ? 1 : -1) * Math.min(90, Math.max(8, Math.abs(end.y - start.y) * 0.45)) } };
    }
    const isRight = half.to >= half.from;
    const start = { x: isRight ? one.x + one.width : one.x, y: one.y + one.height / 2 };
    const end = { x: isRight ? other.x : other.x + other.width, y: other.y + other.height / 2 };
    return { start, end, away: { x: (isRight ? 1 : -1) * Math.min(90, Math.max(8, Math.abs(end.x - start.x) * 0.45)), y: 0 } };
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {number} radius of the corners
 */
function roundedPath(context, x, y, width, height, radius) {
  const [right, bottom] = [x + width, y + height];
  context.moveTo(x + radius, y);
  context.lineTo(right - radius, y);
  context.quadraticCurveTo(right, y, right, y + radius);
  context.lineTo(right, bottom - radius);
  context.quadraticCurveTo(right, bottom, right - radius, bottom);
  context.lineTo(x + radius, bottom);
  context.quadraticCurveTo(x, bottom, x, bottom - radius);
  context.lineTo(x, y + radius);
  context.quadraticCurveTo(x, y, x + radius, y);
  context.closePath();
}

/** @param {BlockNode} node */
function titleOf({ row }) {
  return row.members > 0 ? `${row.name} × ${row.members}` : row.name;
}

/**
 * @param {number} weight from 0 to 1
 * @returns {number} pixels
 */
function widthOf(weight) {
  return weight > 0.5 ? 4 : weight > 0.1 ? 2.5 : weight > 0.005 ? 1.5 : 0.75;
}
