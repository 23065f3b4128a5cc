import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHECKS } from '../src/registry.ts';
import { textResult } from '../src/report/text.ts';
import { runChecks, type Result } from '../src/runner.ts';
import { startReferenceWebhook, type ReferenceWebhook } from './reference-webhook.ts';
import { requirements } from './suite.ts';

let webhook: ReferenceWebhook;
let results: readonly Result[];

beforeAll(async () => {
  webhook = await startReferenceWebhook();
  results = await runChecks({ webhook: webhook.toTest, checks: CHECKS, requirements });
});
afterAll(() => webhook.stop());

describe('the reference webhook passes', () => {
  test.each(CHECKS.map(({ id }) => id))('%s', (id) => {
    const result = results.find(({ check }) => check.id === id);
    expect(result && result.outcome.kind !== 'passed' ? textResult(result) : 'passed').toBe('passed');
  });
});
