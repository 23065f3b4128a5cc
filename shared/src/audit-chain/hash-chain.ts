import { hash } from 'node:crypto';

/** The hash before the first entry of a chain. */
export const CHAIN_START = '0'.repeat(64);

/**
 * JSON with members in code-unit order and absent members left out, so that the same entry always has the same
 * bytes (as RFC 8785 does for the values that occur here: strings, safe integers, booleans, null, arrays, objects).
 * @throws TypeError for a value with no such form (a fraction, a function, a bigint)
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new TypeError('only safe integers are hashed');
    return String(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object') throw new TypeError(`a ${typeof value} has no canonical form`);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/**
 * The hash of an entry and of all before it.
 * @param previous the former entry's hash, 64 hex digits, or {@link CHAIN_START}
 * @param canonical the entry as {@link canonicalJson} writes it
 * @returns 64 lower-case hex digits
 */
export function chainHash(previous: string, canonical: string): string {
  return hash('sha256', `${previous}\n${canonical}`, 'hex');
}
