/** The upload form: a plain file input that works by itself; here it also takes dropped files and shows how far it is. */

import { find, setText } from "./dom.js";
import { formatBytes, formatShare } from "./format.js";

/** @param {HTMLFormElement} form */
export function enhanceUpload(form) {
  const input = find(form, "input[type=file]", HTMLInputElement);
  const zone = find(form, "[data-part=drop]", HTMLElement);
  const chosen = find(form, "[data-part=chosen-file]", HTMLElement);
  const tellChosen = () => {
    const file = input.files?.[0];
    setText(chosen, file ? `${file.name}, ${formatBytes(file.size)}` : "");
    tellError(form, "");
  };
  input.addEventListener("change", () => {
    tellChosen();
    if (input.files?.length) {
      form.requestSubmit();
    }
  });
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
      tellChosen();
      form.requestSubmit();
    } else {
      tellError(form, "Drop one file: .pb, .pbtxt or .json.");
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}

/** @param {HTMLFormElement} form */
function send(form) {
  const progress = find(form, "progress", HTMLProgressElement);
  const words = find(form, "[data-part=progress-words]", HTMLElement);
  const request = new XMLHttpRequest(); // fetch cannot tell how much of a body has been sent
  const busy = (/** @type {boolean} */ on) => {
    form.toggleAttribute("data-busy", on);
    find(form, "[data-part=sending]", HTMLElement).hidden = !on;
  };
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    progress.max = total;
    progress.value = loaded;
    setText(words, loaded < total ? `Uploading: ${formatShare(loaded / total)}` : "Uploaded, checking the file…");
  });
  request.addEventListener("load", () => {
    if (request.status < 400) {
      location.assign(request.responseURL);
      return;
    }
    busy(false);
    tellError(form, refusal(request));
  });
  request.addEventListener("error", () => {
    busy(false);
    tellError(form, "The upload broke off: the server cannot be reached, or it refused the file for its size. Try again.");
  });
  tellError(form, "");
  busy(true);
  request.open("POST", form.action);
  request.send(new FormData(form));
}

/**
 * What the server says is wrong: the page it answers with has the error at the field.
 *
 * @param {XMLHttpRequest} request
 * @returns {string}
 */
function refusal(request) {
  const type = request.getResponseHeader("Content-Type") ?? "";
  if (type.startsWith("text/plain") && request.responseText.length < 500) {
    return request.responseText.trim();
  }
  const page = new DOMParser().parseFromString(request.responseText, "text/html"); // its scripts never run
  const errors = [...page.querySelectorAll("[data-upload] .errorlist li, [data-page=error] [data-part=what]")];
  const texts = errors.map((error) => error.textContent?.trim()).filter(Boolean);
  return texts.length > 0 ? texts.join(" ") : `The server refused the file (${request.status}).`;
}

/**
 * @param {HTMLFormElement} form
 * @param {string} text
 */
function tellError(form, text) {
  const box = find(form, "[data-part=upload-error]", HTMLElement);
  box.hidden = text === "";
  setText(box, text);
  for (const list of form.querySelectorAll(".errorlist")) {
    list.remove();
  }
}
