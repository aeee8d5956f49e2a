/** Asks before a deletion. */

/** @param {ParentNode} root */
export function confirmDeletion(root) {
  for (const form of root.querySelectorAll("form[data-confirm]")) {
    form.addEventListener("submit", (event) => {
      if (!confirm(form.getAttribute("data-confirm") ?? "Delete?")) {
        event.preventDefault();
      }
    });
  }
}
