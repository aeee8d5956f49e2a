// The bytes of a step as the server sends them, for the tests.

/**
 * The bytes that `engine.explaining.sent` makes: a (10 µs) on GPU 0 is sent in 5 µs to b (20 µs) on GPU 1.
 *
 * @param {Record<string, unknown>} [texts]
 * @param {Record<string, Float64Array | Int32Array | Uint8Array>} [others] arrays that differ
 */
export function bytes(texts = {}, others = {}) {
  const arrays = {
    "op.device": Int32Array.of(0, 1),
    "op.start_us": Float64Array.of(0, 15),
    "op.end_us": Float64Array.of(10, 35),
    "op.slack_us": Float64Array.of(0, 0),
    waited_for: Int32Array.of(-1, 2, 0),
    "transfer.op": Int32Array.of(0),
    "transfer.source": Int32Array.of(0),
    "transfer.start_us": Float64Array.of(10),
    "transfer.end_us": Float64Array.of(15),
    "transfer.bytes": Float64Array.of(4096),
    "transfer.first_destination": Int32Array.of(0, 1),
    "transfer.destinations": Int32Array.of(1),
    "chain.activity": Int32Array.of(0, 2, 1),
    "chain.behind": Int32Array.of(-1, -1, -1),
    "chain.cause": Uint8Array.of(0, 1, 0),
    "chain.start_us": Float64Array.of(0, 10, 15),
    "chain.end_us": Float64Array.of(10, 15, 35),
    "idle.device": Int32Array.of(0, 1),
    "idle.start_us": Float64Array.of(10, 0),
    "idle.end_us": Float64Array.of(35, 15),
    "idle.cause": Uint8Array.of(3, 0),
    "idle.waits_us": Float64Array.of(0, 0, 0, 25, 10, 5, 0, 0),
    "idle.activity": Int32Array.of(-1, 0),
    "memory.first": Int32Array.of(0, 2, 3),
    "memory.time_us": Float64Array.of(0, 10, 0),
    "memory.bytes": Float64Array.of(100, 0, 7),
    ...others,
  };
  const all = {
    version: 1,
    step_time_us: 35,
    lower_bound_us: 30,
    bounds_us: { path: 30, work: 15, memory: 0 },
    devices: ["/device:GPU:0", "/device:GPU:1"],
    memory_bytes: [50, 1000],
    busy_us: [10, 20],
    rest_us: [0, 0],
    sending_us: [0, 0],
    contention: "pair",
    causes: ["compute", "transfer", "link", "rest", "queue"],
    cause_us: [30, 5, 0, 0, 0],
    idle_causes: ["input", "link", "order", "end"],
    byte_classes: ["weights"],
    peaks: [
      { time_us: 0, bytes: 100, bytes_of_class: [100], holdings: 1 },
      { time_us: 0, bytes: 7, bytes_of_class: [7], holdings: 1 },
    ],
    ...texts,
  };
  return packed(arrays, all);
}

/**
 * @param {Record<string, Float64Array | Int32Array | Uint8Array>} arrays
 * @param {unknown} texts
 */
function packed(arrays, texts) {
  const names = Object.keys(arrays).sort((one, other) => arrays[other].BYTES_PER_ELEMENT - arrays[one].BYTES_PER_ELEMENT);
  /** @type {Record<string, unknown>} */
  const header = { __metadata__: { placeto: JSON.stringify(texts) } };
  let offset = 0;
  for (const name of names) {
    const array = arrays[name];
    const dtype = array instanceof Float64Array ? "F64" : array instanceof Int32Array ? "I32" : "U8";
    header[name] = { dtype, shape: [array.length], data_offsets: [offset, offset + array.byteLength] };
    offset += array.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const buffer = new ArrayBuffer(8 + text.length + offset);
  new DataView(buffer).setBigUint64(0, BigInt(text.length), true);
  const all = new Uint8Array(buffer);
  all.set(text, 8);
  let at = 8 + text.length;
  for (const name of names) {
    all.set(new Uint8Array(arrays[name].buffer), at);
    at += arrays[name].byteLength;
  }
  return buffer;
}
