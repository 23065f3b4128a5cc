import { chainHash } from '@svault/server-kit/hash-chain';

/** Who says so: the webhook about itself, or the service by `audit.append`. */
export type AuditSource = 'webhook' | 'service';

/** One entry of the log, as it is hashed; `detail` is the JSON text, so that any reading of it has the same hash. */
export interface AuditEntry {
  readonly epoch: string;
  /** 1 for the first entry of an epoch, then one more each. */
  readonly seq: number;
  readonly source: AuditSource;
  readonly id: string;
  readonly eventType: string;
  /** As protocol section 2 writes times; the service's own where it reported the event. */
  readonly timestamp: string;
  readonly outcome: string;
  readonly agentId?: string | undefined;
  readonly proxyId?: string | undefined;
  readonly userId?: string | undefined;
  readonly serviceName?: string | undefined;
  readonly count?: number | undefined;
  readonly detail?: string | undefined;
}

export interface ChainedEntry extends AuditEntry {
  /** Over this entry and, through the former hash, all before it in its epoch; 64 hex digits. */
  readonly hash: string;
}

/** @param previous the hash of the entry before, or CHAIN_START for the first of an epoch */
export function chain(previous: string, entry: AuditEntry): ChainedEntry {
  return { ...entry, hash: chainHash(previous, entry) };
}
