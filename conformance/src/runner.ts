import { CheckFailed, CheckSkipped } from './check-outcome.ts';
import type { Check } from './check.ts';
import { createClient, NoAnswer, type Answer, type Sent } from './http/client.ts';
import type { Requirement } from './requirements.ts';
import type { Target } from './target.ts';
import { createTools } from './tools.ts';

/** What became of one check. */
export type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'skipped'; readonly reason: string }
  | {
      readonly kind: 'failed';
      readonly sent: Sent;
      readonly answer: Answer | undefined;
      readonly expected: string;
    };

export interface Result {
  readonly check: Check;
  /** The strictest level of what the check observes. */
  readonly level: Requirement['level'];
  readonly requirements: readonly Requirement[];
  readonly outcome: Outcome;
}

export interface RunOptions {
  readonly target: Target;
  readonly checks: readonly Check[];
  readonly requirements: ReadonlyMap<string, Requirement>;
  /** Called after each check, for progress. */
  readonly onResult?: (result: Result) => void;
}

/**
 * Runs checks one after the other over HTTP alone, and removes what they stored.
 * @returns one result per check, in order; a webhook that does not answer fails checks, it does not throw
 */
export async function runChecks({
  target,
  checks,
  requirements,
  onResult,
}: RunOptions): Promise<readonly Result[]> {
  const client = createClient(target);
  const { tools, clearUp } = createTools(target, client);
  const results: Result[] = [];
  try {
    for (const check of checks) {
      const observed = check.requirements.map((id) => requirementOf(requirements, id));
      const level = observed.some((each) => each.level === 'MUST') ? 'MUST' : 'SHOULD';
      const outcome = await check.run(tools).then((): Outcome => ({ kind: 'passed' }), outcomeOf);
      const result = { check, level, requirements: observed, outcome } as const;
      results.push(result);
      onResult?.(result);
    }
    // A webhook that fails here has failed the checks that stored; there is nobody left to tell.
    await clearUp().catch(() => undefined);
  } finally {
    client.close();
  }
  return results;
}

function requirementOf(requirements: ReadonlyMap<string, Requirement>, id: string): Requirement {
  const requirement = requirements.get(id);
  if (requirement === undefined) throw new Error(`requirements/v1.yaml has no ${id}`);
  return requirement;
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof CheckSkipped) return { kind: 'skipped', reason: error.message };
  if (error instanceof NoAnswer)
    return { kind: 'failed', sent: error.sent, answer: undefined, expected: `an answer (${error.message})` };
  if (error instanceof CheckFailed)
    return { kind: 'failed', sent: error.answer.sent, answer: error.answer, expected: error.expected };
  throw error;
}

/** Whether a run shows that the webhook conforms: no MUST failed. */
export function conforms(results: readonly Result[]): boolean {
  return !results.some(({ level, outcome }) => level === 'MUST' && outcome.kind === 'failed');
}
