import { type Pair, startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { crashDrill } from './crash-drill.ts';

// R1. Three kills of it run with every `npm test`, in invariants.test.ts.

const dir = tempDir();
let pair: Pair;

beforeAll(async () => {
  pair = await startPair({ dir: dir.path, env: { SV_LOG_LEVEL: 'error', ...RAISED_LIMITS } });
});
afterAll(async () => {
  await pair.stop();
  dir.remove();
});

test('100 times kill -9 under 32-way load: every answered access is in the log once, here and at the webhook', async () => {
  await crashDrill(pair, {
    dir: dir.path,
    callers: 32,
    kills: 100,
    // From the first answer after a start, while the outbox is still being shipped, to well into the load.
    answersBeforeKill: (round) => 1 + ((round * 61) % 500),
  });
});

test('kills of both at once lose no event and write none twice', async () => {
  await crashDrill(pair, {
    dir: dir.path,
    callers: 8,
    kills: 10,
    answersBeforeKill: (round) => 50 + 20 * round,
    meanwhile: async () => {
      await pair.process('webhook').kill();
      await pair.restart('webhook');
    },
  });
  expect(await pair.admin.call('GET', '/api/webhook')).toMatchObject({ reachable: true });
});
