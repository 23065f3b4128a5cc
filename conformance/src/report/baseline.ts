import { parse, YAMLParseError } from 'yaml';
import * as z from 'zod';
import type { BaselineVerdict, ReportedCheck } from './report.ts';

/** Ids of checks that are expected to fail. */
export type Baseline = readonly string[];

/** A baseline file is not what it should be. */
export class BaselineRefused extends Error {
  override readonly name = 'BaselineRefused';
}

const listSchema = z.array(z.string().regex(/^[a-z0-9.-]+$/));

/**
 * Reads a baseline: a YAML list of check ids, or one id a line; `#` begins a comment.
 * @throws BaselineRefused
 */
export function parseBaseline(text: string): Baseline {
  let read: unknown;
  try {
    read = parse(text);
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error;
    throw new BaselineRefused(`it is no list of check ids: ${error.message}`, { cause: error });
  }
  // A YAML reader takes lines without dashes for one long text.
  const list = read === null ? [] : typeof read === 'string' ? read.split(/\s+/) : read;
  const parsed = listSchema.safeParse(list);
  if (!parsed.success) throw new BaselineRefused('it is no list of check ids');
  return [...new Set(parsed.data)];
}

/**
 * @param known ids of every check that there is
 * @returns which failures were expected; entries of checks that did not run, or are not scored, are left alone
 */
export function compareWithBaseline(
  baseline: Baseline,
  results: readonly ReportedCheck[],
  known: readonly string[],
): BaselineVerdict {
  const listed = new Set(baseline);
  const ids = (holds: (check: ReportedCheck) => boolean): readonly string[] =>
    results.filter(holds).map(({ id }) => id);
  return {
    expected: ids(({ id, verdict }) => listed.has(id) && (verdict === 'failed' || verdict === 'warned')),
    unexpected: ids(({ id, verdict }) => !listed.has(id) && verdict === 'failed'),
    passing: ids(({ id, verdict }) => listed.has(id) && verdict === 'passed'),
    unknown: baseline.filter((id) => !known.includes(id)),
  };
}
