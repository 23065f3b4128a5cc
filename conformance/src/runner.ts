import { CAPABILITIES, type Capability } from '@svault/shared/schemas';
import { bind } from './binding/bind.ts';
import type { BindingTranscript } from './binding/transcript.ts';
import { CheckFailed, CheckSkipped, NotTestable } from './check-outcome.ts';
import type { Check } from './check.ts';
import { forgeSignature } from './forge/signature.ts';
import { createClient, NoAnswer, type Answer, type Client, type Sent } from './http/client.ts';
import { jsonObject } from './http/read-answer.ts';
import type { Requirement } from './requirements.ts';
import type { Target, WebhookToTest } from './target.ts';
import { createTools, type Toolbox } from './tools.ts';
import { startUpstream, type Upstream, type UpstreamAddress } from './upstream/upstream.ts';

/** What became of one check. */
export type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'skipped'; readonly reason: string }
  | {
      readonly kind: 'failed';
      readonly sent?: Sent | undefined;
      readonly answer?: Answer | undefined;
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
  readonly webhook: WebhookToTest;
  readonly requirements: ReadonlyMap<string, Requirement>;
  /** Absent: any free port of loopback. */
  readonly upstream?: UpstreamAddress;
  /**
   * Whether the webhook's key may be another one after the run. Absent: only where the run binds the webhook, since one
   * that was bound before is bound for somebody.
   */
  readonly mayReplaceKey?: boolean;
}

/** A webhook under test, after it was bound where it was not before. */
export interface Run {
  /** Runs one check; a webhook that does not answer fails it, it does not throw. */
  check(check: Check): Promise<Result>;
  /** Removes what the checks stored and closes all connections. */
  end(): Promise<void>;
}

const LOOPBACK: UpstreamAddress = { host: '127.0.0.1', port: 0 };

/** What is known of the webhook once it was spoken with. */
interface Introduction {
  readonly transcript?: BindingTranscript;
  /** Why there is none, where nothing can be tested. */
  readonly toolbox: Toolbox | NotTestable;
  /** Why nothing is known of them, where the webhook does not say what it can do. */
  readonly claims: ReadonlySet<Capability> | NotTestable;
}

/** Binds the webhook where it is not bound, and asks what it claims. Never throws: what went wrong fails the checks. */
export async function startRun(options: RunOptions): Promise<Run> {
  const { webhook, requirements, upstream = LOOPBACK, mayReplaceKey = 'invitation' in webhook } = options;
  const client = createClient(webhook.address);
  let server: Promise<Upstream> | undefined;
  const introduction = await introduce(webhook, client, {
    upstream: () => (server ??= startUpstream(upstream)),
    mayReplaceKey,
  });
  return {
    async check(check) {
      const observed = check.requirements.map((id) => requirementOf(requirements, id));
      const level = observed.some((each) => each.level === 'MUST') ? 'MUST' : 'SHOULD';
      const outcome = await perform(check, introduction).then((): Outcome => ({ kind: 'passed' }), outcomeOf);
      return { check, level, requirements: observed, outcome };
    },
    async end() {
      const { toolbox } = introduction;
      // A webhook that fails here has failed the checks that stored; there is nobody left to tell.
      if (!(toolbox instanceof NotTestable)) await toolbox.clearUp().catch(() => undefined);
      client.close();
      // Where it could not listen, the checks that asked for it have failed.
      await (await server?.catch(() => undefined))?.close();
    },
  };
}

/**
 * Runs checks one after the other over HTTP alone, and removes what they stored.
 * @param onResult called after each check, for progress
 * @returns one result per check, in order
 */
export async function runChecks(
  options: RunOptions & { readonly checks: readonly Check[]; onResult?(result: Result): void },
): Promise<readonly Result[]> {
  const run = await startRun(options);
  const results: Result[] = [];
  try {
    for (const check of options.checks) {
      const result = await run.check(check);
      results.push(result);
      options.onResult?.(result);
    }
  } finally {
    await run.end();
  }
  return results;
}

async function introduce(
  webhook: WebhookToTest,
  client: Client,
  allowances: { readonly upstream: () => Promise<Upstream>; readonly mayReplaceKey: boolean },
): Promise<Introduction> {
  let transcript: BindingTranscript | undefined;
  try {
    let binding = 'binding' in webhook ? webhook.binding : undefined;
    if ('invitation' in webhook) {
      const bound = await bind(client, webhook.address, webhook.invitation);
      transcript = bound.transcript;
      if (bound.binding instanceof NotTestable) throw bound.binding;
      binding = bound.binding;
    }
    if (binding === undefined) throw new NotTestable('the webhook is not bound');
    const target = { ...webhook.address, ...binding };
    const claims = await claimsOf(client, target);
    const known = claims instanceof NotTestable ? new Set<Capability>() : claims;
    const toolbox = createTools({ target, client, claims: known, ...allowances });
    return { ...(transcript && { transcript }), toolbox, claims };
  } catch (error) {
    const why = error instanceof NoAnswer ? new NotTestable(error.message) : error;
    if (!(why instanceof NotTestable)) throw error;
    return { ...(transcript && { transcript }), toolbox: why, claims: why };
  }
}

/** What the webhook says that it can do. */
async function claimsOf(client: Client, target: Target): Promise<ReadonlySet<Capability> | NotTestable> {
  const request = { method: 'POST', path: '/v1/health', body: new Uint8Array() };
  const { headers, base } = forgeSignature(target, request);
  const health = await client.send({ ...request, headers, signatureBase: base });
  const claimed = jsonObject(health)?.['capabilities'];
  if (!Array.isArray(claimed)) return new NotTestable('POST /v1/health does not say what it can do', health);
  const told: readonly unknown[] = claimed;
  return new Set(CAPABILITIES.filter((each) => told.includes(each)));
}

async function perform(check: Check, { transcript, toolbox, claims }: Introduction): Promise<void> {
  if ('observe' in check) {
    if (transcript === undefined) throw new CheckSkipped('the webhook was bound before the run');
    return check.observe(transcript);
  }
  if (toolbox instanceof NotTestable) throw toolbox;
  const asked = check.claims ?? [];
  if (asked.length > 0 && claims instanceof NotTestable) throw claims;
  const unclaimed = asked.filter((each) => !toolbox.tools.claims.has(each));
  if (unclaimed.length > 0) throw new CheckSkipped(`the webhook does not claim ${unclaimed.join(', ')}`);
  return check.run(toolbox.tools);
}

function requirementOf(requirements: ReadonlyMap<string, Requirement>, id: string): Requirement {
  const requirement = requirements.get(id);
  if (requirement === undefined) throw new Error(`requirements/v1.yaml has no ${id}`);
  return requirement;
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof CheckSkipped) return { kind: 'skipped', reason: error.message };
  if (error instanceof NoAnswer)
    return { kind: 'failed', sent: error.sent, expected: `an answer (${error.message})` };
  if (error instanceof CheckFailed)
    return { kind: 'failed', sent: error.answer.sent, answer: error.answer, expected: error.expected };
  if (error instanceof NotTestable) {
    const { answer } = error;
    return { kind: 'failed', sent: answer?.sent, answer, expected: `not testable: ${error.message}` };
  }
  throw error;
}

/** Whether a run shows that the webhook conforms: no MUST failed. */
export function conforms(results: readonly Result[]): boolean {
  return !results.some(({ level, outcome }) => level === 'MUST' && outcome.kind === 'failed');
}
