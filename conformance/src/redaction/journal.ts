import { fromBase64, fromBase64url } from '@svault/shared';
import type { Answer, Client, OpenAnswer, RequestToSend } from '../http/client.ts';
import { header, jsonObject, text } from '../http/read-answer.ts';
import { createKnownSecrets, type KnownSecrets } from './known-secrets.ts';

/** What a run has to remember of all its traffic so that its report can be written. */
export interface Journal {
  readonly secrets: KnownSecrets;
  /** Whether the suite sent this text itself, so that it may be shown. */
  sent(text: string): boolean;
  /** How far the webhook's clock was ahead when it last said its time, by `Date` or by `time`; seconds. */
  clockAheadSeconds(): number | undefined;
  /** The last answer, for a failure that brought none. */
  lastAnswer(): Answer | undefined;
}

/** Enough for what a run sends; a text that is not remembered is hidden, not shown. */
const MAX_TEXTS = 50_000;
const MAX_TEXT_CHARACTERS = 2048;
const KEY_IN_TEXT = /hmac_?secret\W{0,8}([A-Za-z0-9+/_-]{16,}={0,2})/gi;

/**
 * A client that writes down what goes by: texts that were sent, keys that were answered, clocks.
 * @param now milliseconds since 1970
 */
export function withJournal(client: Client, now: () => number): { client: Client; journal: Journal } {
  const secrets = createKnownSecrets();
  const texts = new Set<string>();
  let clockAheadSeconds: number | undefined;
  let lastAnswer: Answer | undefined;

  const remember = ({ body }: RequestToSend): void => {
    if (body === undefined || body.length > MAX_TEXT_CHARACTERS * 32) return;
    for (const each of textsIn(jsonOf(body))) if (texts.size < MAX_TEXTS) texts.add(each);
  };
  const readClock = (returned: string | undefined): void => {
    const at = returned === undefined ? Number.NaN : Date.parse(returned);
    if (!Number.isNaN(at)) clockAheadSeconds = Math.round((at - now()) / 1000);
  };
  return {
    client: {
      async send(request) {
        remember(request);
        const answer = await client.send(request);
        lastAnswer = answer;
        readClock(header(answer, 'date'));
        const body = jsonObject(answer);
        if (typeof body?.['webhookId'] === 'string' && typeof body['time'] === 'string')
          readClock(body['time']);
        for (const key of keysIn(text(answer), body)) {
          secrets.learn(key);
          const bytes = fromBase64url(key.replace(/=+$/, '')) ?? fromBase64(key);
          if (bytes !== undefined) secrets.learn(bytes);
        }
        return answer;
      },
      async open(request): Promise<OpenAnswer> {
        remember(request);
        return client.open(request);
      },
      close: () => client.close(),
    },
    journal: {
      secrets,
      sent: (each) => texts.has(each),
      clockAheadSeconds: () => clockAheadSeconds,
      lastAnswer: () => lastAnswer,
    },
  };
}

/** Keys that an answer hands out, or that one quotes in whatever form. */
function keysIn(returned: string, body: Record<string, unknown> | undefined): readonly string[] {
  const plain = body?.['hmacSecret'];
  const quoted = [...returned.matchAll(KEY_IN_TEXT)].map(([, key = '']) => key);
  return typeof plain === 'string' ? [plain, ...quoted] : quoted;
}

function jsonOf(body: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'));
  } catch {
    return undefined;
  }
}

function* textsIn(value: unknown, depth = 0): Iterable<string> {
  if (typeof value === 'string') {
    if (value.length <= MAX_TEXT_CHARACTERS) yield value;
  } else if (typeof value === 'object' && value !== null && depth < 32) {
    for (const each of Object.values(value)) yield* textsIn(each, depth + 1);
  }
}
