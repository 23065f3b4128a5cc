import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock, signRequest } from '@svault/shared';
import { NO_METRICS } from '../metrics.ts';
import { createBindingReader } from '../binding/binding.ts';
import { createRequestAuthentication } from './authenticate-request.ts';

const SECRET = new Uint8Array(32).fill(9);

function startFixture(): {
  authenticate: (secret: Uint8Array) => Promise<unknown>;
  change: () => void;
  counts: { reads: number; claimed: number };
} {
  const clock = new ManualClock();
  const counts = { reads: 0, claimed: 0 };
  let mark = 1;
  const binding = createBindingReader({
    bindings: {
      changeMark: () => mark,
      binding: () => {
        counts.reads += 1;
        return { webhookId: 'whk_1', serviceBaseUrl: 'https://s.test', vaultId: 'vlt_1', complete: true };
      },
      keys: () => [{ id: 'k1', state: 'current', wrappedSecret: SECRET, validUntilMs: null }],
    },
    secrets: { unwrap: (wrapped) => wrapped },
    latestMs: () => clock.now(),
  });
  const { receive } = createRequestAuthentication({
    binding,
    claimOnce: {
      request: () => {
        counts.claimed += 1;
        return 'claimed';
      },
    },
    commit: { run: (work) => Promise.resolve(work()) },
    isFresh: () => undefined,
    clock,
    webhookUrl: 'https://hook.test',
    logger: silentLogger,
    metrics: NO_METRICS,
  });
  return {
    counts,
    change: () => {
      mark += 1;
    },
    authenticate: (secret) => {
      const path = '/v1/health';
      const headers = signRequest({
        method: 'POST',
        authority: 'hook.test',
        path,
        key: { id: 'k1', secret },
        nowMs: clock.now(),
      });
      const req = { method: 'POST', url: path, headers, rawHeaders: Object.entries(headers).flat() };
      return receive(req as unknown as IncomingMessage, { maxBytes: 0 });
    },
  };
}

describe('A signed request', () => {
  it('with a wrong MAC is rejected before the database is read or written', async () => {
    const { authenticate, counts } = startFixture();
    await authenticate(SECRET);
    expect(counts).toEqual({ reads: 1, claimed: 1 });
    for (let tries = 0; tries < 50; tries += 1) {
      const refused = authenticate(new Uint8Array(32).fill(tries + 10));
      await expect(refused).rejects.toMatchObject({ code: 'SIGNATURE_INVALID', reason: 'mac' });
    }
    expect(counts).toEqual({ reads: 1, claimed: 1 });
  });

  it('reads the binding again only after a change', async () => {
    const { authenticate, change, counts } = startFixture();
    await authenticate(SECRET);
    change();
    await authenticate(SECRET);
    await authenticate(SECRET);
    expect(counts.reads).toBe(2);
  });
});
