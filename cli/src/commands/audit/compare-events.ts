import { isDeepStrictEqual } from 'node:util';
import { copiedEvent } from '@svault/shared/audit-chain';
import type { ExportedEvent } from './event-lines.ts';
import { differs } from './event-lines.ts';
import type { CopiedEvent, CopyEnd } from './webhook-copy.ts';
import type { LookAhead } from './look-ahead.ts';

/** How far the two are searched for the place at which they are the same again. */
const SEARCHED = 1_000;
/** An event waits less than this for the webhook in normal operation. */
const USUAL_WAIT_MS = 60_000;

/** What is the same, and what is not in both for a reason. */
export interface Comparison {
  /** Events that both have. */
  same: number;
  first: number | undefined;
  last: number | undefined;
  readonly notes: string[];
}

/** What is known of the log beside its events. */
interface Facts {
  /** The log is read now; else it is a file, which may be older or newer than the copy. */
  readonly isLive: boolean;
  /** The last event that the webhook has acknowledged; undefined where that is not known. */
  readonly acknowledged: number | undefined;
  /** Whether the copy has the event with which the log begins. */
  readonly copyHasBegin: boolean;
}

/**
 * Holds the control plane's log against the webhook's copy. Both are in the order in which the events were written.
 * @throws Failure that names the first difference
 */
export async function compareEvents(
  log: LookAhead<ExportedEvent, void>,
  copy: LookAhead<CopiedEvent, CopyEnd>,
  facts: Facts,
): Promise<Comparison> {
  const found: Comparison = { same: 0, first: undefined, last: undefined, notes: [] };
  if (facts.copyHasBegin) await skipRetained(log, copy, found);
  for (;;) {
    const [logged, copied] = [await log.at(0), await copy.at(0)];
    if (logged === undefined || copied === undefined) break;
    if (logged.id === copied.event.id) {
      mustBeEqual(logged, copied);
      found.same += 1;
      found.first ??= logged.seq;
      found.last = logged.seq;
      log.skip();
      copy.skip();
    } else if (copied.gap === undefined) throw await differenceAt(log, copy, logged, copied);
    else await skipGap(log, copied, found);
  }
  await checkEnds(log, copy, facts, found);
  return found;
}

/** The log begins later where retention has removed its oldest events. */
async function skipRetained(
  log: LookAhead<ExportedEvent, void>,
  copy: LookAhead<CopiedEvent, CopyEnd>,
  found: Comparison,
): Promise<void> {
  const begin = await log.at(0);
  let count = 0;
  while (begin !== undefined && begin.seq > 1 && (await copy.at(0))?.event.id !== begin.id) {
    copy.skip();
    count += 1;
  }
  if (count > 0)
    found.notes.push(
      `the log begins with event ${begin?.seq}; the copy has ${count} from before, as after SV_AUDIT_RETENTION_DAYS`,
    );
}

async function skipGap(
  log: LookAhead<ExportedEvent, void>,
  { event, gap }: CopiedEvent,
  found: Comparison,
): Promise<void> {
  const from = (await log.at(0))?.seq;
  let to = from;
  for (let next = await log.at(0); next?.id !== event.id; next = await log.at(0)) {
    if (next === undefined) throw differs(`the copy has ${nameOf(event)}, which the log does not have`);
    to = next.seq;
    log.skip();
  }
  found.notes.push(`the copy does not have the ${range(from, to)}, after which ${gap}`);
}

function mustBeEqual(logged: ExportedEvent, { event }: CopiedEvent): void {
  const wanted = membersOf({ ...copiedEvent(logged) });
  const given = membersOf(event);
  const names = [...new Set([...wanted.keys(), ...given.keys()])];
  const name = names.find((each) => !isDeepStrictEqual(wanted.get(each), given.get(each)));
  if (name === undefined) return;
  throw differs(
    `event ${logged.seq} has another ${name}: ${shown(wanted.get(name))} in the log, ${shown(given.get(name))} in the copy`,
  );
}

/** Those of the detail by their own names. */
function membersOf(event: Readonly<Record<string, unknown>>): ReadonlyMap<string, unknown> {
  const { detail, ...members } = event;
  return new Map([
    ...Object.entries(members).filter(([, value]) => value !== undefined),
    ...Object.entries(detail ?? {}).map(([name, value]) => [`detail.${name}`, value] as const),
  ]);
}

async function differenceAt(
  log: LookAhead<ExportedEvent, void>,
  copy: LookAhead<CopiedEvent, CopyEnd>,
  logged: ExportedEvent,
  copied: CopiedEvent,
) {
  const inCopy = await copy.find(SEARCHED, ({ event }) => event.id === logged.id);
  const inLog = await log.find(SEARCHED, ({ id }) => id === copied.event.id);
  if (inCopy !== undefined && inCopy <= (inLog ?? Infinity))
    return differs(
      `the copy has ${nameOf(copied.event)} before event ${logged.seq}, which the log does not have${more(inCopy)}`,
    );
  if (inLog !== undefined)
    return differs(
      `the log has event ${logged.seq}, ${nameOf(logged)}, which the copy does not have${more(inLog)}`,
    );
  return differs(
    `event ${logged.seq} is ${nameOf(logged)} in the log, and ${nameOf(copied.event)} in the copy`,
  );
}

async function checkEnds(
  log: LookAhead<ExportedEvent, void>,
  copy: LookAhead<CopiedEvent, CopyEnd>,
  { isLive, acknowledged }: Facts,
  found: Comparison,
): Promise<void> {
  const [logged, copied] = [await log.at(0), await copy.at(0)];
  if (copied !== undefined) {
    const goesOn = `the copy goes on with ${nameOf(copied.event)}, behind event ${found.last ?? 0}, the last of the log`;
    if (isLive) throw differs(`${goesOn}: the end of the log was cut off, or the control plane restored`);
    found.notes.push(`${goesOn}: it may be newer than the file`);
    for (let next = await copy.at(0); next !== undefined; next = await copy.at(0)) copy.skip();
  }
  const { gap, exportedAt = '', problem } = copy.end();
  if (problem !== undefined) throw problem;
  if (logged === undefined) return;
  const isNew = Date.parse(logged.timestamp) > Date.parse(exportedAt) - USUAL_WAIT_MS;
  const isAcknowledged = acknowledged !== undefined && logged.seq <= acknowledged;
  if (isAcknowledged && gap === undefined && !isNew)
    throw differs(
      `the copy ends before event ${logged.seq}, ${nameOf(logged)}, which the webhook has acknowledged: export it again, and if it still ends there, its end was cut off`,
    );
  const why =
    gap ?? (acknowledged === undefined || isAcknowledged ? 'the copy was exported' : 'it was not sent yet');
  found.notes.push(`the copy ends before event ${logged.seq}: ${why}`);
}

const nameOf = ({ id, eventType, timestamp }: CopiedEvent['event']): string =>
  `${eventType} of ${timestamp} (${id})`;
const more = (count: number): string => (count === 1 ? '' : `, and ${count - 1} behind it`);
const range = (from = 0, to = 0): string => (from === to ? `event ${from}` : `events ${from} to ${to}`);

const MAX_SHOWN = 100;
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'none';
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
};
