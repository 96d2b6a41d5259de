// Reads the container that the page carries: a JSON header, and typed arrays behind it.

/** @type {Record<string, any>} */
const READERS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
const ALIGNMENT = 8;

/**
 * @typedef {Object} Container
 * @property {any} header
 * @property {(name: string) => any} array the array of that name; none of them is copied
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
  return {
    header,
    array(name) {
      const place = places.get(name);
      if (!place) throw new Error(`the page has no array ${name}`);
      return new READERS[place.type](bytes.buffer, start + place.offset, place.count);
    },
  };
}
