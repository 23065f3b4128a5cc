import { CHAIN_START, type ChainHead, eventHash } from '@svault/shared/audit-chain';
import type { Failure } from '../../failure.ts';
import { type ExportedEvent, differs } from './event-lines.ts';

/** Where a chain is followed from; without a hash, that of the event before is taken from the next one. */
export interface ChainFrom {
  readonly seq: number;
  readonly hash?: string | undefined;
}

/** An export that was killed repeats what it wrote since it last noted how far it was: one part of an answer. */
const REMEMBERED = 4_096;

/** Follows a chain, event by event. */
export interface EventChain {
  /**
   * Verifies the next event. @returns false for one that was taken before
   * @throws Failure that names the first event that is missing or was changed
   */
  take(event: ExportedEvent): boolean;
  /** The last event; undefined before the first. */
  head(): ChainHead | undefined;
}

/** @param from undefined: from the first event that comes, whichever it is */
export function createEventChain(from?: ChainFrom): EventChain {
  const hashes = new Map<number, string>();
  let last = from?.seq;
  let vaultId: string | undefined;
  const note = ({ seq, hash }: ChainHead): void => {
    hashes.set(seq, hash);
    hashes.delete(seq - REMEMBERED);
  };
  if (from?.hash !== undefined) note({ seq: from.seq, hash: from.hash });

  return {
    head: () => {
      const hash = last === undefined ? undefined : hashes.get(last);
      return last === undefined || hash === undefined ? undefined : { seq: last, hash };
    },
    take: (event) => {
      const { seq, hash, previousHash } = event;
      if (vaultId !== undefined && event.vaultId !== vaultId)
        throw differs(`event ${seq} is of another account than those before it`);
      const known = hashes.get(seq);
      if (known !== undefined && known !== hash)
        throw differs(`event ${seq} is another one than before: the log was changed`);
      if (last !== undefined && seq <= last && known === undefined) throw outOfOrder(seq, last);
      if (last !== undefined && seq > last + 1) throw missing(last + 1, seq - 1);
      const previous = hashes.get(seq - 1) ?? (seq === 1 ? CHAIN_START : previousHash);
      if (previous === undefined)
        throw differs(`event ${seq}, the first, does not say which hash is before it (previousHash)`);
      if (previousHash !== undefined && previousHash !== previous)
        throw differs(`event ${seq} does not follow event ${seq - 1} as it is here: that one was changed`);
      if (hashOf(previous, event) !== hash) throw differs(`event ${seq} was changed`);
      ({ vaultId } = event);
      if (known !== undefined) return false;
      note(event);
      last = seq;
      return true;
    },
  };
}

function hashOf(previous: string, event: ExportedEvent): string | undefined {
  try {
    return eventHash(previous, event);
  } catch (error) {
    // A value that no event has.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

const missing = (first: number, to: number): Failure =>
  differs(
    first === to
      ? `event ${first} is missing`
      : `the events ${first} to ${to} are missing, unless SV_AUDIT_RETENTION_DAYS removed them`,
  );

const outOfOrder = (seq: number, last: number): Failure =>
  differs(
    seq === last - 1
      ? `event ${seq} is behind event ${last}: newest first, a log cannot be verified. svault audit export writes it oldest first`
      : `event ${seq} was added behind event ${last}`,
  );
