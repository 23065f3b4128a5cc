import { type RequestRule, RuleTextRefused, parseRequestRule } from '@svault/shared/request-rules';

/**
 * Reads rules for requests, one on each line.
 *
 * @returns the rules of the lines that are some, and what is wrong with the first that is none
 */
export function requestRulesIn(text: string): {
  readonly rules: readonly RequestRule[];
  readonly problem: string | undefined;
} {
  let problem: string | undefined;
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const rules = lines.flatMap((line) => {
    try {
      return [parseRequestRule(line)];
    } catch (error) {
      if (!(error instanceof RuleTextRefused)) throw error;
      problem ??= `${line.slice(0, 100)}: ${error.message}`;
      return [];
    }
  });
  return { rules, problem };
}
