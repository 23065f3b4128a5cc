import { existsSync } from 'node:fs';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { newKey, randomToken } from '@svault/shared';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { TestAgent } from './service-steps.ts';
import { type Backstage, decide, goBackstage } from './specification/backstage.ts';
import { timingDifference } from './timing-difference.ts';

/*
 * R16: nobody learns from the time of an answer how much of a key is right, or whether a service that is not granted
 * exists. Measured in the process, at the one function that decides, on the real database: what HTTP adds is the same
 * for both and would only hide a difference. The database lies in memory where it can, since the time of an fsync is
 * noise of a hundred times the work.
 */

const SAMPLES = 200_000;
/** Where a difference counts as measured (Welch's t). */
const MEASURED = 4.5;
const MEMORY = '/dev/shm';
const POOL = 60;

let backstage: Backstage;
let agent: TestAgent;

beforeAll(async () => {
  if (existsSync(MEMORY)) vi.stubEnv('TMPDIR', MEMORY);
  backstage = await goBackstage(RAISED_LIMITS);
  // Not the only one in the index.
  for (let n = 0; n < 200; n++) await backstage.agent('mine');
  agent = await backstage.agent('mine');
});
afterAll(async () => {
  await backstage.close();
  vi.unstubAllEnvs();
});

/** One piece of memory each: a string that is still a view of another one takes longer to read. */
const flat = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

const pool = (make: (n: number) => string): ((n: number) => string) => {
  const made = Array.from({ length: POOL }, (_, n) => flat(make(n)));
  return (n) => made[n % POOL]!;
};

const decideAs = (key: string, service: string) => decide(backstage, key, service);

test('the measurement sees a difference that is there', async () => {
  const [malformed, wrong] = [pool(() => 'svagent_x'), pool(() => newKey('svagent'))];
  const t = await timingDifference(20_000, [
    (n) => decideAs(malformed(n), 'mine'),
    (n) => decideAs(wrong(n), 'mine'),
  ]);
  expect(t).toBeGreaterThan(MEASURED);
});

test('a wrong key takes as long whether it shares no character with a real one or all but the last', async () => {
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const others = ALPHABET.split('').filter((letter) => !agent.apiKey.endsWith(letter));
  const near = pool((n) => agent.apiKey.slice(0, -1) + others[n]!);
  const far = pool(() => {
    const start = 'svagent_'.length;
    const differs = (letter: string, at: number): string =>
      letter === agent.apiKey[at + start] ? (letter === 'A' ? 'B' : 'A') : letter;
    return 'svagent_' + [...newKey('svagent').slice(start)].map(differs).join('');
  });
  const t = await timingDifference(SAMPLES, [
    (n) => decideAs(far(n), 'mine'),
    (n) => decideAs(near(n), 'mine'),
  ]);
  expect(t).toBeLessThan(MEASURED);
});

test('NO_GRANT takes as long for a service that exists, and is granted to others, as for one that does not', async () => {
  const known: string[] = [];
  const policy = (
    await backstage.admin('POST', '/api/policies', {
      body: {
        name: 'p',
        enabled: true,
        rules: [
          { type: 'max_usage', limit: 5 },
          { type: 'ip_allowlist', cidrs: ['::/0'] },
        ],
      },
    })
  ).json;
  for (let n = 0; n < POOL; n++) {
    const serviceName = `service-${randomToken(12)}`;
    known.push(serviceName);
    await backstage.admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'PlainText' } });
    const target = { targetType: 'token', targetId: serviceName };
    await backstage.admin('POST', `/api/policies/${policy.id}/attachments`, { body: target });
  }
  await backstage.agent(...known);
  const [exists, doesNot] = [pool((n) => known[n]!), pool(() => `service-${randomToken(12)}`)];
  const t = await timingDifference(SAMPLES, [
    (n) => decideAs(agent.apiKey, exists(n)),
    (n) => decideAs(agent.apiKey, doesNot(n)),
  ]);
  expect(t).toBeLessThan(MEASURED);
});
