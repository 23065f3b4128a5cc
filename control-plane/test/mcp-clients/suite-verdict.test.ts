import { expect, test } from 'vitest';
import { type Baseline, type Check, judge } from './suite-verdict.ts';

const BASELINE: Baseline = {
  counted: ['ping', 'caching'],
  onNothing: { lifecycle: 'there are no sessions' },
  left: { resources: 'there are no resources', 'caching:hint': 'there are no prompts' },
};

/** The checks of each scenario, with the statuses of those that did not succeed. */
const AS_EXPECTED = {
  ping: 'ping wire-schema-valid',
  caching: 'tools hint=FAILURE wire-schema-valid',
  lifecycle: 'skipped=INFO',
  resources: 'resources=FAILURE wire-schema-valid',
};

function problems(scenarios: Readonly<Record<string, string>>, baseline = BASELINE): string[] {
  const checksIn = (text: string): Check[] =>
    text.split(' ').map((check) => {
      const [id = '', status = 'SUCCESS'] = check.split('=');
      return { id, status };
    });
  const run = Object.entries(scenarios).map(([name, text]) => [name, checksIn(text)] as const);
  return judge(new Map(run), baseline);
}

test('nothing is wrong with what the baseline says', () => {
  expect(problems(AS_EXPECTED)).toEqual([]);
});

test.each<readonly [string, Record<string, string>, string]>([
  ['a check that failed', { ping: 'ping=FAILURE' }, 'ping: is counted, and nothing passed'],
  ['a check that failed beside one that holds', { ping: 'ping pong=FAILURE' }, 'ping:pong: FAILURE '],
  ['a check that warns', { ping: 'ping pong=WARNING' }, 'ping:pong: WARNING '],
  ['a check that was skipped', { ping: 'ping pong=SKIPPED' }, 'ping:pong: SKIPPED '],
  [
    'a scenario that looked at nothing',
    { ping: 'wire-schema-valid' },
    'ping: is counted, and nothing passed',
  ],
  ['a scenario that nobody placed', { tasks: 'tasks' }, 'tasks: ran and stands nowhere'],
  ['a scenario left that passes by now', { resources: 'resources' }, 'resources: is left, and passes'],
  ['a check left that passes', { caching: 'tools hint' }, 'caching:hint: is left, and passes or is gone'],
  ['a check left that is gone', { caching: 'tools' }, 'caching:hint: is left, and passes or is gone'],
  ['one that passed on nothing and fails', { lifecycle: 'a=FAILURE' }, 'lifecycle:a: FAILURE '],
  [
    'a message outside the schema, also where the scenario is left',
    { resources: 'resources=FAILURE wire-schema-valid=FAILURE' },
    'resources:wire-schema-valid: FAILURE ',
  ],
])('%s is a problem', (_what, changed, problem) => {
  expect(problems({ ...AS_EXPECTED, ...changed })).toEqual([problem]);
});

test('a scenario that did not run, or is in two places, is a problem', () => {
  const { caching, ...ran } = AS_EXPECTED;
  expect(caching).toBeDefined();
  expect(problems(ran)).toEqual(['caching: did not run', 'caching:hint: is left, and passes or is gone']);
  const twice = { ...BASELINE, counted: [...BASELINE.counted, 'resources'] };
  expect(problems(AS_EXPECTED, twice)).toContain('resources: stands in two places');
});
