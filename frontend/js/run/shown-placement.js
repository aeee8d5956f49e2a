/**
 * Which placement the page of a run shows: that of the player's episode, another one of the run, a kept one, or what a
 * person made of it by hand; and the one that it waits for.
 */

import { hasEnded } from "../jobs/job-state.js";
import { prefersLessMotion } from "../ui/colours.js";
import { counted, formatTime } from "../ui/format.js";
import { isDraft, isStored } from "./drafts.js";
import { isKeptToken } from "./kept-placements.js";
import { episodeAt, fieldsOf, placementOfToken } from "./placements.js";
import { MovesError, partsOfToken, textOfMoves, tokenWithMoves, trialOf } from "./moves.js";
import { newTrial, placementOf } from "./trial.js";

/** @typedef {import("./placements.js").KnownPlacement} KnownPlacement */
/** @typedef {import("./run-state.js").RunState} RunState */
/** @typedef {import("./trial.js").Trial} Trial */

/**
 * @typedef {object} Placed a placement as it was shown
 * @property {string} key equal for equal placements
 * @property {ArrayLike<number>} placement [groups]
 * @property {boolean} isLive whether each new episode is shown as it comes
 *
 * @typedef {object} Listeners
 * @property {(placed: Placed | null) => void} onShow another placement is shown, or the same one again; null: there is none yet
 * @property {(words: string) => void} onWait what the page waits for, or why it cannot show it; empty: neither
 * @property {(groups: readonly number[]) => void} onLocks the shown placement was kept with these groups locked
 */

/** The least time between two live updates for a user who prefers less motion. */
const CALM_MILLISECONDS = 2000;

export class ShownPlacement {
  #lastSeq;
  #devices;
  #methodLabels;
  #kept;
  #player;
  #listeners;
  /** @type {RunState} */
  #state;
  /** The token of a placement to show as soon as the run has it. @type {string | null} */
  #awaited;
  /** The shown placement, if it is no episode. @type {KnownPlacement | null} */
  #fixed = null;
  /** What was changed by hand; all of it may be undone. @type {Trial | null} */
  #history = null;
  /** The same before its last change. @type {Trial | null} */
  #before = null;
  /** The token of what was changed by hand; empty: nothing is. */
  #byHand = "";
  #quantity;
  #isUpdating = false;
  #hasShown = false;
  #calmUntil = 0;
  /** How often a placement by hand was shown: each is another one. */
  #trials = 0;

  /**
   * @param {object} run
   * @param {RunState} run.state
   * @param {number} run.lastSeq of the events that were stored when the page was opened
   * @param {number} run.devices how many the cluster has
   * @param {Record<string, string>} run.methodLabels method → label
   * @param {string} [run.quantity] what its times are, before each: `period ` in a stream
   * @param {string} token of the placement to show at first; empty: the best of a run that has ended, else the newest
   * @param {import("./kept-placements.js").KeptPlacements} kept
   * @param {import("./player-controls.js").PlayerControls} player
   * @param {Listeners} listeners
   */
  constructor({ state, lastSeq, devices, methodLabels, quantity = "" }, token, kept, player, listeners) {
    this.#state = state;
    this.#lastSeq = lastSeq;
    this.#devices = devices;
    this.#methodLabels = methodLabels;
    this.#quantity = quantity;
    this.#awaited = token || (hasEnded(state.status) ? "best" : null);
    this.#kept = kept;
    this.#player = player;
    this.#listeners = listeners;
  }

  /** The shown placement without what was changed by hand; null without one. */
  get base() {
    return this.#fixed ?? episodeAt(this.#state, this.#player.shown);
  }

  /** @returns {Trial | null} null: nothing is changed by hand */
  get trial() {
    return this.#history?.moves.length ? this.#history : null;
  }

  /** Whether leaving the page loses moves by hand: they are too many for an address, and the browser stores nothing. */
  get wouldBeLost() {
    const { moves } = partsOfToken(this.#byHand);
    return this.trial !== null && isDraft(moves) && !isStored(moves);
  }

  /** @returns {Trial | null} also one whose moves are all undone: they can be made again */
  get history() {
    return this.#history;
  }

  /** @returns {ArrayLike<number> | null} [groups] */
  get placement() {
    return this.trial ? placementOf(this.trial) : (this.base?.placement ?? null);
  }

  /** The index of the shown episode, -1 if another placement is shown. */
  get episodeIndex() {
    return this.trial || this.#fixed ? -1 : this.#player.shown;
  }

  /** The index of the player's episode, whatever is shown; -1 without one. */
  get playerIndex() {
    return this.#player.shown;
  }

  /** Whether a placement is awaited: what is shown until it comes was not asked for. */
  get isAwaiting() {
    return this.#awaited !== null;
  }

  /** Whether each new episode is shown as it comes. */
  get isLive() {
    return this.#player.following && !hasEnded(this.#state.status);
  }

  /** The token of the shown placement; empty where it is what the page opens with. */
  get token() {
    const ended = hasEnded(this.#state.status);
    if (this.trial) {
      return this.#byHand;
    }
    if (this.#fixed) {
      return ended && this.#fixed.token === "best" ? "" : this.#fixed.token;
    }
    const best = placementOfToken("best", this.#state, this.#methodLabels);
    if (this.#player.shown === best?.episodeIndex && (ended || !this.#player.following)) {
      return ended ? "" : "best";
    }
    return this.#player.following && !ended ? "" : (this.base?.token ?? "");
  }

  /** In a few words, such as `episode 17, changed by hand`. */
  get words() {
    return `${this.base?.words}${this.trial ? ", changed by hand" : ""}`;
  }

  /** Its name before its step time; empty for an episode, which the charts mark, and for what the run has found. */
  get name() {
    const fixed = this.#fixed?.token === "best" ? null : this.#fixed;
    return this.trial ? "By hand" : (fixed?.name ?? fixed?.words ?? "");
  }

  /** What it is and how long it takes; empty without one. */
  get sentence() {
    const { base } = this;
    if (!base) {
      return "";
    }
    if (this.trial) {
      return `By hand, from ${base.words}.`;
    }
    const fits = base.feasible ? "" : ", does not fit in memory";
    const level = base.levelGroups === undefined ? "" : `, found among ${counted(base.levelGroups, "group")}`;
    return `${base.words[0].toUpperCase()}${base.words.slice(1)}: ${this.#quantity}${formatTime(base.stepTimeUs, 4)}${fits}${level}.`;
  }

  /** @returns {{ words: string, token: string, placement: ArrayLike<number>, base: string } | null} to compare it with another */
  get compared() {
    const { base, placement } = this;
    if (!base || !placement) {
      return null;
    }
    return this.trial ? { words: `the placement by hand, from ${base.words}`, token: this.#byHand, placement, base: base.base } : { ...base, placement };
  }

  /** The shown placement as requests have it. */
  fields() {
    return this.fieldsOf(this.placement ?? []);
  }

  /**
   * A placement as requests have it; where it splits groups, it was made of the shown one.
   *
   * @param {ArrayLike<number>} placement [groups]
   */
  fieldsOf(placement) {
    return fieldsOf(placement, this.base?.base ?? "");
  }

  /** @param {RunState} state of the run from now on */
  update(state) {
    const hasJustEnded = hasEnded(state.status) && !hasEnded(this.#state.status);
    this.#state = state;
    if (hasJustEnded && this.#player.following && !this.#fixed && !this.trial) {
      this.#awaited = "best"; // who watched the run sees what it found, as everybody does who opens its page later
    }
    this.#isUpdating = true;
    this.#player.update(state, !hasEnded(state.status));
    this.#isUpdating = false;
    this.#showAwaited();
  }

  /**
   * Show the placement of a token, now or as soon as the run has it.
   *
   * @param {string} token empty: what the page opens with
   */
  goTo(token) {
    this.#awaited = token || (hasEnded(this.#state.status) ? "best" : "live");
    this.#showAwaited();
  }

  /**
   * The last change by hand cannot be made: take it back, or all that an address asked for, and say why.
   *
   * @param {string} key of the placement that they made
   * @param {string} why
   */
  refuse(key, why) {
    if (this.trial && key === this.#keyByHand) {
      this.#showByHand(this.#before);
      this.#listeners.onWait(why);
    }
  }

  /** Show the player's episode: the player has moved. */
  showEpisode() {
    if (this.#isUpdating && (this.#fixed || this.#isLoading)) {
      return; // a person looks at something else, or the best one is shown once all have come
    }
    this.#hasShown = true;
    const now = performance.now();
    if (this.isLive && prefersLessMotion() && now < this.#calmUntil) {
      return;
    }
    this.#calmUntil = now + CALM_MILLISECONDS;
    if (!this.#player.following) {
      this.#waitNoMore();
    }
    this.#history = null;
    this.#fixed = null;
    this.#tell();
  }

  /** The player was asked for the episode where it stands: it takes the place of another placement. */
  returnToEpisode() {
    if (this.#fixed || this.#history) {
      this.showEpisode();
    }
  }

  /**
   * Change the shown placement by hand.
   *
   * @param {(trial: Trial) => Trial} change gives the same one where nothing changes
   */
  changeByHand(change) {
    const { base } = this;
    if (!base) {
      return;
    }
    const before = this.#history ?? newTrial(base.placement);
    const after = change(before);
    if (after !== before) {
      this.#showByHand(after, before);
    }
  }

  /** Forget what was changed by hand. */
  discard() {
    this.#showByHand(null);
  }

  /**
   * @param {Trial | null} trial
   * @param {Trial | null} before what to go back to where the server refuses it
   */
  #showByHand(trial, before = null) {
    this.#history = trial;
    this.#before = before;
    this.#byHand = trial?.moves.length ? tokenWithMoves(this.base?.token ?? "", trial.moves) : "";
    this.#waitNoMore();
    this.#player.pause();
    this.#tell();
  }

  #tell() {
    const { base, trial, placement, isLive } = this;
    this.#trials += trial ? 1 : 0;
    const key = trial ? this.#keyByHand : (base?.key ?? "");
    this.#listeners.onShow(base && placement && { key, placement, isLive });
  }

  get #keyByHand() {
    return `by hand ${this.#trials}`;
  }

  /** Whether the events of a run that has ended are still on their way: nothing is the best or the last yet. */
  get #isLoading() {
    return hasEnded(this.#state.status) && this.#state.lastSeq < this.#lastSeq;
  }

  #showAwaited() {
    const token = this.#awaited;
    if (token === null) {
      return;
    }
    const { base, moves } = partsOfToken(token);
    const known = placementOfToken(base, this.#state, this.#methodLabels, this.#kept);
    const mayCome = isKeptToken(base) ? this.#kept.isLoading(base) : !hasEnded(this.#state.status);
    const waits = this.#isLoading || (!known && mayCome);
    this.#listeners.onWait(known ? "" : missingWords(base, waits));
    if (waits) {
      return;
    }
    this.#awaited = null;
    const before = this.base?.key === known?.key ? this.#history : null;
    if (!known || known.episodeIndex < 0) {
      this.#showFixed(known);
    } else if (base === "live") {
      this.#movePlayer(() => this.#player.act("last"));
    } else {
      this.#movePlayer(() => this.#player.seek(known.episodeIndex));
    }
    if (known && moves) {
      this.#makeMoves(known.placement, moves, before);
    }
  }

  /**
   * @param {ArrayLike<number>} base [groups] the shown placement
   * @param {string} moves text of a token
   * @param {Trial | null} before what was changed by hand there: its moves can be undone and made again as they were
   */
  #makeMoves(base, moves, before) {
    try {
      const asked = trialOf(base, moves, this.#devices);
      const all = before ? [...before.moves, ...before.undone] : [];
      const [made, undone] = [all.slice(0, asked.moves.length), all.slice(asked.moves.length)];
      this.#showByHand(textOfMoves(made) === textOfMoves(asked.moves) ? Object.freeze({ ...asked, moves: made, undone }) : asked);
    } catch (error) {
      if (!(error instanceof MovesError)) {
        throw error;
      }
      this.#listeners.onWait(error.message);
    }
  }

  /** @param {KnownPlacement | null} known a placement that is no episode; null: stay where the player is */
  #showFixed(known) {
    this.#player.pause();
    this.#history = null;
    this.#fixed = known;
    if (known && isKeptToken(known.token)) {
      this.#listeners.onLocks(this.#kept.lockedGroups(known.token));
    }
    this.#tell();
  }

  /** @param {() => void} move a player that does not move still shows its episode again */
  #movePlayer(move) {
    const index = this.#player.shown;
    move();
    if (!this.#hasShown && this.#player.shown === index) {
      this.showEpisode();
    }
  }

  /** A person has chosen another placement than the awaited one. */
  #waitNoMore() {
    this.#awaited = null;
    this.#listeners.onWait("");
  }
}

/**
 * @param {string} token of a placement that the run does not have
 * @param {boolean} waits
 */
function missingWords(token, waits) {
  if (["best", "live"].includes(token)) {
    return "";
  }
  return waits ? `Waiting for ${token.replace("-", " ")}…` : `This run has no placement “${token}”.`;
}
