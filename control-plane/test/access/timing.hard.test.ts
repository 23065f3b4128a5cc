import { existsSync } from 'node:fs';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { newKey, randomToken } from '@svault/shared';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import type { TestAgent } from '../support/service-steps.ts';
import { type InProcess, decide, startInProcess } from '../support/in-process.ts';
import { timingDifference } from '../support/timing-difference.ts';

/*
 * R16: nobody learns from the time of an answer how much of a key is right, or whether a service that is not granted
 * exists. Measured in the process, at the one function that decides, on the real database: what HTTP adds is the same
 * for both and would only hide a difference. The database lies in memory where it can, since the time of an fsync is
 * noise of a hundred times the work.
 */

/** Fewer where each is a round trip to another process. */
const SAMPLES = inject('postgres') === undefined ? 200_000 : 40_000;
/** Where a difference counts as measured (Welch's t). */
const MEASURED = 4.5;
const MEMORY = '/dev/shm';
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');
const SERVICES = 300;
const AGENTS = 200;

let backstage: InProcess;
let agents: TestAgent[];
let agent: TestAgent;

beforeAll(async () => {
  if (existsSync(MEMORY)) vi.stubEnv('TMPDIR', MEMORY);
  backstage = await startInProcess(RAISED_LIMITS);
  agents = [];
  while (agents.length < AGENTS) agents.push(await backstage.agent('mine'));
  agent = agents[0]!;
});
afterAll(async () => {
  await backstage.close();
  vi.unstubAllEnvs();
});

const many = (count: number, make: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => make(n));

const withKey = (key: string): Promise<unknown> => decide(backstage, key, 'mine');

test('the measurement sees a difference that is there', async () => {
  const wrong = many(60, () => newKey('svagent'));
  const t = await timingDifference(20_000, withKey, [['svagent_x'], wrong]);
  expect(t).toBeGreaterThan(MEASURED);
});

test('a wrong key takes as long whether it shares no character with a real one or all but the last', async () => {
  const start = 'svagent_'.length;
  const differing = (key: string) => (letter: string, at: number) =>
    letter === key[at + start] ? (letter === 'A' ? 'B' : 'A') : letter;
  const near: string[] = [];
  const far: string[] = [];
  for (const { apiKey } of agents)
    for (const letter of ALPHABET.filter((each) => !apiKey.endsWith(each))) {
      near.push(apiKey.slice(0, -1) + letter);
      far.push(`svagent_${newKey('svagent').slice(start).split('').map(differing(apiKey)).join('')}`);
    }
  const t = await timingDifference(SAMPLES, withKey, [far, near]);
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
  for (let n = 0; n < SERVICES; n++) {
    const serviceName = `service-${randomToken(12)}`;
    known.push(serviceName);
    await backstage.admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'PlainText' } });
    const target = { targetType: 'token', targetId: serviceName };
    await backstage.admin('POST', `/api/policies/${policy.id}/attachments`, { body: target });
  }
  await backstage.agent(...known);
  const unheardOf = many(SERVICES, () => `service-${randomToken(12)}`);
  const t = await timingDifference(SAMPLES, (service) => decide(backstage, agent.apiKey, service), [
    known,
    unheardOf,
  ]);
  expect(t).toBeLessThan(MEASURED);
});
