import type { Clock } from '@svault/shared';
import type { Logger } from './logger.ts';

const MINUTE_MS = 60_000;
/** Beyond this many kinds in a minute the rest counts as one. */
const MAX_KINDS = 100;
const OTHER = 'other';

interface Kind {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
  readonly minute: number;
  further: number;
}

/**
 * A rate limit for log lines that unauthenticated requests cause: of each kind the first in a minute is written at once,
 * and a count of the others at the end of the minute. A flood fills neither log nor disk.
 */
export function createCountedLog(options: {
  readonly logger: Pick<Logger, 'warn'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}) {
  const { logger, clock } = options;
  const kinds = new Map<string, Kind>();
  let timer: NodeJS.Timeout | undefined;

  const minuteNow = (): number => Math.floor(clock.monotonic() / MINUTE_MS);
  const flush = (everything = false): void => {
    const minute = minuteNow();
    for (const [name, kind] of kinds) {
      if (kind.minute === minute && !everything) continue;
      kinds.delete(name);
      if (kind.further > 0) logger.warn({ ...kind.fields, further: kind.further }, kind.message);
    }
  };
  const flushLater = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      flush();
      if (kinds.size > 0) flushLater();
    }, MINUTE_MS).unref();
  };

  return {
    /** @param fields `reason` and the message make the kind; other fields are those of the first line */
    warn: (
      fields: { readonly reason: string } & Readonly<Record<string, unknown>>,
      message: string,
    ): void => {
      flush();
      const named = `${fields.reason} ${message}`;
      const name = kinds.has(named) || kinds.size < MAX_KINDS ? named : OTHER;
      const known = kinds.get(name);
      if (known !== undefined) {
        known.further += 1;
        return;
      }
      kinds.set(name, { fields, message, minute: minuteNow(), further: 0 });
      flushLater();
      logger.warn(fields, message);
    },
    /** Writes the counts of past minutes, or all. */
    flush,
  };
}

export type CountedLog = ReturnType<typeof createCountedLog>;
