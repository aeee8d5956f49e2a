/** Requests to this server. */

import { element } from "./dom.js";
import { errorSentence } from "./sentences.js";

/** A failed request: its message for the user, and its HTTP status. */
export class ServerError extends Error {
  /**
   * @param {string} message
   * @param {number} status of HTTP, 0 without an answer
   */
  constructor(message, status) {
    super(message);
    this.name = "ServerError";
    this.status = status;
  }
}

/**
 * Whether the requested object has been deleted, so that asking again is useless.
 *
 * @param {unknown} error
 * @returns {boolean}
 */
export function isGone(error) {
  return error instanceof ServerError && (error.status === 404 || error.status === 410);
}

/**
 * Whether there is a reason for the answer that stays, so that asking again is useless.
 *
 * @param {unknown} error
 * @returns {error is ServerError}
 */
export function isRefusal(error) {
  return error instanceof ServerError && error.status === 409;
}

/**
 * Whether the server has refused what was asked, so that asking again is useless.
 *
 * @param {unknown} error
 * @returns {error is ServerError}
 */
export function isBadRequest(error) {
  return error instanceof ServerError && error.status === 400;
}

/**
 * @param {string} url
 * @returns {Promise<unknown>}
 */
export async function getJson(url) {
  const answer = await ask(url, "application/json");
  try {
    return await answer.json();
  } catch {
    throw new ServerError("The server's answer could not be read.", answer.status);
  }
}

/**
 * @param {string} url of what never changes, so that the browser may keep it
 * @returns {Promise<ArrayBuffer>}
 */
export async function getBytes(url) {
  const answer = await ask(url, "application/octet-stream, application/json", "default");
  return answer.arrayBuffer();
}

/**
 * @param {string} url of a file to save
 * @param {AbortSignal} signal
 * @returns {Promise<Response>} throws ServerError with the server's sentence
 */
export async function getFile(url, signal) {
  return answered(url, { headers: { Accept: "application/json" }, cache: "no-store", signal });
}

/**
 * @param {string} url
 * @param {Record<string, unknown>} fields texts as they are, other values as JSON
 * @param {"application/json" | "application/octet-stream"} accept
 * @param {AbortSignal | null} [signal]
 * @returns {Promise<Response>} throws ServerError with the server's sentence
 */
export function post(url, fields, accept, signal = null) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    form.append(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return send(url, form, accept, signal);
}

/**
 * @param {string} url
 * @param {File} file sent as the field `file`
 * @returns {Promise<Response>} throws ServerError with the server's sentence
 */
export function postFile(url, file) {
  const form = new FormData();
  form.append("file", file);
  return send(url, form, "application/json", null);
}

/**
 * @param {string} url
 * @param {FormData} form
 * @param {string} accept
 * @param {AbortSignal | null} signal
 * @returns {Promise<Response>}
 */
function send(url, form, accept, signal) {
  const token = document.querySelector("input[name=csrfmiddlewaretoken]");
  const headers = { Accept: `${accept}, application/json`, "X-CSRFToken": token instanceof HTMLInputElement ? token.value : "" };
  return answered(url, { method: "POST", body: form, headers, signal });
}

/**
 * Send a form as it is, without loading a page.
 *
 * @param {HTMLFormElement} form
 * @returns {Promise<Response>} throws ServerError with the server's sentence
 */
export async function sendForm(form) {
  return answered(form.action, { method: "POST", body: new FormData(form), headers: { Accept: "application/json" } });
}

/**
 * @param {string} url
 * @param {RequestInit} request
 * @returns {Promise<Response>} throws ServerError with the server's sentence
 */
async function answered(url, request) {
  let answer;
  try {
    answer = await fetch(url, request);
  } catch {
    throw new ServerError("The server cannot be reached.", 0);
  }
  if (!answer.ok) {
    throw new ServerError(await sentenceOf(answer), answer.status);
  }
  return answer;
}

/** @param {Response} answer with `{"errors": {field: [sentence, …]}}` */
async function sentenceOf(answer) {
  try {
    const { errors } = await answer.json();
    return errorSentence(String(Object.values(errors).flat()[0]));
  } catch {
    return `The server answered ${answer.status}.`;
  }
}

/**
 * @param {string} url
 * @returns {Promise<Document>} a page, or a part of one
 */
export async function getPage(url) {
  const answer = await ask(url, "text/html");
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/**
 * @param {string} url
 * @param {string} accept
 * @param {RequestCache} [cache]
 * @returns {Promise<Response>}
 */
async function ask(url, accept, cache = "no-cache") {
  let answer;
  try {
    answer = await fetch(url, { headers: { Accept: accept }, cache });
  } catch {
    throw new ServerError("The server cannot be reached.", 0);
  }
  if (!answer.ok) {
    const error = new ServerError(await sentenceOf(answer), answer.status);
    throw isGone(error) ? new ServerError("This does not exist any more.", answer.status) : error;
  }
  return answer;
}

/**
 * Replace `host`'s content by a message that something could not be shown, with a button to try again.
 *
 * @param {Element} host
 * @param {string} what could not be shown
 * @param {unknown} error
 * @param {(() => void) | null} again
 */
export function showFailure(host, what, error, again) {
  const why = error instanceof Error ? error.message : String(error);
  const box = element("div", { class: "failure", role: "alert" }, element("p", {}, `${what} ${why}`));
  if (again) {
    const button = element("button", { type: "button", class: "button" }, "Try again");
    button.addEventListener("click", again);
    box.append(button);
  }
  host.replaceChildren(box);
}
