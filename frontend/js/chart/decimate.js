/** Fewer marks for the same picture: points on the same few pixels are drawn once. */

/**
 * The points that differ at cells of `cell` pixels, in order; at most one for each cell.
 *
 * @template Item
 * @param {readonly Item[]} items
 * @param {(item: Item, index: number) => number} toX pixel
 * @param {(item: Item, index: number) => number} toY pixel
 * @param {number} [cell] pixels
 * @returns {{ x: number, y: number, index: number }[]} `index` of the first item in each cell
 */
export function distinctPoints(items, toX, toY, cell = 2) {
  const seen = new Set();
  const points = [];
  for (let index = 0; index < items.length; index += 1) {
    const x = toX(items[index], index);
    const y = toY(items[index], index);
    const key = Math.round(x / cell) * 65536 + Math.round(y / cell);
    if (!seen.has(key)) {
      seen.add(key);
      points.push({ x, y, index });
    }
  }
  return points;
}

/**
 * The points where a series changes: a step line needs no others.
 *
 * @template Item
 * @param {readonly Item[]} items
 * @param {(item: Item) => number | null} toValue
 * @returns {{ index: number, value: number }[]}
 */
export function changes(items, toValue) {
  const points = [];
  /** @type {number | null} */
  let previous = null;
  for (let index = 0; index < items.length; index += 1) {
    const value = toValue(items[index]);
    if (value !== null && value !== previous) {
      points.push({ index, value });
      previous = value;
    }
  }
  return points;
}

/**
 * The mean of each value and those before it, over at most `window` of them.
 *
 * @param {readonly number[]} values
 * @param {number} window
 * @returns {number[]}
 */
export function runningMean(values, window) {
  const means = [];
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) {
    sum += values[index];
    if (index >= window) {
      sum -= values[index - window];
    }
    means.push(sum / Math.min(index + 1, window));
  }
  return means;
}

/**
 * The least and the greatest value of each pixel column, for a line of at most two points a column.
 *
 * @param {readonly number[]} values
 * @param {number} columns
 * @returns {{ index: number, value: number }[]}
 */
export function envelope(values, columns) {
  if (values.length <= columns * 2) {
    return values.map((value, index) => ({ index, value }));
  }
  const points = [];
  for (let column = 0; column < columns; column += 1) {
    const from = Math.floor((column * values.length) / columns);
    const to = Math.floor(((column + 1) * values.length) / columns);
    let least = from;
    let greatest = from;
    for (let index = from; index < to; index += 1) {
      least = values[index] < values[least] ? index : least;
      greatest = values[index] > values[greatest] ? index : greatest;
    }
    const pair = least <= greatest ? [least, greatest] : [greatest, least];
    points.push(...[...new Set(pair)].map((index) => ({ index, value: values[index] })));
  }
  return points;
}
