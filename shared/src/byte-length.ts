const encoder = new TextEncoder();

/** Bytes of a text in UTF-8. Not by `Buffer`: the schemas run in browsers, too. */
export const byteLength = (text: string): number => encoder.encode(text).length;
