/** Reads named arrays and JSON in the safetensors format, as the server sends them. */

const LENGTH_BYTES = 8;
const KINDS = { F64: Float64Array, F32: Float32Array, I32: Int32Array, U8: Uint8Array };

/** @typedef {Float64Array | Float32Array | Int32Array | Uint8Array} NumberArray */

/**
 * @param {ArrayBuffer} buffer
 * @param {number} version of the file that this page can read
 * @returns {{ texts: any, arrays: Map<string, NumberArray> }} `texts` is the server's JSON
 */
export function readArrays(buffer, version) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, LENGTH_BYTES, length)));
  const texts = JSON.parse(header.__metadata__.placeto);
  if (texts.version !== version) {
    throw new Error("This page is older than the server. Load it again.");
  }
  const data = LENGTH_BYTES + length;
  const arrays = new Map();
  for (const [name, { dtype, data_offsets: offsets }] of Object.entries(header)) {
    if (name === "__metadata__") {
      continue;
    }
    const Kind = KINDS[/** @type {keyof typeof KINDS} */ (dtype)];
    arrays.set(name, new Kind(buffer.slice(data + offsets[0], data + offsets[1])));
  }
  return { texts, arrays };
}
