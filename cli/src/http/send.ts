import type { IncomingMessage, request as requestOf } from 'node:http';
import { Failure } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { networkFailure } from './network-failure.ts';
import type { IncomingAnswer, OutgoingRequest } from './outgoing-request.ts';
import { shownUrl } from './shown-request.ts';

/** Longer than the service waits for a webhook. */
const PATIENCE_MS = 60_000;
/** A page of 100 tokens, each with all its notes, is less; so is the largest credential. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/**
 * Sends a request and reads its answer whole. Redirects are the caller's to follow: none is followed here, so that no key goes
 * where it was not meant to go.
 *
 * @throws Failure where there is no answer, or one too large
 */
export async function send(
  { terminal, signal, flags }: Pick<Invocation, 'terminal' | 'signal' | 'flags'>,
  request: OutgoingRequest,
): Promise<IncomingAnswer> {
  const { method, url } = request;
  const trace = flags.debug === true ? terminal.err : () => undefined;
  const startedAt = performance.now();
  const patience = AbortSignal.timeout(PATIENCE_MS);
  trace(`> ${method} ${shownUrl(url)}\n`);
  try {
    // Node's own, and not `fetch`: that takes longer to load than both of a get's requests do.
    const { request: open } =
      url.protocol === 'https:' ? await import('node:https') : await import('node:http');
    const answer = await answerTo(request, open, AbortSignal.any([signal, patience]));
    const bytes = await readWhole(answer, url);
    const { statusCode: status = 0 } = answer;
    trace(`< ${status} in ${Math.round(performance.now() - startedAt)} ms\n`);
    return { status, headers: headersOf(answer), text: bytes.toString('utf8'), bytes };
  } catch (error) {
    trace(`< nothing in ${Math.round(performance.now() - startedAt)} ms\n`);
    throw error instanceof Failure ? error : networkFailure(patience.aborted ? patience.reason : error, url);
  }
}

function answerTo(
  { method, url, authorization, body }: OutgoingRequest,
  open: typeof requestOf,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const headers = {
    accept: 'application/json',
    ...(authorization !== undefined && { authorization }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    open(url, { method, headers, signal })
      .once('response', resolve)
      .once('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const headersOf = ({ headers }: IncomingMessage): ReadonlyMap<string, string> =>
  new Map(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]));

async function readWhole(answer: IncomingMessage, url: URL): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Failure('failed', `${url.host} answers more than a svault would`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
