import type { Send } from '../../../src/admin-client.ts';

/** One request of a load run and what came of it. Times are those of the machine's clock, in ms. */
export interface Asked {
  /** Whose it is: the name of a client. */
  readonly who: string;
  readonly what: string;
  /** The webhook is reached by its owner's proxy, the control plane by that of compose.yaml. */
  readonly of: 'service' | 'webhook';
  readonly sentAt: number;
  readonly answeredAt: number;
  /** 0 where no answer came, or only half of one. */
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** Where it is no answer that the client looked for: what it said. */
  readonly text: string;
}

/** Between being told that something breaks and having seen that all works again. */
interface Window {
  readonly from: number;
  to: number;
}

/** All that was asked in a load run. */
export interface Book {
  readonly asked: Asked[];
  readonly windows: Window[];
  /** What no client should ever see, whatever breaks. */
  readonly wrong: string[];
  /** Credentials, keys and tickets that a client held: no log may show them. */
  readonly secrets: Set<string>;
}

export const newBook = (): Book => ({ asked: [], windows: [], wrong: [], secrets: new Set() });

/** Done: said so. Refused: nothing was done, said so. Unknown: nobody said which of the two. */
export type Fate = 'done' | 'refused' | 'unknown';

export interface Answer {
  readonly fate: Fate;
  readonly status: number;
  readonly text: string;
  readonly location: string;
  readonly sentAt: number;
  readonly answeredAt: number;
}

export interface Question {
  readonly what: string;
  readonly url: string;
  readonly of?: Asked['of'];
  readonly init?: RequestInit;
  /** Statuses that the client looked for. */
  readonly expect: readonly number[];
}

export type Ask = (question: Question) => Promise<Answer>;

/** Longer than anything on the way waits; who hangs longer hangs. */
const PATIENCE_MS = 30_000;
const AFTER_A_BREAK_MS = 100;

/** A client's way to ask, which writes down each answer. After one that it did not look for it pauses for a moment. */
export function askingInto(book: Book, who: string, send: Send): Ask {
  return async ({ what, url, of = 'service', init = {}, expect }) => {
    const sentAt = Date.now();
    let [status, text, location, retryAfter]: [number, string, string, string | undefined] = [
      0,
      '',
      '',
      undefined,
    ];
    try {
      const response = await send(url, {
        redirect: 'manual',
        ...init,
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      text = await response.text();
      status = response.status;
      location = response.headers.get('location') ?? '';
      retryAfter = response.headers.get('retry-after') ?? undefined;
    } catch (error) {
      text = describe(error);
    }
    const answeredAt = Date.now();
    const isExpected = expect.includes(status);
    book.asked.push({
      who,
      what,
      of,
      sentAt,
      answeredAt,
      status,
      retryAfter,
      text: isExpected ? '' : text.slice(0, 200),
    });
    if (!isExpected) await new Promise((resolve) => setTimeout(resolve, AFTER_A_BREAK_MS));
    return { fate: fateOf(status, isExpected), status, text, location, sentAt, answeredAt };
  };
}

function fateOf(status: number, isExpected: boolean): Fate {
  if (isExpected) return 'done';
  return status >= 400 && status < 500 ? 'refused' : 'unknown';
}

/** `fetch failed` says nothing; what it failed with does. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${describe(error.cause)}` : error.message;
}

/** What a client may see while a part is away: no answer, or one of the documented ones, which says when to come back. */
const DOCUMENTED: ReadonlySet<number> = new Set([502, 503, 504]);

/** @returns the answers that no fault excuses, each with what it was about */
export function unexcused({ asked, windows }: Book): readonly string[] {
  const isExcused = ({ of, sentAt, answeredAt, status, retryAfter }: Asked): boolean => {
    if (!windows.some(({ from, to }) => sentAt <= to && answeredAt >= from)) return false;
    // A ticket whose use was not answered is spent, and a proxy may have used it a second time.
    if (of === 'webhook') return status === 0 || status === 401 || DOCUMENTED.has(status);
    return status === 0 || (DOCUMENTED.has(status) && retryAfter !== undefined);
  };
  return asked
    .filter((one) => one.text !== '' && !isExcused(one))
    .map(
      ({ who, what, status, retryAfter, text }) => `${who}: ${what}: ${status} (${retryAfter ?? ''}) ${text}`,
    );
}
