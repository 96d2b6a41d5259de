// Reads the container that the page carries: a JSON header, and typed arrays behind it.

/** @type {Record<string, any>} */
const READERS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
const ALIGNMENT = 8;

/**
 * @typedef {Object} Container
 * @property {any} header
 * @property {(name: string) => any} array the array of that name, the same each time
 */

/**
 * Unpacks the text of base64 that rlscope/page/container.py makes.
 * @param {string} text
 * @returns {Promise<Container>}
 */
export async function readContainer(text) {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const start = Math.ceil((4 + length) / ALIGNMENT) * ALIGNMENT;
  const places = new Map(Object.entries(header.arrays));
  const known = new Map();
  return {
    header,
    array(name) {
      const place = places.get(name);
      if (!place) throw new Error(`the page has no array ${name}`);
      if (!known.has(name)) known.set(name, readArray(bytes.subarray(start + place.offset), READERS[place.type], place.count));
      return known.get(name);
    },
  };
}

/** Puts the bytes of each number together again. @param {Uint8Array} bytes @param {any} reader @param {number} count */
function readArray(bytes, reader, count) {
  const size = reader.BYTES_PER_ELEMENT;
  const together = new Uint8Array(count * size);
  for (let byte = 0; byte < size; byte++) {
    for (let place = 0; place < count; place++) together[place * size + byte] = bytes[byte * count + place];
  }
  return new reader(together.buffer);
}
