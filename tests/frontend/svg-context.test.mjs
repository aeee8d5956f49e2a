import assert from "node:assert/strict";
import { test } from "node:test";
import { drawNode } from "../../frontend/js/graph/drawn-node.js";
import { SvgContext } from "../../frontend/js/ui/svg-context.js";
import { trace } from "../../frontend/js/ui/svg-elements.js";

const ABOUT = { title: "A step", background: "#fff" };
const HOSTILE = ["</text><script>alert(1)</script>", "\"'&<>", "__proto__", "a\u0000b\u0001", "\ud800 half", "\u202ertl", "]]>"];

/** The elements between the background and the end. */
function drawn(/** @type {(context: SvgContext) => void} */ draw) {
  const context = new SvgContext();
  draw(context);
  return context.toSvg(100, 50, ABOUT).split("\n").slice(2, -2);
}

test("names are text, and the file stays well-formed", () => {
  for (const name of HOSTILE) {
    const context = new SvgContext();
    context.fillStyle = name;
    context.font = `12px ${name}`;
    context.fillText(name, 1, 2);
    const text = context.toSvg(100, 50, { title: name, background: "#fff" });
    assert.equal(text.match(/<(?!\/?(svg|title|rect|text)\b)/), null, text);
    assert.doesNotMatch(text, /[\u0000-\u0008]|script>alert|[\ud800-\udfff]/);
    assert.equal(text.match(/<text/g)?.length, 1);
    assert.equal(text.match(/<\/text>/g)?.length, 1);
  }
});

test("shapes have the look and the place of their moment", () => {
  const [box, line] = drawn((context) => {
    context.fillStyle = "rgb(1, 2, 3)";
    context.fillRect(1, 2, 3, 4.004);
    context.globalAlpha = 0.5;
    context.strokeStyle = "#123456";
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(0, 0);
    context.lineTo(5, 5);
    context.translate(10, 20);
    context.scale(2, 2);
    context.stroke();
  });
  assert.equal(box, '<rect x="1" y="2" width="3" height="4" fill="rgb(1, 2, 3)"/>');
  assert.equal(line, '<path d="M0 0L5 5" fill="none" stroke="#123456" stroke-width="2" opacity="0.5" transform="matrix(2 0 0 2 10 20)"/>');
});

test("a clip ends with its restore, also one that is left open", () => {
  const parts = drawn((context) => {
    context.save();
    context.beginPath();
    context.rect(0, 0, 10, 10);
    context.clip();
    context.globalAlpha = 0.3;
    context.fillRect(0, 0, 99, 99);
    context.restore();
    context.fillRect(0, 0, 1, 1);
  });
  const text = parts.join("");
  assert.match(text, /<clipPath id="clip-1"><path d="M0 0h10v10h-10Z"\/><\/clipPath><g clip-path="url\(#clip-1\)">/);
  assert.ok(text.indexOf("</g>") > text.indexOf('width="99"') && text.indexOf("</g>") < text.indexOf('width="1"'));
  assert.doesNotMatch(text.slice(text.indexOf('width="1"')), /opacity/);
  const context = new SvgContext();
  context.clip();
  assert.match(context.toSvg(1, 1, ABOUT), /<\/g><\/svg>/);
});

test("a drawn circle is closed, and an empty path is nothing", () => {
  const [circle, ...rest] = drawn((context) => {
    context.beginPath();
    context.arc(10, 10, 5, 0, 2 * Math.PI);
    context.fill();
    context.beginPath();
    context.fill();
    context.stroke();
  });
  assert.match(circle, /d="M15 10A5 5 0 0 1 5 10A5 5 0 0 1 15 10"/);
  assert.deepEqual(rest, []);
});

test("paths of the charts are traced with their absolute and relative lines", () => {
  const [path] = drawn((context) => {
    context.beginPath();
    trace(context, "M1,2L3,4H10V-5.5h2v-1e-1Z");
    context.stroke();
  });
  assert.match(path, /d="M1 2L3 4L10 4L10 -5.5L12 -5.5L12 -5.6Z"/);
});

test("a node on several devices is drawn with a stripe for each", () => {
  const node = { x: 10, y: 20, radius: 5, shape: /** @type {const} */ ("octagon"), colour: "#fff", border: { colour: "#000", width: 1 }, opacity: 1 };
  const [plain, first, second, border] = drawn((context) => drawNode(context, { ...node, stripes: ["#111", "#111", "#222", "#222"] }));
  assert.match(plain, /fill="#fff"/);
  assert.match(first, /d="M8 15L10 15L10 25L8 25L5 22L5 18Z" fill="#111"/);
  assert.match(second, /d="M10 15L12 15L15 18L15 22L12 25L10 25Z" fill="#222"/);
  assert.match(border, /stroke="#000"/);
  assert.equal(drawn((context) => drawNode(context, { ...node, stripes: [] })).length, 2);
});
