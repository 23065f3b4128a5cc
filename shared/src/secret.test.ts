import { format, inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret } from './secret.ts';

const CANARY = 'canary-1f83d9ab';

describe('Secret', () => {
  it('is never printed', () => {
    const secret = new Secret(CANARY);
    // What a careless line does, past the compiler.
    const text = secret as unknown as string;
    const nested = { deep: [{ secret }] };
    const printed = [
      String(secret),
      `${text}`,
      '' + text,
      JSON.stringify(secret),
      JSON.stringify(nested),
      inspect(secret),
      inspect(nested, { depth: null, showHidden: true, getters: true }),
      format('%s %o %O %j', secret, secret, nested, nested),
      new Error(`with ${text}`).stack,
      Object.keys(secret).join(),
      Object.getOwnPropertyNames(secret).join(),
      JSON.stringify(Object.entries(secret)),
      JSON.stringify(Object.assign({}, secret)),
      JSON.stringify(structuredClone(secret)),
    ];
    for (const text of printed) expect(text).not.toContain(CANARY);
    expect(printed.slice(0, 4)).toEqual(['[redacted]', '[redacted]', '[redacted]', '"[redacted]"']);
  });

  it('may be bytes, which are not printed either', () => {
    const secret = new Secret(Buffer.from(CANARY));
    const printed = inspect(secret) + JSON.stringify(secret);
    expect(printed).toBe('[redacted]"[redacted]"');
    expect(secret.reveal().toString()).toBe(CANARY);
  });

  it('returns its value when asked explicitly', () => {
    expect(new Secret(CANARY).reveal()).toBe(CANARY);
  });
});
