import { describe, expect, it } from 'vitest';
import {
  hashKey,
  isId,
  isWellFormedKey,
  keyDisplayPrefix,
  newId,
  newKey,
  newTimeOrderedId,
  timeOfId,
} from './ids.ts';

describe('ids', () => {
  it('have the prefix of their kind', () => {
    const id = newId('agt');
    expect(id).toMatch(/^agt_[A-Za-z0-9_-]{22}$/);
    expect(isId('agt', id)).toBe(true);
    expect(isId('prx', id)).toBe(false);
  });

  it.each([
    '',
    'agt_',
    'agt_short',
    `agt_${'a'.repeat(23)}`,
    `agt_${'a'.repeat(21)}/`,
    `AGT_${'a'.repeat(22)}`,
    undefined,
    7,
    ['agt_'],
  ])('do not match %j', (text) => {
    expect(isId('agt', text)).toBe(false);
  });
});

describe('keys', () => {
  it.each(['svagent', 'svsess', 'mcp', 'svadmin', 'svcli', 'svclir'] as const)(
    'of kind %s have 256 bits',
    (prefix) => {
      const key = newKey(prefix);
      expect(key).toMatch(new RegExp(`^${prefix}_[A-Za-z0-9_-]{43}$`));
      expect(isWellFormedKey(prefix, key)).toBe(true);
      expect(isWellFormedKey(prefix, `${key}A`)).toBe(false);
      expect(isWellFormedKey(prefix, `${key}\n`)).toBe(false);
      expect(isWellFormedKey(prefix, ` ${key}`)).toBe(false);
      expect(isWellFormedKey(prefix, key.replace('_', '-'))).toBe(false);
    },
  );

  it('have a hash, by which they are looked up', () => {
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('have a prefix of four characters for display', () => {
    expect(keyDisplayPrefix(`svagent_${'abcdefg'.repeat(6)}h`)).toBe('svagent_abcd…');
    expect(keyDisplayPrefix('mcp_WXYZ123')).toBe('mcp_WXYZ…');
  });
});

describe('time-ordered ids', () => {
  it('have the format of all ids, begin with their time, and differ', () => {
    const ids = Array.from({ length: 100 }, () => newTimeOrderedId('evt', Date.UTC(2026, 10, 20)));
    expect(ids.every((id) => isId('evt', id))).toBe(true);
    expect(new Set(ids.map((id) => id.slice(0, 12))).size).toBe(1);
    expect(new Set(ids).size).toBe(100);
    expect(new Set(ids.map(timeOfId))).toEqual(new Set([Date.UTC(2026, 10, 20)]));
  });
});
