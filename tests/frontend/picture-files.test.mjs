import assert from "node:assert/strict";
import { test } from "node:test";
import { drawTitles } from "../../frontend/js/ui/picture-files.js";
import { SvgContext } from "../../frontend/js/ui/svg-context.js";

const TITLES = { title: "Placeto on <b>nmt</b>", source: "Step times: simulated, op times 93 % estimated from operations and bytes, 7 % measured" };

/** @param {number} width */
function drawn(width) {
  const context = new SvgContext();
  drawTitles(context, TITLES, width, "#123456");
  return context.toSvg(width, 40, { title: "", background: "#fff" });
}

test("a picture says above it what it is and where the times come from, as text", () => {
  const text = drawn(600);
  assert.match(text, /Placeto on &lt;b>nmt|Placeto on &lt;b&gt;nmt/);
  assert.match(text, /simulated, op times 93 % estimated from operations and bytes, 7 % measured/);
  assert.equal(text.match(/font-size="12"/g)?.length, 2);
});

test("on a narrow picture the letters are smaller, never too small to read", () => {
  assert.match(drawn(300), /font-size="(7|8|9)"/);
  assert.doesNotMatch(drawn(10), /font-size="[0-6]"/);
});
