import * as z from 'zod';
import type { Failure } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { EVENT_MEMBERS, differs, linesOf, memberOf } from './event-lines.ts';
import { bytesOf } from './verify-file.ts';

const entrySchema = z.looseObject({
  epoch: z.string(),
  seq: z.int(),
  source: z.enum(['webhook', 'service']),
  ...EVENT_MEMBERS,
  timestamp: z.string(),
  detail: z.record(z.string(), z.unknown()).optional(),
  hash: z.string().optional(),
});
const endSchema = z.object({
  exportedAt: z.iso.datetime(),
  verdict: z.discriminatedUnion('ok', [
    z.object({ ok: z.literal(true), entries: z.int() }),
    z.object({ ok: z.literal(false), epoch: z.string(), seq: z.int(), problem: z.string() }),
  ]),
});
const lineSchema = z.union([endSchema, entrySchema]);

/** An event of the control plane as the webhook has it, without its place in the webhook's log. */
export interface CopiedEvent {
  readonly event: Readonly<Record<string, unknown>> & {
    readonly id: string;
    readonly eventType: string;
    readonly timestamp: string;
  };
  /** Why the copy may lack events before this one; undefined where nothing explains that. */
  readonly gap: string | undefined;
}

/** What follows the last event. */
export interface CopyEnd {
  readonly gap: string | undefined;
  readonly exportedAt: string | undefined;
  /** Why the copy is not whole: its file is cut, or the webhook's log is broken. */
  readonly problem: Failure | undefined;
}

/** What the webhook notes of itself, after which its copy may lack events that were sent before. */
const GAPS: Readonly<Record<string, string>> = {
  BACKUP_RESTORED: 'the webhook was restored from a backup',
  WEBHOOK_BOUND: 'the webhook was bound',
};
const BEGIN = 'the copy begins there';

/**
 * The control plane's events in what `webhook audit export` wrote.
 * @throws Failure for a line that is none of them
 */
export async function* copiedEvents(
  invocation: Invocation,
  path: string,
): AsyncGenerator<CopiedEvent, CopyEnd> {
  let end: z.infer<typeof endSchema> | undefined;
  let entries = 0;
  let gap: string | undefined = BEGIN;
  for await (const lines of linesOf(bytesOf(invocation, path)))
    for (const line of lines) {
      if (end !== undefined) throw differs(`${path} goes on behind the end of the copy`);
      const read = memberOf(lineSchema, line, `line ${entries + 1} of ${path}`);
      if ('verdict' in read && 'exportedAt' in read) {
        end = read as z.infer<typeof endSchema>;
        continue;
      }
      entries += 1;
      const { epoch: _epoch, seq: _seq, hash: _hash, source, ...event } = read;
      if (source === 'webhook') gap = GAPS[event.eventType] ?? gap;
      else {
        yield { event, gap };
        gap = undefined;
      }
    }
  return { gap, exportedAt: end?.exportedAt, problem: problemOf(end, entries, path) };
}

function problemOf(
  end: z.infer<typeof endSchema> | undefined,
  entries: number,
  path: string,
): Failure | undefined {
  if (end === undefined) return differs(`${path} is cut: its last line, the webhook’s verdict, is missing`);
  const { verdict } = end;
  if (!verdict.ok)
    return differs(
      `the webhook’s own log is broken at epoch ${verdict.epoch}, seq ${verdict.seq}: ${verdict.problem}`,
    );
  if (verdict.entries === entries) return undefined;
  return differs(`${path} has ${entries} entries of ${verdict.entries}: lines were removed or added`);
}
