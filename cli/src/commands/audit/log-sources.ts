import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../api/api-client.ts';
import { Failure, Interrupted } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { say } from '../../output/say.ts';
import { linesOf } from './event-lines.ts';

/** Where a reader of the log is. */
export interface PlaceInLog {
  /** The number before the next event that it wants. */
  after(): number;
  /** Whether that event was read before, and shows that the log is still the same. */
  mustRepeat(): boolean;
  /** Why the log is not the same, where that event does not come. */
  notThere(): Failure;
}

/** The events up to now, oldest first, a JSON line each. */
export async function* exportedLines(
  _: Invocation,
  client: ApiClient,
  place: PlaceInLog,
): AsyncGenerator<readonly Buffer[]> {
  let mustCome = place.mustRepeat();
  const chunks = await client.readStream(`/api/audit/export?order=asc&after=${place.after()}`);
  for await (const lines of linesOf(chunks, { lastLine: 'dropped' })) {
    mustCome = false;
    yield lines;
  }
  if (mustCome) throw place.notThere();
}

const DATA = Buffer.from('data: ');
/** What the live feed sends behind the last event from before the request. */
const LIVE = Buffer.from(': live');
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** The same, and then each event as it happens. Goes on after a break where it was, until Ctrl-C. @throws Interrupted */
export async function* followedLines(
  invocation: Invocation,
  client: ApiClient,
  place: PlaceInLog,
): AsyncGenerator<readonly Buffer[]> {
  let pauseMs = FIRST_PAUSE_MS;
  for (let isFirst = true; ; isFirst = false) {
    try {
      let mustCome = place.mustRepeat();
      const chunks = await client.readStream(`/api/events?after=${place.after()}`);
      for await (const lines of linesOf(chunks, { lastLine: 'dropped' })) {
        const events = lines
          .filter((line) => startsWith(line, DATA))
          .map((line) => line.subarray(DATA.length));
        pauseMs = FIRST_PAUSE_MS;
        if (events.length > 0) {
          mustCome = false;
          yield events;
        }
        if (mustCome && lines.some((line) => startsWith(line, LIVE))) throw place.notThere();
      }
      say(invocation, 'the stream of events has ended; connecting again');
    } catch (error) {
      if (invocation.signal.aborted) throw new Interrupted();
      if (isFirst || !(error instanceof Failure) || !PASSING.includes(error.exit)) throw error;
      say(invocation, `${error.message}; trying again`);
    }
    await sleep(pauseMs, undefined, { signal: invocation.signal }).catch(() => {
      throw new Interrupted();
    });
    pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
  }
}

const PASSING: readonly string[] = ['unavailable', 'rateLimited'];
const startsWith = (line: Buffer, text: Buffer): boolean => line.subarray(0, text.length).equals(text);
