import { beforeEach, expect, test } from 'vitest';
import { PROXY } from './access-fixture.ts';
import type { ProxyUse } from './decision.ts';
import { type OngoingUses, createOngoingUses } from './ongoing-uses.ts';
import type { ProxySubject } from './subject.ts';

const USE = { kind: 'session' } as ProxyUse;

/** Who holds each key now, and how often that was read. */
let holders: Map<string, ProxySubject>;
let reads: number;
let uses: OngoingUses;
beforeEach(() => {
  holders = new Map([['key', PROXY]]);
  reads = 0;
  const find = async (keyHash: string) => {
    reads += 1;
    return holders.get(keyHash);
  };
  uses = createOngoingUses({ store: { find } });
});

test('A use in progress is ended when its key is revoked, also where another use of the key has ended', async () => {
  const [ofFirst, ofSecond] = [new AbortController(), new AbortController()];
  const [first, second] = [uses.begin('key', USE, ofFirst), uses.begin('key', USE, ofSecond)];
  first.end();
  await uses.endWithdrawn();
  expect(ofSecond.signal.aborted).toBe(false);
  holders.set('key', { ...PROXY, proxyStatus: 'revoked' });
  await uses.endWithdrawn();
  expect([ofSecond.signal.aborted, second.denial()?.code]).toEqual([true, 'INVALID_KEY']);
  expect(ofFirst.signal.aborted).toBe(false);
});

test('A key whose uses have all ended is not read any more', async () => {
  uses.begin('key', USE, new AbortController()).end();
  await uses.endWithdrawn();
  expect(reads).toBe(0);
});
