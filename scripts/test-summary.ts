/**
 * `node scripts/test-summary.ts FILE STATUS`: counts the tests in vitest's JSON report, in one line that any reader
 * knows. STATUS is the exit code of the whole gate.
 */
import { readFileSync } from 'node:fs';

interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
}

const [file, status] = process.argv.slice(2);
if (file === undefined) throw new Error('give the path of a vitest JSON report');
const report = JSON.parse(readFileSync(file, 'utf8')) as Report;

// A file that does not even load, or a step that is no test, must not look as if all went well.
const failed = Math.max(report.numFailedTests, report.success && status === '0' ? 0 : 1);
const skipped = report.numPendingTests + report.numTodoTests;
console.log(`${report.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
if (failed > 0 || report.numPassedTests === 0) process.exitCode = 1;
