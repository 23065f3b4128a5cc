import { CAPABILITIES, type Capability } from '@svault/shared/schemas';
import { bind } from './binding/bind.ts';
import type { BindingTranscript } from './binding/transcript.ts';
import { CheckSkipped, NotTestable, type Outcome, outcomeOf } from './check/outcome.ts';
import type { Check } from './check/check.ts';
import { forgeSignature } from './forge/signature.ts';
import { createClient, NoAnswer, type Answer, type Client } from './http/client.ts';
import { RUN_LIMITS, withRunLimits, type RunLimits } from './http/run-limits.ts';
import { jsonObject } from './http/read-answer.ts';
import { withJournal, type Journal } from './redaction/journal.ts';
import type { TrafficLog } from './log/traffic-log.ts';
import type { Requirement } from './requirements.ts';
import type { Binding, Target, WebhookToTest } from './target.ts';
import { storedTypes } from './check/token-types.ts';
import { createTools, type Toolbox } from './check/tools.ts';
import { startUpstream, type Upstream, type UpstreamAddress } from './upstream/upstream.ts';

export interface Result {
  readonly check: Check;
  /** The strictest level of what the check observes. */
  readonly level: Requirement['level'];
  readonly requirements: readonly Requirement[];
  readonly outcome: Outcome;
  readonly durationMs: number;
}

export interface RunOptions {
  readonly webhook: WebhookToTest;
  readonly requirements: ReadonlyMap<string, Requirement>;
  /** Absent: any free port of loopback. */
  readonly upstream?: UpstreamAddress | undefined;
  /**
   * Whether the webhook's key may be another one after the run. Absent: only where the run binds the webhook, since one
   * that was bound before is bound for somebody.
   */
  readonly mayReplaceKey?: boolean | undefined;
  /** Absent: {@link RUN_LIMITS}. */
  readonly limits?: RunLimits;
  /** Faster, where the webhook is known to be at ease with it. */
  readonly reusesConnections?: boolean;
  /** Ends the webhook without notice and starts it again. Absent: what needs it is skipped. */
  readonly restart?: (() => Promise<void>) | undefined;
  /** A link for one approver (APR-37), asked for once. Absent: what needs an approver is skipped. */
  readonly approverLink?: (() => Promise<string>) | undefined;
  /** Writes down all that is sent and answered. */
  readonly log?: TrafficLog | undefined;
  /** Called as soon as an invitation became a binding. */
  onBound?(binding: Binding): void;
}

/** A webhook under test, after it was bound where it was not before. */
export interface Run {
  /** Runs one check; a webhook that does not answer fails it, it does not throw. */
  check(check: Check): Promise<Result>;
  /** Removes what the checks stored and closes all connections. */
  end(): Promise<void>;
  /** What the webhook says that it can do; nothing where it does not say so. */
  readonly capabilities: readonly Capability[] | undefined;
  /** The binding with the key that the webhook takes now; nothing where it could not be bound. */
  binding(): Binding | undefined;
  /** What has to be known for a report on the run. */
  readonly journal: Journal;
}

/** The suite's own server cannot listen at the given address. */
export class UpstreamUnavailable extends Error {
  override readonly name = 'UpstreamUnavailable';
}

const LOOPBACK: UpstreamAddress = { host: '127.0.0.1', port: 0 };
/** How long the last requests of a run may take, which delete what the others stored. */
const CLEAR_UP_MS = 10_000;

/** What is known of the webhook once it was spoken with. */
interface Introduction {
  /** The run was to bind the webhook. */
  readonly invited: boolean;
  readonly transcript?: BindingTranscript;
  /** Why there is none, where nothing can be tested. */
  readonly toolbox: Toolbox | NotTestable;
  /** Why nothing is known of them, where the webhook does not say what it can do. */
  readonly claims: ReadonlySet<Capability> | NotTestable;
}

/**
 * Binds the webhook where it is not bound, and asks what it claims. What the webhook does wrong fails the checks.
 * @throws UpstreamUnavailable
 */
export async function startRun(options: RunOptions): Promise<Run> {
  const {
    webhook,
    requirements,
    limits = RUN_LIMITS,
    log,
    mayReplaceKey = 'invitation' in webhook,
  } = options;
  const server = await listen(options.upstream ?? LOOPBACK);
  const wire = createClient({ ...webhook.address, reusesConnections: options.reusesConnections });
  const patient = withRunLimits(log?.logged(wire) ?? wire, limits, () => performance.now());
  const { client, journal } = withJournal(patient, () => Date.now());
  journal.secrets.learn('invitation' in webhook ? webhook.invitation.code : webhook.binding.key.secret);
  const introduction = await introduce(options, client, {
    upstream: async () => server,
    mayReplaceKey,
    restart: restarting(options, wire),
    approverLink: options.approverLink && (() => learned(options.approverLink, journal)),
  });
  const { toolbox, claims } = introduction;
  return {
    capabilities: claims instanceof NotTestable ? undefined : [...claims],
    journal,
    binding() {
      if (toolbox instanceof NotTestable) return undefined;
      const { webhookId, key } = toolbox.tools.target;
      return { webhookId, key };
    },
    async check(check) {
      const observed = check.requirements.map((id) => requirementOf(requirements, id));
      const level = observed.some((each) => each.level === 'MUST') ? 'MUST' : 'SHOULD';
      const from = performance.now();
      const work = (): Promise<void> => perform(check, introduction);
      const outcome = await (log?.under(check.id, work) ?? work()).then(
        (): Outcome => ({ kind: 'passed' }),
        (error: unknown) => outcomeOf(error, journal.lastAnswer()),
      );
      return { check, level, requirements: observed, outcome, durationMs: performance.now() - from };
    },
    async end() {
      // A webhook that fails here has failed the checks that stored; there is nothing left to report.
      if (!(toolbox instanceof NotTestable)) await atMost(CLEAR_UP_MS, toolbox.clearUp());
      client.close();
      log?.end();
      await server.close();
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

async function listen(address: UpstreamAddress): Promise<Upstream> {
  try {
    return await startUpstream(address);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UpstreamUnavailable(`the suite cannot listen on ${address.host}:${address.port}: ${why}`, {
      cause: error,
    });
  }
}

async function introduce(
  { webhook, onBound }: RunOptions,
  client: Client,
  allowances: Pick<
    Parameters<typeof createTools>[0],
    'upstream' | 'mayReplaceKey' | 'restart' | 'approverLink'
  >,
): Promise<Introduction> {
  const invited = 'invitation' in webhook;
  let transcript: BindingTranscript | undefined;
  try {
    let binding = 'binding' in webhook ? webhook.binding : undefined;
    if ('invitation' in webhook) {
      const bound = await bind(client, webhook.address, webhook.invitation);
      transcript = bound.transcript;
      if (bound.binding instanceof NotTestable) throw bound.binding;
      binding = bound.binding;
      onBound?.(binding);
    }
    if (binding === undefined) throw new NotTestable('the webhook is not bound');
    const target = { ...webhook.address, ...binding };
    const health = await signedHealth(client, target);
    const claims = claimsIn(health);
    const known = claims instanceof NotTestable ? new Set<Capability>() : claims;
    const types = storedTypes(jsonObject(health));
    const toolbox = createTools({ target, client, claims: known, types, ...allowances });
    return { invited, ...(transcript && { transcript }), toolbox, claims };
  } catch (error) {
    const why = asNotTestable(error);
    return { invited, ...(transcript && { transcript }), toolbox: why, claims: why };
  }
}

/** Whatever an odd answer made the suite stumble over while it introduced itself. */
function asNotTestable(error: unknown): NotTestable {
  if (error instanceof NotTestable) return error;
  if (error instanceof NoAnswer) return new NotTestable(error.message);
  return new NotTestable(`the suite could not read the answer: ${String(error)}`);
}

async function signedHealth(client: Client, target: Target): Promise<Answer> {
  const request = { method: 'POST', path: '/v1/health', body: new Uint8Array() };
  const { headers, base } = forgeSignature(target, request);
  return client.send({ ...request, headers, signatureBase: base });
}

/** The code of the link is a secret of the run. */
async function learned(approverLink: RunOptions['approverLink'], { secrets }: Journal): Promise<string> {
  const link = (await approverLink?.()) ?? '';
  const code = URL.canParse(link) ? new URL(link).searchParams.get('code') : null;
  if (code !== null) secrets.learn(code);
  return link;
}

/** Connections end with the process that they lead to. */
function restarting({ restart }: RunOptions, wire: Client): RunOptions['restart'] {
  if (restart === undefined) return undefined;
  return async () => {
    await restart();
    wire.close();
  };
}

/** What the webhook says that it can do. */
function claimsIn(health: Answer): ReadonlySet<Capability> | NotTestable {
  const claimed = jsonObject(health)?.['capabilities'];
  if (!Array.isArray(claimed)) return new NotTestable('POST /v1/health does not say what it can do', health);
  const returned: readonly unknown[] = claimed;
  return new Set(CAPABILITIES.filter((each) => returned.includes(each)));
}

async function perform(check: Check, { invited, transcript, toolbox, claims }: Introduction): Promise<void> {
  if ('observe' in check) {
    if (!invited) throw new CheckSkipped('the webhook was bound before the run');
    if (transcript !== undefined) return check.observe(transcript);
    throw toolbox instanceof NotTestable ? toolbox : new NotTestable('nothing is known of the binding');
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

/** Waits for something that may fail or take too long. */
async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const over = AbortSignal.timeout(ms);
  await Promise.race([
    work.catch(() => undefined),
    new Promise((resolve) => over.addEventListener('abort', resolve, { once: true })),
  ]);
}

/** Whether a run shows that the webhook conforms: no MUST failed. */
export function conforms(results: readonly Result[]): boolean {
  return !results.some(({ level, outcome }) => level === 'MUST' && outcome.kind === 'failed');
}
