import { createReadStream } from 'node:fs';
import type { ChainHead } from '@svault/shared/audit-chain';
import { failed, usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { jsonText } from '../../output/json-text.ts';
import { say } from '../../output/say.ts';
import { systemReason } from '../../system-reason.ts';
import { checkpointCheck } from './checkpoint.ts';
import { createEventChain } from './event-chain.ts';
import { type ExportedEvent, differs, eventIn, linesOf } from './event-lines.ts';

export interface FileOptions {
  readonly checkpoint?: string;
  readonly key?: readonly string[];
  readonly head?: string;
  readonly previous?: string;
}

/** The bytes of a file, or of stdin where it is `-`. */
export async function* bytesOf({ terminal }: Invocation, path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* (path === '-' ? terminal.stdin : createReadStream(path)) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw failed(`${path} cannot be read: ${systemReason(error)}`, error);
  }
}

/** The events of an exported file, in its order. @throws Failure for a line that is none */
export async function* eventsIn(invocation: Invocation, path: string): AsyncGenerator<ExportedEvent> {
  let number = 0;
  for await (const lines of linesOf(bytesOf(invocation, path)))
    for (const line of lines) yield eventIn(line, `line ${(number += 1)}`);
}

const HASH = /^[0-9a-f]{64}$/;

/** `audit verify FILE`: exit 8 where the file is not what was exported. Asks nobody. */
export async function verifyFile(
  invocation: Invocation,
  path: string,
  { head: wanted, previous, checkpoint, key = [] }: FileOptions,
): Promise<void> {
  for (const hash of [wanted, previous])
    if (hash !== undefined && !HASH.test(hash)) throw usage(`“${hash}” is not a hash: 64 hex digits`);
  if (checkpoint === undefined && key.length > 0) throw usage('--key is for --checkpoint');
  const signed = checkpoint === undefined ? undefined : await checkpointCheck(checkpoint, key);
  const chain = createEventChain();
  let first: ExportedEvent | undefined;
  let repeated = 0;
  for await (const event of eventsIn(invocation, path)) {
    if (first === undefined && (event.previousHash ?? previous) !== (previous ?? event.previousHash))
      throw differs(`event ${event.seq}, the first, does not follow the hash that --previous says`);
    const isFirst = first === undefined;
    first ??= { ...event, previousHash: event.previousHash ?? previous };
    if (!chain.take(isFirst ? first : event)) repeated += 1;
    signed?.take(event);
  }
  const head = chain.head();
  if (first === undefined || head === undefined) throw differs(`${path} has no event`);
  if (wanted !== undefined && head.hash !== wanted)
    throw differs(
      `the last event, number ${head.seq}, has not the hash that --head says: events were cut off or added`,
    );
  signed?.end();
  report(invocation, first, head, repeated);
  if (signed !== undefined)
    say(invocation, `event ${signed.size} is the one of the checkpoint of ${signed.origin}`);
}

function report(invocation: Invocation, first: ExportedEvent, head: ChainHead, repeated: number): void {
  const verdict = {
    intact: true,
    from: first.seq,
    to: head.seq,
    previousHash: first.previousHash,
    head,
    repeated,
  };
  if (invocation.flags.format === 'json') invocation.terminal.out(jsonText(verdict));
  const twice = repeated === 0 ? '' : `; ${repeated} are in it more than once`;
  say(
    invocation,
    `the events ${first.seq} to ${head.seq} are intact${twice}; the last has the hash ${head.hash}`,
  );
}
