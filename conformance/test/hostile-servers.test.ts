import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { HOSTILE_SERVERS } from '../fixtures/hostile-servers.ts';
import { CHECKS } from '../src/registry.ts';
import { write } from '../src/report/formats.ts';
import { runSuite, type SuiteRun } from '../src/suite-run.ts';
import type { WebhookToTest } from '../src/target.ts';
import { loadRequirements } from '../src/requirements.ts';

/** Enough to see that it ends; hostile-servers.hard.test.ts runs them with the limits of a real run. */
const TIGHT = { lostMs: 500, unanswered: 5, runMs: 20_000 };
const TIMEOUT_MS = 200;
const REQUIREMENTS = loadRequirements();
/** Some of every area; all of them run in the hard test. */
const SAMPLE = CHECKS.filter((_, index) => index % 8 === 0);
/** So agreeable that checks wait for what it promised. */
const SLOW = 'answers 200 with all that is asked for';

async function runOn(name: string, how: 'bound' | 'invited'): Promise<SuiteRun> {
  const server = await HOSTILE_SERVERS[name]!();
  const address = { webhookUrl: server.url, serviceUrl: 'https://service.example', timeoutMs: TIMEOUT_MS };
  const webhook: WebhookToTest =
    how === 'bound'
      ? { address, binding: { webhookId: 'whk_1', key: { id: 'k1', secret: randomBytes(32) } } }
      : {
          address,
          invitation: { code: '0b5e0bb5-8e4c-4d0f-9a55-3c1c3a4c7d10', hmacHash: 'a'.repeat(64) },
        };
  try {
    return await runSuite({ webhook, checks: SAMPLE, requirements: REQUIREMENTS, limits: TIGHT });
  } finally {
    await server.close();
  }
}

const QUICK = Object.keys(HOSTILE_SERVERS).filter((name) => name !== SLOW);
const INVITED = ['hangs without a word', 'answers 500', 'answers 200 with an empty object'];

describe('a report on every check', () => {
  test.each([
    ...QUICK.map((name) => [name, 'bound'] as const),
    ...INVITED.map((name) => [name, 'invited'] as const),
  ])('is made for a server that %s, having been %s', async (name, how) => {
    const { report } = await runOn(name, how);
    expect(report).toMatchObject({ conforms: false, accepted: false, interrupted: false });
    expect(report.checks.map(({ id }) => id)).toEqual(SAMPLE.map(({ id }) => id));
    const text = write(report, 'text');
    expect(text).toContain(`${report.counts.failed} failed`);
    // One screenful for each failure at most, and none that a terminal would obey.
    expect(text.length).toBeLessThan(4000 * report.counts.failed);
    // oxlint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  });
});

test('a server that never answers is called a few times, and every other check says why it was not tested', async () => {
  const { report } = await runOn('hangs without a word', 'bound');
  const { failed, warnings, skipped, notTestable } = report.counts;
  expect(failed + warnings).toBe(notTestable);
  expect(notTestable + skipped).toBe(SAMPLE.length);
  expect(write(report, 'text').split('\n').length).toBeLessThan(100);
});
