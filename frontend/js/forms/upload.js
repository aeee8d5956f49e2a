/**
 * The upload form, which also works without this script. The script accepts dropped files, sends the form once a file
 * is chosen (with open options a button sends it), and shows the progress.
 */

import { find, setText } from "../ui/dom.js";
import { clearErrors, focusRefused, showErrors } from "./form-errors.js";
import { cutName, formatBytes, formatShare } from "../ui/format.js";
import { errorSentence } from "../ui/sentences.js";
import { TimeLeft } from "../ui/time-left.js";

/** @param {HTMLFormElement} form */
export function enhanceUpload(form) {
  const input = find(form, "input[name=file]", HTMLInputElement);
  const times = find(form, "input[name=run_metadata]", HTMLInputElement);
  const options = find(form, "[data-part=options]", HTMLDetailsElement);
  const zone = find(form, "[data-part=drop]", HTMLElement);
  const chosen = find(form, "[data-part=chosen-file]", HTMLElement);
  const showChosen = () => {
    const file = input.files?.[0];
    setText(chosen, file ? `${cutName(file.name)}, ${formatBytes(file.size)}` : "");
    for (const list of form.querySelectorAll(":scope > .errorlist")) {
      list.remove(); // errors of the earlier file; errors of options still hold
    }
    input.removeAttribute("aria-invalid");
    showError(form, "");
  };
  const chosenNow = () => {
    showChosen();
    if (input.files?.length && !options.open) {
      form.requestSubmit();
    }
  };
  input.addEventListener("change", chosenNow);
  times.addEventListener("change", () => showError(form, ""));
  for (const type of ["dragenter", "dragover"]) {
    zone.addEventListener(type, (event) => {
      event.preventDefault();
      zone.dataset.over = "yes";
    });
  }
  zone.addEventListener("dragleave", (event) => {
    if (!(event.relatedTarget instanceof Node && zone.contains(event.relatedTarget))) {
      delete zone.dataset.over;
    }
  });
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    delete zone.dataset.over;
    const files = event.dataTransfer?.files;
    if (files?.length === 1) {
      input.files = files;
      chosenNow();
    } else {
      showError(form, `Drop one graph: ${input.accept.split(",").join(", ")}. Add measured times under the options.`);
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const [file, second] = [input.files?.[0], times.files?.[0]];
    const conversions = JSON.parse(input.dataset.conversions ?? "{}");
    const fields = [{ file, accept: input.accept, conversions }, { file: second, accept: times.accept }];
    const fault = faultOf(fields, Number(form.dataset.limitBytes));
    showError(form, fault);
    if (fault === "") {
      send(form);
    }
  });
  if (isComingBack()) {
    form.reset(); // after going back or reloading, a browser may restore a file that was sent long ago
  } else if (input.files?.length) {
    chosenNow(); // chosen before this module was loaded; entered values are kept
  } else {
    focusRefused(form); // sent before this module was loaded, and refused: the page shows why
  }
}

/** Whether the page was reloaded or reached by going back, so that its fields may hold old values. */
function isComingBack() {
  const [entry] = performance.getEntriesByType("navigation");
  return entry instanceof PerformanceNavigationTiming && entry.type !== "navigate";
}

/**
 * Errors that the server would report only after a long upload: an unknown suffix, or too many bytes.
 *
 * @param {readonly { file: { name: string, size: number } | undefined, accept: string, conversions?: Record<string, string> }[]} fields
 *   each with the suffixes that it takes, commas between, and how to convert known others; a file may be missing
 * @param {number} limitBytes of all files together
 * @returns {string} empty without an error
 */
export function faultOf(fields, limitBytes) {
  const chosen = fields.flatMap(({ file, ...field }) => (file ? [{ name: file.name, size: file.size, ...field }] : []));
  for (const { name, accept, conversions } of chosen) {
    const suffixes = accept.split(",").map((suffix) => suffix.trim());
    const dot = name.lastIndexOf(".");
    const suffix = dot > 0 ? name.slice(dot).toLowerCase() : "nothing";
    if (dot <= 0 || !suffixes.some((each) => name.toLowerCase().endsWith(each))) {
      const advice = conversions && Object.hasOwn(conversions, suffix) ? `; ${conversions[suffix]}` : "";
      return `${cutName(name)}: a file ending in ${cutName(suffix)}${advice}; allowed: ${suffixes.join(", ")}`;
    }
  }
  const bytes = chosen.reduce((sum, { size }) => sum + size, 0);
  const what = chosen.length === 1 ? `${cutName(chosen[0].name)}: the file is` : "both files together are";
  return bytes > limitBytes ? `${what} too large; allowed: at most ${formatBytes(limitBytes)}` : "";
}

/** @param {HTMLFormElement} form */
function send(form) {
  const progress = find(form, "progress", HTMLProgressElement);
  const words = find(form, "[data-part=progress-words]", HTMLElement);
  const request = new XMLHttpRequest(); // fetch does not report how much of a body has been sent
  const timeLeft = new TimeLeft();
  const busy = (/** @type {boolean} */ on) => {
    form.toggleAttribute("data-busy", on);
    find(form, "[data-part=sending]", HTMLElement).hidden = !on;
  };
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    progress.max = total;
    progress.value = loaded;
    const left = timeLeft.words("upload", loaded, total, performance.now());
    setText(words, loaded < total ? `Uploading: ${formatShare(loaded / total)}${left}` : "Uploaded, checking the file…");
  });
  request.addEventListener("load", () => {
    if (request.status < 400) {
      location.assign(request.responseURL);
      return;
    }
    busy(false);
    showError(form, refusal(form, request));
  });
  request.addEventListener("error", () => {
    busy(false);
    showError(form, "The upload was interrupted: the server cannot be reached, or it refused the file for its size. Try again.");
  });
  clearErrors(form);
  showError(form, "");
  busy(true);
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "application/json");
  request.send(new FormData(form));
}

/**
 * Show the server's errors at their options; returns the others.
 *
 * @param {HTMLFormElement} form
 * @param {XMLHttpRequest} request
 * @returns {string}
 */
function refusal(form, request) {
  try {
    return showErrors(form, JSON.parse(request.responseText).errors);
  } catch {
    return `The server refused the file (${request.status}).`;
  }
}

/**
 * @param {HTMLFormElement} form
 * @param {string} text
 */
function showError(form, text) {
  const box = find(form, "[data-part=upload-error]", HTMLElement);
  box.hidden = text === "";
  setText(box, errorSentence(text));
  if (text !== "") {
    box.focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest" });
  }
}
