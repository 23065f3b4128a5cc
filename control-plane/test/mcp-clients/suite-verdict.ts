/** One check of the public suite, as it writes them. */
export interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** What the suite found: scenario → its checks. */
export type SuiteRun = ReadonlyMap<string, readonly Check[]>;

/** What a run must come to. Each scenario stands in exactly one place. */
export interface Baseline {
  /** Scenarios that hold, apart from single checks that `left` names. */
  readonly counted: readonly string[];
  /** Scenarios that pass without touching anything of ours, and why. They are no evidence. */
  readonly onNothing: Readonly<Record<string, string>>;
  /** What does not pass, `scenario` or `scenario:check`, and why. */
  readonly left: Readonly<Record<string, string>>;
}

/** Checks that the suite adds to every scenario: whether what we sent fits the protocol's own JSON schema. */
const WIRE = new Set(['wire-schema-valid', 'wire-schema-harness-error']);

const PASSED = new Set(['SUCCESS', 'INFO']);

/**
 * Compares a run with its baseline. Stricter than the suite's own `--expected-failures`: a check that warns, is skipped,
 * or is missing counts too, and what a message looks like on the wire is excused for no scenario.
 *
 * @returns what is wrong, a line each; nothing when the run is as expected
 */
export function judge(run: SuiteRun, baseline: Baseline): string[] {
  const whole = Object.keys(baseline.left).filter((entry) => !entry.includes(':'));
  const places = [...baseline.counted, ...Object.keys(baseline.onNothing), ...whole];
  const problems = places
    .filter((name, index) => places.indexOf(name) !== index)
    .map((name) => `${name}: stands in two places`);
  for (const name of new Set(places)) if (!run.has(name)) problems.push(`${name}: did not run`);
  for (const [name, checks] of run) {
    problems.push(...wireProblems(name, checks));
    const own = checks.filter(({ id }) => !WIRE.has(id));
    if (baseline.counted.includes(name)) problems.push(...countedProblems(name, own, baseline.left));
    else if (name in baseline.onNothing) problems.push(...failures(name, own));
    else if (!whole.includes(name)) problems.push(`${name}: ran and stands nowhere`);
    else if (own.every(passed)) problems.push(`${name}: is left, and passes`);
  }
  return [...problems, ...staleChecks(run, baseline)];
}

const passed = ({ status }: Check): boolean => PASSED.has(status);

const failures = (name: string, checks: readonly Check[]): string[] =>
  checks
    .filter((check) => !passed(check) && check.status !== 'SKIPPED')
    .map(({ id, status, errorMessage }) => `${name}:${id}: ${status} ${errorMessage ?? ''}`);

const wireProblems = (name: string, checks: readonly Check[]): string[] =>
  failures(
    name,
    checks.filter(({ id }) => WIRE.has(id)),
  );

function countedProblems(name: string, checks: readonly Check[], left: Baseline['left']): string[] {
  if (!checks.some(({ status }) => status === 'SUCCESS')) return [`${name}: is counted, and nothing passed`];
  return checks
    .filter((check) => !passed(check) && !(`${name}:${check.id}` in left))
    .map(({ id, status, errorMessage }) => `${name}:${id}: ${status} ${errorMessage ?? ''}`);
}

/** Entries for one check that passes by now, is gone, or belongs to a scenario that is not counted. */
const staleChecks = (run: SuiteRun, { counted, left }: Baseline): string[] =>
  Object.keys(left)
    .filter((entry) => entry.includes(':'))
    .filter((entry) => {
      const [name = '', id] = entry.split(':');
      const same = run.get(name)?.filter((check) => check.id === id) ?? [];
      return !counted.includes(name) || same.every(passed);
    })
    .map((entry) => `${entry}: is left, and passes or is gone`);
