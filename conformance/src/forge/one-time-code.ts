import { createHmac, randomBytes } from 'node:crypto';

/** How codes are made of a seed (RFC 6238); the defaults of protocol section 5.5 for what is left out. */
export interface CodeSettings {
  readonly algorithm?: 'SHA1' | 'SHA256' | 'SHA512';
  readonly digits?: number;
  /** Seconds. */
  readonly period?: number;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A random seed: its bytes, and base32 in upper case without padding. */
export function newSeed(length = 20): { readonly bytes: Uint8Array; readonly base32: string } {
  const bytes = randomBytes(length);
  const bits = Array.from(bytes, (each) => each.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/[01]{1,5}/g) ?? [];
  return { bytes, base32: groups.map((each) => ALPHABET[Number.parseInt(each.padEnd(5, '0'), 2)]).join('') };
}

/** The code of one step: RFC 4226 section 5.3, with the step as counter. */
export function codeOfStep(seed: Uint8Array, step: number, settings: CodeSettings = {}): string {
  const { algorithm = 'SHA1', digits = 6 } = settings;
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac(algorithm, seed).update(counter).digest();
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 0x0f) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}
