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
/** Statuses whose `Location` names another URL (RFC 9110 section 15.4). */
const REDIRECTS: ReadonlySet<number> = new Set([300, 301, 302, 303, 307, 308]);
/** Statuses that reject a credential: the control plane answers `UPSTREAM_UNAUTHORIZED` (PROTOCOL.md PRX-43). */
export const REJECTIONS: ReadonlySet<number> = new Set([401, 407]);
/** Fields with URLs, which a client would resolve against the URL that it requested. */
const URL_FIELDS: ReadonlySet<string> = new Set(['location', 'content-location', 'link']);

/** A redirect that cannot be followed to an answer. The message has no part of its URL. */
export class RedirectFailed extends Error {
  override readonly name = 'RedirectFailed';
}

/** Whether redirects of a call may be followed: it has no body that would have to be sent again. */
export const isFollowable = ({ method, body }: Pick<EgressStream, 'method' | 'body'>): boolean =>
  (method === 'GET' || method === 'HEAD') && body === undefined;

/**
 * Streams the answer of a call. A redirect to another origin is followed, and the final answer is streamed instead
 * (PROTOCOL.md HTP-30). Each hop is subject to the egress rules and has neither the agent's fields nor the credential, even
 * when it returns to the first origin.
 *
 * @param call which {@link isFollowable}
 * @param answerOf the part of an answer that may be returned; a redirect whose `Location` it removes is not followed
 * @param take gets the final answer
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
      // The hop had no credential, so its 401 must not be reported as a rejected one.
      rejected = followed > 0 && REJECTIONS.has(head.status);
      if (next !== undefined || rejected) return discard();
      return take(followed === 0 ? answer : withoutUrls(answer));
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
      // Some servers authenticate the connection (RFC 4559), so hops never share one with authenticated calls.
      partition: `${call.partition} redirects`,
      ...(call.signal !== undefined && { signal: call.signal }),
    };
  }
}

/** @returns undefined for an answer that is no redirect, and for one without exactly one valid `Location` */
function redirectOf({ status, fields }: AnswerHead, from: URL): URL | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const [location, ...others] = fields.filter(([name]) => name === 'location');
  if (location === undefined || others.length > 0) return undefined;
  return URL.canParse(location[1], from.href) ? new URL(location[1], from) : undefined;
}

const withoutUrls = ({ status, fields }: AnswerHead): AnswerHead => ({
  status,
  fields: fields.filter(([name]) => !URL_FIELDS.has(name)),
});

/** A destroyed stream, which ends the call. */
const discard = (): Writable => new Writable().destroy();

const failureOf = (error: unknown): unknown => {
  if (error instanceof EgressFailed && error.kind === 'timeout') return error;
  return error instanceof EgressRefused || error instanceof EgressFailed
    ? new RedirectFailed(error.message)
    : error;
};
