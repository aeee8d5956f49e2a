/** Menus close at Escape and at a click elsewhere. */

/** @param {Document} page */
export function closeMenus(page) {
  page.addEventListener("pointerdown", (event) => {
    for (const menu of page.querySelectorAll("details.menu[open]")) {
      if (event.target instanceof Node && !menu.contains(event.target)) {
        menu.removeAttribute("open");
      }
    }
  });
  page.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target instanceof Element ? event.target.closest("details.menu[open]") : null;
    if (menu) {
      menu.removeAttribute("open");
      menu.querySelector("summary")?.focus();
      event.stopPropagation();
    }
  });
}
