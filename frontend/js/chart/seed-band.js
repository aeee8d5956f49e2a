/** The band over seeds on the axis of one run's episodes. */

/** @typedef {import("../jobs/comparison-state.js").Band} Band */

/**
 * @typedef {object} SeedBand as the server answers
 * @property {number[]} seeds
 * @property {Band} band
 *
 * @typedef {object} EpisodeBand arrays of [points]
 * @property {number[]} numbers of episodes
 * @property {number[]} median_us
 * @property {number[]} low_us
 * @property {number[]} high_us
 */

/**
 * A band counts evaluations, of which an episode may take several: each point goes to the first episode of this run that
 * has used as many. Points beyond the run's last episode are left out.
 *
 * @param {Band} band
 * @param {readonly { episode: number, evaluations: number }[]} episodes
 * @returns {EpisodeBand}
 */
export function bandOnEpisodes(band, episodes) {
  /** @type {EpisodeBand} */
  const found = { numbers: [], median_us: [], low_us: [], high_us: [] };
  let index = 0;
  band.evaluations.forEach((evaluations, point) => {
    while (index < episodes.length && episodes[index].evaluations < evaluations) {
      index += 1;
    }
    if (index < episodes.length) {
      found.numbers.push(episodes[index].episode);
      found.median_us.push(band.median_us[point]);
      found.low_us.push(band.low_us[point]);
      found.high_us.push(band.high_us[point]);
    }
  });
  return found;
}

/**
 * @param {EpisodeBand} band
 * @param {readonly [number, number]} domain of episodes
 * @returns {number[]} the least time in it, none where it has no point
 */
export function leastIn({ numbers, low_us: low }, [from, to]) {
  const inside = low.filter((_, index) => numbers[index] >= from && numbers[index] <= to);
  return inside.length === 0 ? [] : [Math.min(...inside)];
}

/**
 * @param {SeedBand} answer
 * @returns {string}
 */
export function bandWords({ seeds }) {
  return seeds.length < 2
    ? "No run differs from this one in the seed alone. Start it again with another seed to see a band."
    : `Band: the best so far of ${seeds.length} seeds (${shownSeeds(seeds)}), from the least to the greatest, and its median.`;
}

/** @param {number[]} seeds */
function shownSeeds(seeds) {
  return seeds.length > 8 ? `${seeds.slice(0, 8).join(", ")}, …` : seeds.join(", ");
}
