import type { Baseline } from './report/baseline.ts';
import type { Check } from './check/check.ts';
import { CHECKS, isWaiting } from './registry.ts';
import { buildReport, reportedCheck } from './report/build-report.ts';
import type { Report, ReportedCheck } from './report/report.ts';
import { startRun, type Result, type Run, type RunOptions } from './runner.ts';
import type { Binding } from './target.ts';

/** A whole run, from the invitation to the report. */
export interface SuiteOptions extends RunOptions {
  readonly checks: readonly Check[];
  readonly baseline?: Baseline | undefined;
  /** Ends the run after the check that is under way; what was stored is still removed. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each check, for progress. */
  onCheck?(check: ReportedCheck, done: number): void;
}

/** A run's report, and the binding with the key that the webhook takes after it; none where it could not be bound. */
export interface SuiteRun {
  readonly report: Report;
  readonly binding: Binding | undefined;
}

/**
 * Runs checks one after the other, those that wait together, and reports.
 * @throws UpstreamUnavailable
 */
export async function runSuite(options: SuiteOptions): Promise<SuiteRun> {
  const { webhook, checks, requirements, baseline, signal } = options;
  const startedAtMs = Date.now();
  const from = performance.now();
  const run = await startRun(options);
  const results: ReportedCheck[] = [];
  const ask = asker(run, checks);
  try {
    for (const check of checks) {
      const result = await unlessAborted(signal, () => ask(check));
      if (result === undefined) break;
      const reported = reportedCheck(result, webhook.address, run.journal);
      results.push(reported);
      options.onCheck?.(reported, results.length);
    }
  } finally {
    await run.end();
  }
  const report = buildReport({
    address: webhook.address,
    results,
    bound: run.binding() !== undefined,
    capabilities: run.capabilities,
    startedAtMs,
    durationMs: performance.now() - from,
    interrupted: results.length < checks.length,
    leftOut: CHECKS.length - checks.length,
    requirements,
    known: CHECKS.map(({ id }) => id),
    baseline,
  });
  return { report, binding: run.binding() };
}

/** Asks for a check; with the first that waits all of them begin, so that their waits are one. */
function asker(run: Run, checks: readonly Check[]): (check: Check) => Promise<Result> {
  let waiting: ReadonlyMap<Check, Promise<Result>> | undefined;
  return async (check) => {
    if (!isWaiting(check)) return run.check(check);
    waiting ??= new Map(checks.filter(isWaiting).map((each) => [each, run.check(each)]));
    // Nothing else is sent meanwhile, as with every other check.
    await Promise.all(waiting.values());
    const result = await waiting.get(check);
    // A webhook that serves one request at a time let the second wait for the first: it is asked again.
    return result === undefined || result.outcome.kind === 'failed' ? run.check(check) : result;
  };
}

/** A check that is under way at the signal is left to itself: the end of the run closes its connections. */
async function unlessAborted(
  signal: AbortSignal | undefined,
  ask: () => ReturnType<Run['check']>,
): Promise<Awaited<ReturnType<Run['check']>> | undefined> {
  if (signal === undefined) return ask();
  if (signal.aborted) return undefined;
  const done = new AbortController();
  const aborted = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { signal: done.signal });
  });
  try {
    return await Promise.race([ask(), aborted]);
  } finally {
    done.abort();
  }
}
