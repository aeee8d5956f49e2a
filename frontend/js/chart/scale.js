/** Scales of an axis: from values to pixels and back, and the positions of ticks. */

/**
 * @typedef {object} Scale
 * @property {(value: number) => number} toPixel
 * @property {(pixel: number) => number} toValue
 * @property {readonly [number, number]} domain
 */

/**
 * @param {readonly [number, number]} domain
 * @param {readonly [number, number]} range in pixels
 * @returns {Scale}
 */
export function linearScale(domain, range) {
  const [low, high] = domain;
  const [from, to] = range;
  const slope = high === low ? 0 : (to - from) / (high - low);
  return {
    domain,
    toPixel: (value) => from + (value - low) * slope,
    toValue: (pixel) => (slope === 0 ? low : low + (pixel - from) / slope),
  };
}

/**
 * @param {readonly [number, number]} domain both above 0
 * @param {readonly [number, number]} range in pixels
 * @returns {Scale}
 */
export function logScale(domain, range) {
  const inner = linearScale([Math.log(domain[0]), Math.log(domain[1])], range);
  return {
    domain,
    toPixel: (value) => inner.toPixel(Math.log(Math.max(value, Number.MIN_VALUE))),
    toValue: (pixel) => Math.exp(inner.toValue(pixel)),
  };
}

/**
 * The least and the greatest of any number of values; `Math.min(...values)` fails at some hundred thousand.
 *
 * @param {readonly number[]} values
 * @returns {[number, number]}
 */
export function extent(values) {
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
}

/**
 * Round steps between neighbouring ticks: 1, 2 or 5 times a power of ten, the least that gives at most `most` ticks.
 *
 * @param {number} span
 * @param {number} most
 * @returns {number}
 */
export function niceStep(span, most) {
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough * (1 - 1e-9)) ?? 10 * power;
}

/**
 * @param {readonly [number, number]} domain
 * @param {number} most
 * @returns {number[]} round values within the domain, at least two: one alone shows no scale
 */
export function linearTicks(domain, most) {
  const [low, high] = domain;
  if (!(high > low)) {
    return [low];
  }
  const ticks = multiples(domain, niceStep(high - low, most));
  return ticks.length < 2 ? linearTicks(domain, most + 1) : ticks;
}

/**
 * @param {readonly [number, number]} domain
 * @param {number} most ticks
 * @returns {[number, number]} the domain up to a tick, so that the highest line stands below one
 */
export function roundedUp([low, high], most) {
  const step = high > low ? niceStep(high - low, most) : 1;
  return [low, Math.ceil(high / step - 1e-9) * step];
}

/**
 * @param {readonly [number, number]} domain
 * @param {number} step
 * @returns {number[]} the multiples of `step` within the domain
 */
function multiples([low, high], step) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => (first + index) * step);
}

/**
 * @param {readonly [number, number]} domain both above 0
 * @param {number} most
 * @returns {number[]} 1, 2 and 5 times powers of ten, or powers of ten alone, or linear ticks in a narrow domain
 */
export function logTicks(domain, most) {
  const [low, high] = domain;
  const least = high / low < 10 ? Math.min(3, most) : 2; // few ticks of a narrow domain would be worse than linear ones
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = logCandidates(low, high, factors);
    if (ticks.length < least) {
      break;
    }
    if (ticks.length <= most) {
      return ticks;
    }
  }
  return high / low < 100 ? linearTicks(domain, most) : thinned(logCandidates(low, high, [1]), most);
}

/**
 * The end of an axis for `count`, which grows in steps so that the axis does not move with every new value.
 *
 * @param {number} count
 * @param {number} [least]
 * @returns {number}
 */
export function roomFor(count, least = 20) {
  if (count <= least) {
    return least;
  }
  const power = 10 ** Math.floor(Math.log10(count));
  const steps = [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
  return power * (steps.find((step) => step * power >= count) ?? 10);
}

/**
 * @param {number} low
 * @param {number} high
 * @param {number[]} factors
 * @returns {number[]}
 */
function logCandidates(low, high, factors) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) {
        ticks.push(tick);
      }
    }
  }
  return ticks;
}

/**
 * @param {number[]} ticks
 * @param {number} most
 * @returns {number[]}
 */
function thinned(ticks, most) {
  const every = Math.ceil(ticks.length / most);
  return ticks.filter((_, index) => index % every === 0);
}
