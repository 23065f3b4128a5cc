import type { Requirement } from '../requirements.ts';
import type { ReportedCheck, RequirementCoverage } from './report.ts';

/** What a run says of each requirement of the protocol, in their order. */
export function coverageOf(
  requirements: ReadonlyMap<string, Requirement>,
  results: readonly ReportedCheck[],
): readonly RequirementCoverage[] {
  const verdicts = new Map(results.map(({ id, verdict }) => [id, verdict]));
  return [...requirements.values()].map(({ id, level, section, sentence, checks = [], unobservable }) => {
    const seen = checks.map((check) => verdicts.get(check));
    const verdict = seen.some((each) => each === 'failed' || each === 'warned')
      ? 'broken'
      : seen.includes('passed')
        ? 'kept'
        : unobservable === undefined
          ? 'not run'
          : 'unobservable';
    return {
      id,
      level,
      section,
      sentence,
      verdict,
      checks,
      ...(unobservable !== undefined && { unobservable }),
    };
  });
}
