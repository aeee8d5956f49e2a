/** Draws the shapes of an SVG element of the page on a context, as the style sheet shows them. */

/** @typedef {CanvasRenderingContext2D | import("./svg-context.js").SvgContext} Surface */

const STEP = /([MLHVhvZ])([^MLHVhvZ]*)/g;

/**
 * @param {Surface} context
 * @param {SVGElement} picture with groups, paths of straight lines, circles and texts
 */
export function drawElements(context, picture) {
  for (const shape of picture.querySelectorAll("path, circle, text, line, rect")) {
    const style = getComputedStyle(shape);
    if (style.visibility !== "hidden" && style.display !== "none" && !shape.closest("defs, clipPath, [hidden]")) {
      drawElement(context, shape, style);
    }
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
}

/**
 * @param {Surface} context
 * @param {Element} shape
 * @param {CSSStyleDeclaration} style
 */
function drawElement(context, shape, style) {
  context.globalAlpha = Number(style.opacity);
  if (shape instanceof SVGTextElement) {
    drawText(context, shape, style);
    return;
  }
  const number = (/** @type {string} */ name) => Number(shape.getAttribute(name) ?? 0);
  context.beginPath();
  if (shape.localName === "circle") {
    context.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI);
  } else if (shape.localName === "rect") {
    context.rect(number("x"), number("y"), number("width"), number("height"));
  } else if (shape.localName === "line") {
    context.moveTo(number("x1"), number("y1"));
    context.lineTo(number("x2"), number("y2"));
  } else {
    trace(context, shape.getAttribute("d") ?? "");
  }
  if (style.fill !== "none") {
    context.globalAlpha = Number(style.opacity) * Number(style.fillOpacity);
    context.fillStyle = style.fill;
    context.fill();
  }
  if (style.stroke !== "none") {
    context.globalAlpha = Number(style.opacity) * Number(style.strokeOpacity);
    context.strokeStyle = style.stroke;
    context.lineWidth = parseFloat(style.strokeWidth);
    const dash = style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat);
    context.setLineDash(dash);
    context.stroke();
  }
}

/**
 * @param {Surface} context
 * @param {SVGTextElement} text
 * @param {CSSStyleDeclaration} style
 */
function drawText(context, text, style) {
  const weight = Number(style.fontWeight) >= 550 ? `${style.fontWeight} ` : "";
  context.font = `${weight}${style.fontSize} ${style.fontFamily}`;
  context.textBaseline = "alphabetic";
  context.textAlign = style.textAnchor === "middle" ? "center" : style.textAnchor === "end" ? "end" : "start";
  const [x, y] = ["x", "y"].map((name) => Number(text.getAttribute(name) ?? 0));
  if (style.stroke !== "none" && parseFloat(style.strokeWidth) > 0) {
    context.strokeStyle = style.stroke;
    context.lineWidth = parseFloat(style.strokeWidth);
    context.lineJoin = "round";
    context.strokeText(text.textContent ?? "", x, y);
  }
  context.fillStyle = style.fill;
  context.fillText(text.textContent ?? "", x, y);
}

/**
 * @param {Surface} context
 * @param {string} data of a path of straight lines
 */
export function trace(context, data) {
  let [x, y] = [0, 0];
  for (const [, kind, rest] of data.matchAll(STEP)) {
    const values = rest.match(/-?\d*\.?\d+(?:e-?\d+)?/g)?.map(Number) ?? [];
    if (kind === "Z") {
      context.closePath();
    } else if (kind === "M" || kind === "L") {
      for (let at = 0; at + 1 < values.length; at += 2) {
        [x, y] = [values[at], values[at + 1]];
        if (kind === "M" && at === 0) {
          context.moveTo(x, y);
        } else {
          context.lineTo(x, y);
        }
      }
    } else {
      for (const value of values) {
        x = kind === "H" ? value : kind === "h" ? x + value : x;
        y = kind === "V" ? value : kind === "v" ? y + value : y;
        context.lineTo(x, y);
      }
    }
  }
}
