/** The line about the small edges of wide fans that are not drawn, with a button that shows them. */

import { element } from "../ui/dom.js";
import { counted, cutName, formatCount } from "../ui/format.js";
import { shownName } from "../ui/names.js";
import { smallFans } from "./small-fans.js";

/** Groups with fans of small edges that are named. */
const FANS_NAMED = 3;

/**
 * Leave out the small edges of wide fans, and say which they are.
 *
 * @param {HTMLElement} part where it is said
 * @param {import("../ui/contracts.js").GroupGraph} graph
 * @param {(hidden: Uint8Array) => void} hide [edges] 1: not drawn
 */
export function leaveOutSmallFans(part, { groups, edges }, hide) {
  const { hidden, nodes } = smallFans(edges, groups.length);
  const count = hidden.reduce((sum, isHidden) => sum + isHidden, 0);
  part.hidden = count === 0;
  let isHiding = true;
  const button = element("button", { type: "button", class: "link-button" });
  const words = element("span");
  const show = () => {
    hide(isHiding ? hidden : new Uint8Array(edges.length));
    const names = nodes.slice(0, FANS_NAMED).map((node) => cutName(shownName(groups[node]), 40)).join(", ");
    const more = nodes.length > FANS_NAMED ? ` and ${formatCount(nodes.length - FANS_NAMED)} more` : "";
    words.textContent = `${counted(count, "small edge")} of ${names}${more} ${isHiding ? "not drawn" : "drawn"}. `;
    button.textContent = isHiding ? "Draw them" : "Leave them out";
  };
  button.addEventListener("click", () => {
    isHiding = !isHiding;
    show();
  });
  part.replaceChildren(words, button);
  show();
}
