/**
 * Dark or light: the system's choice until the user makes another. A classic script in the page's head, so that the
 * page is never painted in the wrong theme first; `colours.js` notifies the modules of a change.
 */
(() => {
  const KEY = "theme";
  const CHOICES = ["light", "dark"];
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  /** @returns {string | null} */
  function chosen() {
    try {
      const value = localStorage.getItem(KEY);
      return value !== null && CHOICES.includes(value) ? value : null;
    } catch {
      return null; // without storage, the choice lasts only for this page
    }
  }

  /** @returns {string} */
  function shown() {
    return root.dataset.theme ?? (system.matches ? "dark" : "light");
  }

  function describe() {
    const other = shown() === "dark" ? "light" : "dark";
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.setAttribute("aria-label", `Switch to ${other} colours`);
      button.setAttribute("title", `Switch to ${other} colours`);
    }
  }

  function switchTheme() {
    const next = shown() === "dark" ? "light" : "dark";
    root.dataset.theme = next;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // see above
    }
    describe();
    document.dispatchEvent(new Event("themechange"));
  }

  const stored = chosen();
  if (stored !== null) {
    root.dataset.theme = stored;
  }
  root.dataset.scripts = "on";
  system.addEventListener("change", () => {
    describe();
    document.dispatchEvent(new Event("themechange"));
  });
  document.addEventListener("DOMContentLoaded", () => {
    describe();
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.addEventListener("click", switchTheme);
    }
  });
})();
