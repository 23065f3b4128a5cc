import { createHash } from 'node:crypto';
import { authorityOf, randomToken } from '@svault/shared';
import {
  CHAIN_START,
  COPIED_MEMBERS,
  chainHash,
  checkpointOrigin,
  checkpointText,
  createLogKey,
  readCheckpoint,
} from '@svault/shared/audit-chain';
import { STORAGE_LIMITS, checkpointConflictSchema } from '@svault/shared/schemas';
import { expectOk, expectThat } from '../../check/expect.ts';
import { NotTestable } from '../../check/outcome.ts';
import type { Tools } from '../../check/tools.ts';
import { VAULT_ID } from '../../binding/handshake.ts';
import { jsonObject } from '../../http/read-answer.ts';

/** The number and hash of an event in the log of the suite, as a service keeps one. */
export interface Head {
  readonly size: number;
  readonly hash: string;
}

export const CLAIMS = ['storage', 'audit-checkpoints'] as const;

type Members = Readonly<Record<string, unknown>>;

export interface LogEvent extends Head {
  /** As `audit.append` has it. */
  readonly event: Members;
  readonly text: string;
}

/** The same in each run: a webhook keeps the key that it saw first. */
const SEED = createHash('sha256').update('svault-conformance checkpoints').digest();
const OTHER_SEED = createHash('sha256').update('another key of svault-conformance').digest();
const START: Head = { size: 0, hash: CHAIN_START };

export const originOf = ({ target }: Tools): string => checkpointOrigin(target.serviceUrl, VAULT_ID);
export const cosignerOf = ({ target }: Tools): string => authorityOf(target.webhookUrl);

/** Events that follow a head; with other members, other ones than the webhook gets. */
export function eventsAfter(head: Head, count: number, members: Members = {}): LogEvent[] {
  const events: LogEvent[] = [];
  for (let at = 1; at <= count; at += 1) {
    const event = {
      ...{ id: `evt_${randomToken()}`, eventType: 'CONFORMANCE', timestamp: new Date().toISOString() },
      ...{ outcome: 'success', serviceName: 'conformance', ...members },
    };
    events.push(inChain(events.at(-1) ?? head, event));
  }
  return events;
}

/** An event as the next of a chain. */
export function inChain(
  before: Head,
  event: Members,
  vaultId = VAULT_ID,
  seq: unknown = before.size + 1,
): LogEvent {
  const text = JSON.stringify([vaultId, seq, ...COPIED_MEMBERS.map((name) => event[name] ?? null), '{}']);
  return { size: before.size + 1, hash: hashBehind(before, text), event, text };
}

export const hashBehind = (before: Head, text: string): string => chainHash(before.hash, text);

/** `audit.append` of these events. @throws CheckFailed */
export async function appendCopies(tools: Tools, events: readonly LogEvent[]): Promise<void> {
  for (let at = 0; at < events.length; at += STORAGE_LIMITS.auditEvents) {
    const some = events.slice(at, at + STORAGE_LIMITS.auditEvents).map(({ event }) => event);
    expectOk(await tools.storage({ op: 'audit.append', events: some }));
  }
}

export interface CheckpointBody {
  readonly checkpoint: string;
  readonly key: string;
  readonly previous: string;
  readonly events: readonly string[];
}

/** A right `audit.checkpoint` of what is behind a head, or one of another origin or key. */
export function checkpointOf(
  tools: Tools,
  before: Head,
  events: readonly LogEvent[],
  changed: {
    readonly origin?: string;
    readonly otherKey?: boolean;
    readonly keyName?: string;
    readonly text?: (right: string) => string;
  } = {},
): CheckpointBody {
  const { size, hash } = events.at(-1) ?? before;
  const { origin = originOf(tools), otherKey = false, keyName = origin } = changed;
  const { vkey, sign } = createLogKey(keyName, otherKey ? OTHER_SEED : SEED);
  const right = checkpointText({ origin, size, hash });
  const text = changed.text?.(right) ?? right;
  const texts = events.map((event) => event.text);
  return { checkpoint: `${text}\n${sign(text)}`, key: vkey, previous: before.hash, events: texts };
}

const heads = new WeakMap<Tools, Head>();

/** `audit.checkpoint` with this. */
export async function send(tools: Tools, body: object): ReturnType<Tools['storage']> {
  const answer = await tools.storage({ op: 'audit.checkpoint', ...body });
  if (answer.status === 200 && 'checkpoint' in body) rememberHead(tools, String(body.checkpoint));
  return answer;
}

function rememberHead(tools: Tools, note: string): void {
  try {
    const { size, hash } = readCheckpoint(note);
    heads.set(tools, { size, hash });
  } catch {
    // It took what is no checkpoint, which the check that sent it says.
  }
}

/** What a 409 says is kept; undefined for any other answer. */
export const keptIn = (answer: Parameters<typeof jsonObject>[0]): Head | undefined =>
  answer.status === 409 ? checkpointConflictSchema.safeParse(jsonObject(answer)).data : undefined;

/**
 * The head after events that the webhook has just cosigned. It goes on from what another run, or another check, has left.
 *
 * @param count how many events are cosigned anew
 * @throws NotTestable
 */
export async function cosignedHead(
  tools: Tools,
  count = 1,
): Promise<{ readonly before: Head; readonly events: readonly LogEvent[]; readonly head: LogEvent }> {
  let before = heads.get(tools) ?? START;
  for (const isLastTry of [false, true]) {
    const events = eventsAfter(before, count);
    await appendCopies(tools, events);
    const answer = await send(tools, checkpointOf(tools, before, events));
    const head = events.at(-1);
    if (answer.status === 200 && head !== undefined) return { before, events, head };
    const kept = keptIn(answer);
    if (kept === undefined || isLastTry)
      throw new NotTestable(`no checkpoint of ${originOf(tools)} is cosigned`, answer);
    before = kept;
  }
  throw new Error('both tries return or throw');
}

/** Whether what is kept is as it was: it is cosigned again. */
export async function expectKept(tools: Tools, { size, hash }: Head): Promise<void> {
  const answer = await send(tools, checkpointOf(tools, { size, hash }, []));
  expectThat(answer.status === 200, answer, `200, as the checkpoint of ${size} is still kept`);
}

/** With events that the webhook has, behind what it has cosigned. */
export async function waiting(
  tools: Tools,
  count = 2,
): Promise<{ readonly head: LogEvent; readonly events: readonly LogEvent[]; readonly body: CheckpointBody }> {
  const { head } = await cosignedHead(tools);
  const events = eventsAfter(head, count);
  await appendCopies(tools, events);
  return { head, events, body: checkpointOf(tools, head, events) };
}
