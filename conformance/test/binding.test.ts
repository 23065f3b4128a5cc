import { afterEach, describe, expect, test } from 'vitest';
import { BINDING_FLAWS } from '../fixtures/flaws/binding.ts';
import { HEALTH_FLAWS } from '../fixtures/flaws/health.ts';
import { ROTATION_FLAWS } from '../fixtures/flaws/rotation.ts';
import { SERVICE_URL, startMinimalWebhook, type MinimalWebhook } from '../fixtures/minimal.ts';
import type { Rules } from '../fixtures/rules.ts';
import { parseRegistrationLink } from '../src/binding/registration-link.ts';
import { selectChecks } from '../src/registry.ts';
import { runChecks, type Result } from '../src/runner.ts';
import { notPassed, requirements } from './suite.ts';

/** What may differ in a run that binds first: the other areas are tried on a webhook that was bound before. */
const CHECKED = selectChecks(['binding', 'health', 'rotation']);
/** What a binding shows, without what takes many requests more. */
const SEEN_WHILE_BINDING = [...CHECKED.filter((check) => 'observe' in check), ...selectChecks(['health'])];
const checkOf = (name: string): string => name.split(' · ', 1)[0] ?? '';

const started: MinimalWebhook[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((webhook) => webhook.close()));
});

async function start(changed: Partial<Rules> = {}, options = { bound: false }): Promise<MinimalWebhook> {
  const webhook = await startMinimalWebhook(changed, options);
  started.push(webhook);
  return webhook;
}

async function bindAndRun(changed: Partial<Rules> = {}, checks = CHECKED): Promise<readonly Result[]> {
  const webhook = parseRegistrationLink((await start(changed)).invite(), { timeoutMs: 10_000 });
  return runChecks({ webhook, checks, requirements, reusesConnections: true });
}

test('a small conforming webhook passes every check of its binding', async () => {
  expect(notPassed(await bindAndRun())).toEqual([]);
});

describe('each sabotage fails exactly its checks in a run that binds first:', () => {
  const isSeen = (id: string): boolean => SEEN_WHILE_BINDING.some((check) => check.id === id);
  const flaws = Object.entries({ ...BINDING_FLAWS, ...HEALTH_FLAWS, ...ROTATION_FLAWS })
    .map(([name, { changed, alsoFails = [] }]) => ({ name, changed, fails: [checkOf(name), ...alsoFails] }))
    .filter(({ fails }) => fails.some(isSeen));
  test.each(flaws)('$name', async ({ changed, fails }) => {
    const failed = notPassed(await bindAndRun(changed, SEEN_WHILE_BINDING));
    expect(failed.toSorted()).toEqual(fails.filter(isSeen).toSorted());
  });
});

describe('a webhook that was bound before the run', () => {
  const onBound = async (changed: Partial<Rules> = {}): Promise<readonly Result[]> => {
    const { url: webhookUrl, binding } = await start(changed, { bound: true });
    const address = { webhookUrl, serviceUrl: SERVICE_URL, timeoutMs: 10_000 };
    return runChecks({ webhook: { address, binding }, checks: CHECKED, requirements });
  };

  test('keeps its key: checks that would replace it are skipped, with the reason', async () => {
    const results = await onBound();
    const { keys } = started[0]?.world ?? {};
    expect(keys?.current).toEqual(started[0]?.binding.key);
    const skipped = results.filter(({ outcome }) => outcome.kind === 'skipped');
    expect(skipped.map(({ check }) => check.id)).toContain('rotation.promotes');
    for (const { outcome } of results) expect(outcome.kind).not.toBe('failed');
  });

  test('runs all checks that keep its key', async () => {
    const results = await onBound({ pendingTakesTickets: true });
    const failed = results.filter(({ outcome }) => outcome.kind === 'failed');
    expect(failed.map(({ check }) => check.id)).toEqual(['rotation.pending-signs-no-tickets']);
  });
});

test('an invalid code fails every check, and nothing is thrown', async () => {
  const webhook = await start();
  const link = webhook.invite();
  webhook.invite();
  const results = await runChecks({
    webhook: parseRegistrationLink(link, { timeoutMs: 10_000 }),
    checks: CHECKED,
    requirements,
  });
  const completes = results.find(({ check }) => check.id === 'binding.completes');
  expect(completes?.outcome).toMatchObject({
    kind: 'failed',
    expected: expect.stringMatching(/^not testable/),
  });
  expect(results.find(({ check }) => check.id === 'health.open')?.outcome.kind).toBe('failed');
});

test('a limit that an earlier run used up is waited for, as long as Retry-After says', async () => {
  const webhook = await start({ wrongCodesAMinute: 0, wrongCodeLimitHeaders: { 'Retry-After': '0' } });
  const toTest = parseRegistrationLink(webhook.invite(), { timeoutMs: 10_000 });
  const results = await runChecks({ webhook: toTest, checks: CHECKED, requirements });
  expect(notPassed(results)).toEqual([]);
});

test('after a failed rotation a run signs with a key that the webhook accepts', async () => {
  const webhook = await start({ rotationReplaces: 'the current key' });
  const toTest = parseRegistrationLink(webhook.invite(), { timeoutMs: 10_000 });
  const checks = selectChecks(['rotation.keeps-current', 'rotation.promotes']);
  const results = await runChecks({ webhook: toTest, checks, requirements });
  expect(results.map(({ outcome }) => outcome.kind)).toEqual(['failed', 'passed']);
});
