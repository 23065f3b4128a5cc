import { describe, expect, test } from 'vitest';
import { type Baseline, type Check, type SuiteRun, judge } from './suite-verdict.ts';

const WIRE: Check = { id: 'wire-schema-valid', status: 'SUCCESS' };
const check = (id: string, status = 'SUCCESS'): Check => ({ id, status });
const runOf = (scenarios: Readonly<Record<string, readonly Check[]>>): SuiteRun =>
  new Map(Object.entries(scenarios));

const BASELINE: Baseline = {
  counted: ['ping', 'caching'],
  onNothing: { 'session-lifecycle': 'there are no sessions' },
  left: { 'resources-list': 'there are no resources', 'caching:prompts-hint': 'there are no prompts' },
};

const AS_EXPECTED = {
  ping: [check('ping'), WIRE],
  caching: [check('tools-hint'), check('prompts-hint', 'FAILURE'), WIRE],
  'session-lifecycle': [check('skipped', 'INFO')],
  'resources-list': [check('resources-list', 'FAILURE'), WIRE],
};

describe('the verdict on a run of the suite', () => {
  test('nothing is wrong with what the baseline says', () => {
    expect(judge(runOf(AS_EXPECTED), BASELINE)).toEqual([]);
  });

  test.each([
    [
      'a check that failed',
      { ping: [{ ...check('ping', 'FAILURE'), errorMessage: 'no' }] },
      ['ping: is counted, and nothing passed'],
    ],
    [
      'a check that failed beside one that holds',
      { ping: [check('ping'), check('pong', 'FAILURE')] },
      ['ping:pong: FAILURE '],
    ],
    ['a check that warns', { ping: [check('ping'), check('pong', 'WARNING')] }, ['ping:pong: WARNING ']],
    [
      'a check that was skipped',
      { ping: [check('ping'), check('pong', 'SKIPPED')] },
      ['ping:pong: SKIPPED '],
    ],
    ['a scenario that looked at nothing', { ping: [WIRE] }, ['ping: is counted, and nothing passed']],
    ['a scenario that nobody placed', { tasks: [check('tasks')] }, ['tasks: ran and stands nowhere']],
    [
      'a scenario left that passes by now',
      { 'resources-list': [check('resources-list')] },
      ['resources-list: is left, and passes'],
    ],
    [
      'a check left that passes by now',
      { caching: [check('tools-hint'), check('prompts-hint')] },
      ['caching:prompts-hint: is left, and passes or is gone'],
    ],
    [
      'a check left that is gone',
      { caching: [check('tools-hint')] },
      ['caching:prompts-hint: is left, and passes or is gone'],
    ],
    [
      'one that passed on nothing and fails',
      { 'session-lifecycle': [check('session', 'FAILURE')] },
      ['session-lifecycle:session: FAILURE '],
    ],
    [
      'a message outside the schema, also where the scenario is left',
      {
        'resources-list': [
          check('resources-list', 'FAILURE'),
          { id: 'wire-schema-valid', status: 'FAILURE' },
        ],
      },
      ['resources-list:wire-schema-valid: FAILURE '],
    ],
  ])('%s', (_, changed, problems) => {
    expect(judge(runOf({ ...AS_EXPECTED, ...changed }), BASELINE)).toEqual(problems);
  });

  test('a scenario that did not run, wherever it stands', () => {
    expect(judge(runOf({}), BASELINE)).toEqual([
      'ping: did not run',
      'caching: did not run',
      'session-lifecycle: did not run',
      'resources-list: did not run',
      'caching:prompts-hint: is left, and passes or is gone',
    ]);
  });

  test('a scenario in two places', () => {
    const twice = { ...BASELINE, counted: [...BASELINE.counted, 'resources-list'] };
    expect(judge(runOf(AS_EXPECTED), twice)).toContain('resources-list: stands in two places');
  });
});
