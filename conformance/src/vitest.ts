import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compareWithBaseline, type Baseline } from './report/baseline.ts';
import { CHECKS, selectChecks } from './registry.ts';
import { reportedCheck } from './report/build-report.ts';
import { failureLines } from './report/failure-text.ts';
import type { ReportedCheck } from './report/report.ts';
import { loadRequirements } from './requirements.ts';
import { startRun, type Run, type RunOptions } from './runner.ts';
import type { WebhookToTest } from './target.ts';

/** How a webhook is put through the suite from vitest. */
export interface ConformanceTestOptions extends Omit<RunOptions, 'webhook' | 'requirements'> {
  /** Starts the webhook, or says where it is. Called once, before the first test. */
  webhook(): Promise<WebhookToTest>;
  /** Checks or areas; all where it is absent. */
  readonly only?: readonly string[];
  /** Checks that are expected to fail; one of them that passes fails. */
  readonly baseline?: Baseline;
  /** Whether a SHOULD that is not kept fails its test; it does not where this is absent. */
  readonly shouldsFail?: boolean;
  /** Whether a check that is not scored, since the webhook does not claim it, fails its test. */
  readonly skipsFail?: boolean;
  /** Called after the last test. */
  stop?(): Promise<void>;
}

/** The requests of one check; each is bounded by the timeout of the webhook's address. */
const CHECK_MS = 120_000;

/**
 * Registers one test per check, to be called at the top of a test file.
 * @throws UnknownCheck for a name in `only` or `baseline` that is none
 */
export function conformanceTests(options: ConformanceTestOptions): void {
  const { only = [], baseline = [], shouldsFail = false, skipsFail = false } = options;
  const checks = selectChecks(only);
  if (baseline.length > 0) selectChecks(baseline);
  const requirements = loadRequirements();
  let run: Run;
  let webhook: WebhookToTest;

  describe('the webhook conforms', () => {
    beforeAll(async () => {
      webhook = await options.webhook();
      run = await startRun({ ...options, webhook, requirements });
    }, CHECK_MS);
    afterAll(async () => {
      await run?.end();
      await options.stop?.();
    }, CHECK_MS);

    test.each(checks.map((check) => [check.id, check] as const))(
      '%s',
      async (_, check) => {
        const reported = reportedCheck(await run.check(check), webhook.address, run.journal);
        expect(complaint(reported)).toBe('none');
      },
      CHECK_MS,
    );
  });

  function complaint(check: ReportedCheck): string {
    const ids = CHECKS.map(({ id }) => id);
    if (compareWithBaseline(baseline, [check], ids).passing.length > 0)
      return `${check.id} is in the baseline and passes: take it out`;
    if (baseline.includes(check.id)) return 'none';
    const counts =
      check.verdict === 'failed' ||
      (check.verdict === 'warned' && shouldsFail) ||
      (check.verdict === 'skipped' && skipsFail);
    if (!counts) return 'none';
    return check.verdict === 'skipped' ? `skipped: ${check.reason ?? ''}` : failureLines(check).join('\n');
  }
}
