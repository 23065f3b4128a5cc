import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { AeadFailed, aeadReady } from './aead.ts';
import { createMasterKeys } from './master-keys.ts';

beforeAll(aeadReady);
const plaintext = new TextEncoder().encode('a wrapped key');
const [former, next] = [randomBytes(32), randomBytes(32)];

describe('createMasterKeys', () => {
  it('unwraps what it wrapped, for the same purpose only', () => {
    const keys = createMasterKeys([former]);
    const wrapped = keys.wrap(plaintext, 'agent-key:agt_1');
    expect(Buffer.from(keys.unwrap(wrapped, 'agent-key:agt_1'))).toEqual(Buffer.from(plaintext));
    expect(() => keys.unwrap(wrapped, 'agent-key:agt_2')).toThrow(AeadFailed);
    expect(() => createMasterKeys([next]).unwrap(wrapped, 'agent-key:agt_1')).toThrow(AeadFailed);
  });

  it('reads both keys during a rotation and writes the newest', () => {
    const wrapped = createMasterKeys([former]).wrap(plaintext, 'p');
    const moved = createMasterKeys([next, former]).rewrap(wrapped, 'p');
    expect(Buffer.from(createMasterKeys([next]).unwrap(moved, 'p'))).toEqual(Buffer.from(plaintext));
    expect(() => createMasterKeys([former]).unwrap(moved, 'p')).toThrow(AeadFailed);
  });

  it('rejects a changed byte anywhere, and truncated values', () => {
    const keys = createMasterKeys([former]);
    const wrapped = keys.wrap(plaintext, 'p');
    for (let index = 0; index < wrapped.length; index += 1) {
      const changed = Uint8Array.from(wrapped);
      changed[index]! ^= 1;
      expect(() => keys.unwrap(changed, 'p')).toThrow(AeadFailed);
      expect(() => keys.unwrap(wrapped.subarray(0, index), 'p')).toThrow(AeadFailed);
    }
  });
});
