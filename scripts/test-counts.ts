/** What we read of vitest's JSON report. */
export interface TestReport {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
}

/** The tests of a whole gate. */
export interface TestCounts {
  readonly passed: number;
  /** At least 1 when anything went wrong. */
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Adds up the reports that a gate should have made. One that is not there, or in which no test passed, counts as a
 * failure; so does a report that says so without a failed test (a file that does not load), and a step that is no test.
 * @param reports one for each run of tests; `undefined` where the run left none
 * @param gatePassed whether every step of the gate ended well
 */
export function countTests(reports: readonly (TestReport | undefined)[], gatePassed: boolean): TestCounts {
  const counts = reports.map(countReport);
  const failed = sum(counts.map((count) => count.failed));
  return {
    passed: sum(counts.map((count) => count.passed)),
    failed: gatePassed ? failed : Math.max(failed, 1),
    skipped: sum(counts.map((count) => count.skipped)),
  };
}

function countReport(report: TestReport | undefined): TestCounts {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const went = report.success && report.numPassedTests > 0;
  return {
    passed: report.numPassedTests,
    failed: Math.max(report.numFailedTests, went ? 0 : 1),
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
