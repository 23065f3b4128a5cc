import { AsyncLocalStorage } from 'node:async_hooks';
import { isUtf8 } from 'node:buffer';
import type { HeaderPairs } from '@svault/shared';
import type { Client, OpenAnswer, RequestToSend } from '../http/client.ts';
import { shownTickets } from '../report/shown-tickets.ts';
import { createAliases, type Aliases } from './aliases.ts';

/**
 * Writes down every request of a run with its answer, as JSON, a line each, in the order of sending. Secrets are in it:
 * the suite made them up, or the webhook for the suite.
 */
export interface TrafficLog {
  /** Puts what this sends under the name of a check. */
  under<T>(check: string, work: () => Promise<T>): Promise<T>;
  /** A client that logs. */
  logged(client: Client): Client;
  /** Writes the last line: which values the aliases stand for. */
  end(): void;
}

/** Logged in full; the rest of a longer body is counted. */
const MAX_BODY_BYTES = 16 * 1024;

/** @param write takes a line, without its end */
export function createTrafficLog(write: (line: string) => void): TrafficLog {
  const running = new AsyncLocalStorage<string>();
  // Of their own for each check, so that one value more does not change what follows.
  const aliasesBy = new Map<string, Aliases>();
  const checkNow = (): string => running.getStore() ?? 'run';
  const aliasesOf = (check: string): Aliases => {
    const its = aliasesBy.get(check) ?? createAliases();
    aliasesBy.set(check, its);
    return its;
  };
  // Requests may be answered in another order than they were sent in.
  const open: Array<{ line?: object }> = [];
  const flush = (): void => {
    for (let [first] = open; first?.line !== undefined; [first] = open) {
      write(JSON.stringify(first.line));
      open.shift();
    }
  };
  const begin = (request: RequestToSend): Begun => {
    const slot: { line?: object } = {};
    open.push(slot);
    const check = checkNow();
    const aliases = aliasesOf(check);
    const { method, path, headers = [], body = '' } = request;
    const tickets = shownTickets({ path, headers }).map(({ where, header, claims }) => ({
      where,
      header: aliases.apply(header),
      claims: aliases.apply(claims),
    }));
    const sent = { method, path: aliases.apply(path), ...shown({ headers, body }, aliases) };
    const end = (ended: object): void => {
      slot.line ??= { check, request: sent, ...(tickets.length > 0 && { tickets }), ...ended };
      flush();
    };
    return {
      answered: ({ status, ...message }) => end({ answer: { status, ...shown(message, aliases) } }),
      failed: (error) =>
        end({ noAnswer: aliases.apply(error instanceof Error ? error.message : String(error)) }),
    };
  };

  return {
    under: (check, work) => running.run(check, work),
    logged: (client) => ({
      async send(request) {
        const begun = begin(request);
        const answer = await orFails(client.send(request), begun);
        begun.answered(answer);
        return answer;
      },
      async open(request) {
        const begun = begin(request);
        const answer = await orFails(client.open(request), begun);
        return { ...answer, pieces: kept(answer, begun) };
      },
      close: () => client.close(),
    }),
    end() {
      for (const slot of open) slot.line ??= { noAnswer: 'the run ended' };
      flush();
      const tables = [...aliasesBy].map(([check, aliases]) => [check, aliases.table()] as const);
      write(JSON.stringify({ aliases: Object.fromEntries(tables) }));
    },
  };
}

/** A request under way. */
interface Begun {
  answered(answer: Message & { readonly status: number }): void;
  failed(error: unknown): void;
}

interface Message {
  readonly headers: HeaderPairs;
  readonly body: Uint8Array | string;
  /** How long the body was, where this is its beginning. */
  readonly bytes?: number;
}

function shown({ headers, body, bytes }: Message, aliases: Aliases): object {
  const whole = Buffer.from(body);
  const size = bytes ?? whole.byteLength;
  const part = whole.subarray(0, MAX_BODY_BYTES);
  const text = isUtf8(part) ? { body: aliases.apply(part.toString()) } : { base64: part.toString('base64') };
  return {
    headers: headers.map(([name, value]) => [name, aliases.apply(value)]),
    ...(size > 0 && text),
    ...(size > part.byteLength && { bytes: size }),
  };
}

async function orFails<T>(work: Promise<T>, begun: Begun): Promise<T> {
  try {
    return await work;
  } catch (error) {
    begun.failed(error);
    throw error;
  }
}

/** The pieces of an answer; at their end it is logged as far as it came. */
async function* kept({ status, headers, pieces }: OpenAnswer, begun: Begun): AsyncIterable<Uint8Array> {
  const start: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      if (bytes < MAX_BODY_BYTES) start.push(piece);
      bytes += piece.byteLength;
      yield piece;
    }
  } finally {
    begun.answered({ status, headers, body: Buffer.concat(start), bytes });
  }
}
