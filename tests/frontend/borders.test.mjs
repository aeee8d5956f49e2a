// What the browser's half promises of itself: names stay text, nothing is loaded from elsewhere, one module draws.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

const FRONTEND = new URL("../../frontend/", import.meta.url);
const TEMPLATES = ["templates", "pages"].map((folder) => new URL(`../../webapp/${folder}/`, import.meta.url));

/** @type {Map<string, string>} */
const modules = new Map(
  readdirSync(new URL("js/", FRONTEND), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".js"))
    .map((name) => [name, readFileSync(new URL(`js/${name}`, FRONTEND), "utf8")]),
);

/** The folders of js/, from the top: a lower one never imports a higher one. */
const FLOORS = ["pages", "forms", "decisions", "compare", "ops", "blocks", "step", "chart", "graph", "drawing", "run", "jobs", "ui"];

/** @type {Map<string, string>} */
const templates = new Map(
  TEMPLATES.flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith(".html"))
      .map((name) => [name, readFileSync(new URL(name, folder), "utf8")]),
  ),
);

test("no module writes HTML or runs text", () => {
  const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(|new Function|srcdoc/;
  for (const [name, text] of modules) {
    assert.doesNotMatch(text, forbidden, name);
  }
});

test("only the module of the graph touches Cytoscape, its style beside it", () => {
  const importing = [...modules].filter(([, text]) => /import\(.*vendor|from ".*vendor/.test(text.replace(/\/\*\*[\s\S]*?\*\//g, "")));
  assert.deepEqual(importing.map(([name]) => name), ["graph/graph-view.js"]);
});

test("modules import only modules that are there, by relative addresses", () => {
  for (const [name, text] of modules) {
    for (const [, from] of text.matchAll(/^import .*?from "(.*?)";$/gms)) {
      assert.ok(/^\.\.?\//.test(from) && modules.has(path.join(path.dirname(name), from)), `${name} imports ${from}`);
    }
  }
});

test("every module is in a folder, and a lower folder never imports a higher one, for its types either", () => {
  for (const [name, text] of modules) {
    const floor = FLOORS.indexOf(path.dirname(name));
    assert.notEqual(floor, -1, name);
    for (const [, from] of text.matchAll(/(?:\bfrom |\bimport\()"(\.\.?\/.*?\.js)"/g)) {
      const of = FLOORS.indexOf(path.dirname(path.join(path.dirname(name), from)));
      assert.ok(of >= floor, `${name} imports ${from}`);
    }
  }
});

test("templates ask for files that are there", () => {
  for (const [name, text] of templates) {
    for (const [, address] of text.matchAll(/{% static '(.*?)' %}/g)) {
      const isOfPython = address.startsWith("swagger/"); // django-ninja carries it; a test of the API loads its page
      assert.ok(isOfPython || existsSync(new URL(address, FRONTEND)), `${name} asks for ${address}`);
    }
  }
});

test("nothing comes from elsewhere", () => {
  const styles = readdirSync(new URL("styles/", FRONTEND)).map((name) => [name, readFileSync(new URL(`styles/${name}`, FRONTEND), "utf8")]);
  for (const [name, text] of [...modules, ...templates, ...styles]) {
    const addresses = text.match(/(https?:)?\/\/[a-z0-9-]+\.[a-z]{2,}[^\s"']*/gi) ?? [];
    assert.deepEqual(addresses.filter((address) => !address.includes("www.w3.org/2000/svg")), [], name);
    assert.doesNotMatch(text, /@import|url\((?!#)/, name);
  }
});

test("templates have no inline script, style or handler, and escape everything", () => {
  for (const [name, text] of templates) {
    assert.doesNotMatch(text, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:/i, name);
    assert.doesNotMatch(text, /\|safe\b|autoescape off|mark_safe/, name);
  }
});
