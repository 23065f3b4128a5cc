const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const BITS_PER_CHARACTER = 5;
/** RFC 4648 section 6: no number of bytes gives a last group of these many characters. */
const IMPOSSIBLE_REMAINDERS: readonly number[] = [1, 3, 6];
const GROUP = 8;

/** A seed in its one spelling: upper case, bare; undefined if it is no base32 of a byte or more (RFC 4648 section 6). */
export function normalBase32(text: string): string | undefined {
  const seed = text.replace(/[\s-]/g, '').replace(/=+$/, '');
  const possible = /^[A-Za-z2-7]{2,}$/.test(seed) && !IMPOSSIBLE_REMAINDERS.includes(seed.length % GROUP);
  return possible ? seed.toUpperCase() : undefined;
}

/** The bytes of a normal seed; surplus bits are dropped, as many seeds were drawn as characters. @throws RangeError */
export function base32Bytes(seed: string): Uint8Array {
  const bytes = new Uint8Array(Math.floor((seed.length * BITS_PER_CHARACTER) / 8));
  let [held, heldBits, at] = [0, 0, 0];
  for (const character of seed) {
    const value = ALPHABET.indexOf(character);
    if (value < 0) throw new RangeError('not base32');
    held = ((held << BITS_PER_CHARACTER) | value) & 0xfff;
    heldBits += BITS_PER_CHARACTER;
    if (heldBits < 8) continue;
    heldBits -= 8;
    bytes[at++] = (held >> heldBits) & 0xff;
  }
  return bytes;
}
