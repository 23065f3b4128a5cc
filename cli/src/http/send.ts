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
  { method, url, authorization, body }: OutgoingRequest,
): Promise<IncomingAnswer> {
  const trace = flags.debug === true ? terminal.err : () => undefined;
  const startedAt = performance.now();
  trace(`> ${method} ${shownUrl(url)}\n`);
  try {
    const answer = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...(authorization !== undefined && { authorization }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    });
    const bytes = await readWhole(answer, url);
    trace(`< ${answer.status} in ${Math.round(performance.now() - startedAt)} ms\n`);
    return { status: answer.status, headers: answer.headers, text: bytes.toString('utf8'), bytes };
  } catch (error) {
    trace(`< nothing in ${Math.round(performance.now() - startedAt)} ms\n`);
    throw error instanceof Failure ? error : networkFailure(error, url);
  }
}

async function readWhole({ body }: Response, url: URL): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Failure('failed', `${url.host} answers more than a svault would`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
