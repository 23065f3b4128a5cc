import { Writable } from 'node:stream';
import {
  type AnswerHead,
  type Egress,
  EgressFailed,
  EgressRefused,
  type EgressStream,
  type TakeAnswer,
} from '@svault/shared/egress';

const MAX_REDIRECTS = 3;
/** RFC 9110 section 15.4: those that name another place for the same content. */
const REDIRECTS: ReadonlySet<number> = new Set([300, 301, 302, 303, 307, 308]);
/** The credential was not sent, so that its rejection would be a wrong alarm. */
const REJECTIONS: ReadonlySet<number> = new Set([401, 407]);
/** A reader would resolve these against the URL that it asked for. */
const ADDRESSES: ReadonlySet<string> = new Set(['location', 'content-location', 'link']);

/** A redirect leads to nothing that can be handed on. The message has nothing of its address. */
export class RedirectFailed extends Error {
  override readonly name = 'RedirectFailed';
}

/** Whether redirects of a call may be followed: it has no content that would have to be sent again. */
export const isFollowable = ({ method, body }: Pick<EgressStream, 'method' | 'body'>): boolean =>
  (method === 'GET' || method === 'HEAD') && body === undefined;

/**
 * Streams the answer of a call, or where that is a redirect to another origin what it leads to (PROTOCOL.md HTP-30):
 * each hop by the rules of the egress client, without anything of the agent's and without the credential, back at the
 * first origin too.
 *
 * @param call which {@link isFollowable}
 * @param answerOf what may be handed on of an answer; a redirect whose `Location` may not is none
 * @param take gets the one answer that is handed on
 * @throws RedirectFailed; otherwise as `Egress.stream`
 */
export async function streamFollowing(
  egress: Pick<Egress, 'stream'>,
  call: EgressStream,
  answerOf: (head: AnswerHead) => AnswerHead,
  take: TakeAnswer,
): Promise<void> {
  const startedMs = performance.now();
  const first = new URL(call.target ?? '', call.url);
  let hop = call;
  for (let from = first, followed = 0; ; followed++) {
    let next: URL | undefined;
    let rejected = false;
    const takeOrFollow: TakeAnswer = (head) => {
      const answer = answerOf(head);
      next = redirectOf(answer, from);
      if (followed === 0 && next?.origin === first.origin) next = undefined;
      rejected = followed > 0 && REJECTIONS.has(head.status);
      if (next !== undefined || rejected) return nothing();
      return take(followed === 0 ? answer : withoutAddresses(answer));
    };
    try {
      await egress.stream(hop, takeOrFollow);
    } catch (error) {
      if (next === undefined && !rejected) throw followed === 0 ? error : failureOf(error);
    }
    if (rejected) throw new RedirectFailed('it leads to where a credential is asked for');
    if (next === undefined) return;
    if (followed === MAX_REDIRECTS) throw new RedirectFailed(`more than ${MAX_REDIRECTS} in a row`);
    if (first.protocol === 'https:' && next.protocol !== 'https:')
      throw new RedirectFailed('from https to another scheme');
    from = next;
    hop = {
      method: call.method,
      url: next.href,
      headers: { 'accept-encoding': 'identity' },
      headTimeoutMs: Math.max(1, call.headTimeoutMs - (performance.now() - startedMs)),
      idleTimeoutMs: call.idleTimeoutMs,
      // Some servers authenticate a connection (RFC 4559), so that one with credentials is none without.
      partition: `${call.partition} redirects`,
      ...(call.signal !== undefined && { signal: call.signal }),
    };
  }
}

/** @returns undefined for an answer that is no redirect, and for one whose place cannot be read */
function redirectOf({ status, fields }: AnswerHead, from: URL): URL | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const [location, ...others] = fields.filter(([name]) => name === 'location');
  if (location === undefined || others.length > 0) return undefined;
  return URL.canParse(location[1], from.href) ? new URL(location[1], from) : undefined;
}

const withoutAddresses = ({ status, fields }: AnswerHead): AnswerHead => ({
  status,
  fields: fields.filter(([name]) => !ADDRESSES.has(name)),
});

/** Ends the call whose body would go there. */
const nothing = (): Writable => new Writable().destroy();

const failureOf = (error: unknown): unknown => {
  if (error instanceof EgressFailed && error.kind === 'timeout') return error;
  return error instanceof EgressRefused || error instanceof EgressFailed
    ? new RedirectFailed(error.message)
    : error;
};
