import {
  CHAIN_START,
  type ChainedEvent,
  checkpointText,
  copiedEvent,
  createLogKey,
  eventHash,
  eventText,
} from '@svault/shared/audit-chain';
import type { Answer, BoundWebhook } from './bound-webhook.ts';

const VAULT_ID = 'vlt_AAAAAAAAAAAAAAAAAAAAAA';
export const ORIGIN = `service.test/${VAULT_ID}`;

type Changes = Partial<Omit<ChainedEvent, 'hash' | 'seq'>>;

/** The audit log of the control plane, and how it tells the webhook of it. */
export interface ControlPlaneLog {
  readonly events: readonly ChainedEvent[];
  readonly vkey: string;
  /** Appends events; each is `TOKEN_UPDATED` with changes. */
  add(count: number, changes?: Changes): ControlPlaneLog;
  /** Another log that begins with the first events of this one. */
  upTo(size: number): ControlPlaneLog;
  append(from?: number): Promise<Answer>;
  /** The members of `audit.checkpoint` for `(from, size]`. */
  checkpoint(from: number, size?: number): CheckpointBody;
  send(body: object): Promise<Answer>;
}

export interface CheckpointBody {
  readonly op: 'audit.checkpoint';
  readonly checkpoint: string;
  readonly key: string;
  readonly previous: string;
  readonly events: readonly string[];
}

export function controlPlaneLog(
  webhook: Pick<BoundWebhook, 'storage'>,
  options: {
    readonly events?: readonly ChainedEvent[];
    readonly seed?: number;
    readonly origin?: string;
  } = {},
): ControlPlaneLog {
  const { events = [], seed = 7, origin = ORIGIN } = options;
  const key = createLogKey(origin, new Uint8Array(32).fill(seed));
  const hashAt = (seq: number): string => events[seq - 1]?.hash ?? CHAIN_START;
  const withEvents = (others: readonly ChainedEvent[]) =>
    controlPlaneLog(webhook, { ...options, events: others });
  return {
    events,
    vkey: key.vkey,
    add: (count, changes) => {
      const more = [...events];
      for (let at = 0; at < count; at += 1) {
        const seq = more.length + 1;
        const timestamp = `2026-11-20T12:00:00.${String(seq).padStart(3, '0')}Z`;
        const own = { vaultId: VAULT_ID, seq, id: `evt_${seq}`, eventType: 'TOKEN_UPDATED', timestamp };
        const event = { ...own, outcome: 'success', serviceName: 'github', detail: { at: seq }, ...changes };
        more.push({ ...event, hash: eventHash(more.at(-1)?.hash ?? CHAIN_START, event) });
      }
      return withEvents(more);
    },
    upTo: (size) => withEvents(events.slice(0, size)),
    append: (from = 0) =>
      webhook.storage({ op: 'audit.append', events: events.slice(from).map(copiedEvent) }),
    checkpoint: (from, size = events.length) => {
      const text = checkpointText({ origin, size, hash: hashAt(size) });
      return {
        op: 'audit.checkpoint',
        checkpoint: `${text}\n${key.sign(text)}`,
        key: key.vkey,
        previous: hashAt(from),
        events: events.slice(from, size).map(eventText),
      };
    },
    send: (body) => webhook.storage(body),
  };
}
