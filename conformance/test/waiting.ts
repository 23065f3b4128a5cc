import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHECKS, isWaiting } from '../src/registry.ts';
import { startRun, type Result } from '../src/runner.ts';
import type { WebhookToTest } from '../src/target.ts';
import { requirements } from './suite.ts';

/** Checks that take the 8 seconds that a webhook may wait for its provider (TRN-25). */
const WAITING = CHECKS.filter(isWaiting);

/** Ids of the others, for `only`. */
const NOT_WAITING = CHECKS.filter((check) => !isWaiting(check)).map(({ id }) => id);

interface Started {
  /** Not bound yet. */
  readonly toTest: WebhookToTest;
  stop(): Promise<void>;
}

/**
 * Registers a test of the checks that wait: they run on a webhook of their own while other tests run.
 * @param options.skipsFail whether the webhook has to claim what they are for
 * @param meanwhile registers those others, given the ids of their checks
 */
export function waitingTests(
  start: () => Promise<Started>,
  options: { readonly skipsFail: boolean },
  meanwhile: (others: readonly string[]) => void,
): void {
  let results: Promise<readonly Result[]> | undefined;
  beforeAll(() => {
    results = run(start);
    // The test tells of it.
    results.catch(() => undefined);
  });
  afterAll(() => results?.then(undefined, () => undefined));

  meanwhile(NOT_WAITING);
  test.each(WAITING)('$id, while the others run', async ({ id }) => {
    const outcome = (await results)?.find(({ check }) => check.id === id)?.outcome;
    const right = options.skipsFail ? ['passed'] : ['passed', 'skipped'];
    expect(right, JSON.stringify(outcome)).toContain(outcome?.kind);
  });
}

async function run(start: () => Promise<Started>): Promise<readonly Result[]> {
  const { toTest: webhook, stop } = await start();
  try {
    const started = await startRun({ webhook, requirements });
    try {
      return await Promise.all(WAITING.map((check) => started.check(check)));
    } finally {
      await started.end();
    }
  } finally {
    await stop();
  }
}
