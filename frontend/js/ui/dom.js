/**
 * Makes and finds elements. Text is always inserted as text nodes: names in a graph are untrusted.
 */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */

/**
 * An HTML element with attributes (`true` is an empty attribute; `false`, null and undefined leave it out) and children.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Node | string | number)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(...children.map(asNode));
  return made;
}

/**
 * What scrolls sideways where it is too wide, by keys too.
 *
 * @param {string} label
 * @param {Node} content without anything that takes the focus
 */
export function scroller(label, content) {
  return element("div", { class: "table-scroller", role: "region", tabindex: 0, "aria-label": label }, content);
}

/**
 * The same for SVG.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Node | string | number)} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG_NAMESPACE, tag);
  setAttributes(made, attributes);
  made.append(...children.map(asNode));
  return made;
}

/**
 * @param {Element} target
 * @param {Attributes} attributes
 */
export function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on") || name === "style") {
      throw new Error(`${name} is never set as an attribute: the page's security policy forbids it`);
    }
    if (value === false || value === null || value === undefined) {
      target.removeAttribute(name);
    } else {
      target.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/**
 * The element that a page's template must have.
 *
 * @template {Element} Kind
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
export function find(root, selector, kind) {
  const found = root.querySelector(selector);
  if (!(found instanceof kind)) {
    throw new Error(`the page has no ${kind.name} at ${selector}`);
  }
  return found;
}

/**
 * Write text only if it differs, so that nothing is repainted or read aloud twice.
 *
 * @param {Element} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) {
    target.textContent = text;
  }
}

/**
 * @param {Node | string | number} child
 * @returns {Node}
 */
function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}
