/**
 * `node scripts/test-summary.ts STATUS FILE…`: counts the tests in vitest's JSON reports, in one line that any reader
 * knows. STATUS is the exit code of the whole gate. A report that is not there is a failure, and named.
 */
import { existsSync, readFileSync } from 'node:fs';
import { countTests, type TestReport } from './test-counts.ts';

const [status, ...files] = process.argv.slice(2);
if (files.length === 0) throw new Error('give the exit code of the gate, and the paths of its test reports');

const reports = files.map((file) => {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as TestReport;
  console.log(`no test report at ${file}`);
  return undefined;
});
const { passed, failed, skipped } = countTests(reports, status === '0');
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
if (failed > 0) process.exitCode = 1;
