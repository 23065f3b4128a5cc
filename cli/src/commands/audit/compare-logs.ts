import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { jsonText } from '../../output/json-text.ts';
import { say } from '../../output/say.ts';
import { compareEvents } from './compare-events.ts';
import { createEventChain } from './event-chain.ts';
import { type ExportedEvent, differs, eventIn } from './event-lines.ts';
import { exportedLines } from './log-sources.ts';
import { lookAhead } from './look-ahead.ts';
import { eventsIn } from './verify-file.ts';
import { copiedEvents } from './webhook-copy.ts';

const webhookSchema = z.looseObject({ log: z.looseObject({ acknowledged: z.int() }).nullish() });

/** `audit compare`: exit 8 where the control plane's log and the webhook's copy are not the same. */
export const compareLogs: Run<[copy: string, log: string | undefined]> = async (invocation, [copy, file]) => {
  // It is read twice where the log does not begin with its first event.
  if (copy === '-') throw usage('the copy has to be a file: svault-run webhook audit export > copy.jsonl');
  const log = lookAhead(
    file === undefined ? await liveLog(invocation) : verified(eventsIn(invocation, file)),
  );
  const acknowledged = file === undefined ? await acknowledgedNow(invocation) : undefined;
  const begin = await log.at(0);
  if (begin === undefined) throw differs('the log has no event');
  const copyHasBegin = begin.seq > 1 && (await hasEvent(invocation, copy, begin.id));
  const facts = { isLive: file === undefined, acknowledged, copyHasBegin };
  const { notes, ...found } = await compareEvents(log, lookAhead(copiedEvents(invocation, copy)), facts);
  if (invocation.flags.format === 'json') invocation.terminal.out(jsonText({ ...found, notes }));
  for (const note of notes) say(invocation, note);
  say(
    invocation,
    found.same === 0
      ? 'the log and the copy have no event in common'
      : `the log and the copy are the same: ${found.same} events, from ${found.first} to ${found.last}`,
  );
  if (found.same === 0) throw differs('nothing was compared: is it the copy of this account?');
};

async function acknowledgedNow(invocation: Invocation): Promise<number | undefined> {
  const client = await apiClient(invocation);
  return (await client.read('/api/webhook', webhookSchema)).log?.acknowledged;
}

/** The log of the control plane, whose chain is followed on the way. */
async function liveLog(invocation: Invocation): Promise<AsyncGenerator<ExportedEvent, void>> {
  const client = await apiClient(invocation);
  const place = { after: () => 0, mustRepeat: () => false, notThere: () => differs('the log has no event') };
  async function* events(): AsyncGenerator<ExportedEvent, void> {
    for await (const lines of exportedLines(invocation, client, place))
      for (const line of lines) yield eventIn(line, 'a line of the log');
  }
  return verified(events());
}

async function* verified(events: AsyncIterable<ExportedEvent>): AsyncGenerator<ExportedEvent, void> {
  const chain = createEventChain();
  for await (const event of events) if (chain.take(event)) yield event;
}

async function hasEvent(invocation: Invocation, copy: string, id: string): Promise<boolean> {
  for await (const { event } of copiedEvents(invocation, copy)) if (event.id === id) return true;
  return false;
}
