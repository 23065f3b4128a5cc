import { expect, test } from 'vitest';
import { countTests, type TestReport } from './test-counts.ts';

const GREEN: TestReport = {
  success: true,
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 1,
};

test('the reports of all steps are added up', () => {
  expect(countTests([GREEN, GREEN], true)).toEqual({ passed: 10, failed: 0, skipped: 4 });
});

test.each<[string, TestReport | undefined]>([
  ['is not there', undefined],
  ['counts no test', { ...GREEN, numPassedTests: 0 }],
  ['failed without a failed test', { ...GREEN, success: false }],
  ['has a failed test', { ...GREEN, success: false, numFailedTests: 1 }],
])('a report that %s is a failure', (_, report) => {
  expect(countTests([GREEN, report], true).failed).toBe(1);
});

test('a failed step that is not a test run fails the gate, and is counted only if no test failed', () => {
  expect(countTests([GREEN], false).failed).toBe(1);
  expect(countTests([{ ...GREEN, success: false, numFailedTests: 3 }], false).failed).toBe(3);
});
