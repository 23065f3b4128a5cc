import { ConnectionFailed, UnexpectedAnswer } from './errors.ts';

/** More than the largest sealed credential: four secret fields of 64 KiB, escaped and in base64url. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

const USER_AGENT = 'svault-node';

/** What came back, whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface RequestOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for everything, from the look-up of the name to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Sends one GET and reads its answer whole; no redirect is followed.
 * @throws ConnectionFailed where no whole answer comes in time
 * @throws UnexpectedAnswer where it is too large
 * @throws the reason of the caller's signal
 */
export async function get(url: URL, options: RequestOptions): Promise<Answer> {
  const { headers, timeoutMs, signal, fetch } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      headers: { 'user-agent': USER_AGENT, ...headers },
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    return { status: response.status, headers: response.headers, text: await readWhole(response, url) };
  } catch (error) {
    if (error instanceof UnexpectedAnswer) throw error;
    if (signal?.aborted === true) throw signal.reason;
    if (timeout.aborted)
      throw new ConnectionFailed(`${url.host} did not answer within ${timeoutMs / 1_000} seconds`);
    // Without its cause, which can hold a piece of the answer.
    const code = codeOf(error);
    throw new ConnectionFailed(`${url.host} cannot be reached: ${code}`, !/CERT|SIGNATURE/.test(code));
  }
}

async function readWhole(response: Response, { host }: URL): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    // Leaving the loop cancels the body.
    if (size > MAX_ANSWER_BYTES) throw tooLarge(response, host);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const tooLarge = ({ status }: Response, host: string): UnexpectedAnswer =>
  new UnexpectedAnswer(`the answer of ${host} has more than ${MAX_ANSWER_BYTES} bytes`, status);

/** The innermost code: `fetch` wraps it, and an AggregateError holds one for each address. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error.cause === undefined ? error.name : codeOf(error.cause);
}

/** @returns the JSON object in a text, `{}` for anything else */
export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return value instanceof Object && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
