/**
 * A run's page in a file of its own: before the page's modules run, its requests get their answers from the file. This
 * is a classic script; `webapp/pages/exports/run_file.py` puts it before them.
 */
(() => {
  const NOT_HERE = "This is not in the file, which has no server behind it.";
  const NOT_EXPLAINED = "This file holds the explained steps of the best placement and of the baselines alone; the application that made it explains every other one.";
  /** @type {{ texts: Record<string, unknown>, blobs: Record<string, string> }} */
  const { texts, blobs } = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("file-data")).textContent ?? "");

  /**
   * @param {unknown} body
   * @param {number} status
   */
  function json(body, status) {
    return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
  }

  /** @param {RequestInfo | URL} request */
  function answer(request) {
    const name = String(request instanceof Request ? request.url : request).split("?")[0];
    if (Object.hasOwn(texts, name)) {
      return json(texts[name], 200);
    }
    if (Object.hasOwn(blobs, name)) {
      return new Response(Uint8Array.from(atob(blobs[name]), (sign) => sign.charCodeAt(0)));
    }
    return json({ errors: { "": [name.startsWith("explanations/") ? NOT_EXPLAINED : NOT_HERE] } }, 409);
  }

  window.fetch = (request) => Promise.resolve(answer(request));
  for (const name of /** @type {const} */ (["pushState", "replaceState"])) {
    history[name] = () => {}; // a file has no address of its own that could change
  }
})();
