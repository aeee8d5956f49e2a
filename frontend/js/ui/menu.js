/** Menus open to the side where there is room, and close at Escape and at a click elsewhere. */

/** @param {Document} page */
export function tendMenus(page) {
  page.addEventListener("toggle", (event) => openInside(event.target), true); // it does not bubble
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

/** @param {EventTarget | null} menu of which the body must not begin left of the window */
function openInside(menu) {
  const body = menu instanceof HTMLDetailsElement && menu.open && menu.matches(".menu") ? menu.querySelector(".menu-body") : null;
  if (body) {
    body.classList.remove("is-rightward");
    body.classList.toggle("is-rightward", body.getBoundingClientRect().left < 0);
  }
}
