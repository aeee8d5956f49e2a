// Copies the libraries that the browser gets from node_modules/ to vendor/, which Django serves and git ignores.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const FILES = {
  "cytoscape/dist/cytoscape.esm.min.mjs": "cytoscape.esm.min.mjs",
  "cytoscape/index.d.ts": "cytoscape.esm.min.d.mts", // beside the module, so that tsc finds its types
  "cytoscape/LICENSE": "cytoscape.LICENSE",
};

mkdirSync(new URL("vendor/", import.meta.url), { recursive: true });
for (const [source, target] of Object.entries(FILES)) {
  const from = new URL(`node_modules/${source}`, import.meta.url);
  if (!existsSync(from)) {
    console.error(`${source} is missing: run "npm ci" in frontend/ first`);
    process.exit(1);
  }
  writeFileSync(new URL(`vendor/${target}`, import.meta.url), forModules(target, readFileSync(from)));
}

/**
 * The types are written for CommonJS: `export =` does not exist in a module.
 *
 * @param {string} target
 * @param {Buffer} content
 * @returns {Buffer | string}
 */
function forModules(target, content) {
  return target.endsWith(".d.mts") ? content.toString("utf8").replace("export = cytoscape;", "export default cytoscape;") : content;
}
