import type { CustomFetch, CustomFetchOptions } from 'openid-client';
import type { Egress, EgressRequest } from '@svault/shared/egress';

/** Metadata and key sets are a few KiB. */
const MAX_BYTES = 256 * 1024;
/** Answers that have no body (Fetch, "null body status"). */
const BODILESS = [101, 204, 205, 304];

/**
 * The calls of the OpenID Connect library by the program's one way out: addresses are checked, no redirect is followed,
 * time and size are capped.
 */
export function createProviderFetch(egress: Pick<Egress, 'request'>, timeoutMs: number): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const answer = await egress.request({
      url,
      method: method as EgressRequest['method'],
      headers,
      ...bodyOf(body),
      timeoutMs,
      maxBytes: MAX_BYTES,
      ...(signal && { signal }),
    });
    const { status } = answer;
    return new Response(BODILESS.includes(status) ? null : new Uint8Array(answer.body), {
      status,
      headers: answer.headers,
    });
  };
}

/** The library sends forms, and nothing with a GET. */
function bodyOf(body: CustomFetchOptions['body']): { readonly body?: string } {
  if (body === undefined || body === null) return {};
  if (typeof body === 'string') return { body };
  if (body instanceof URLSearchParams) return { body: body.toString() };
  throw new TypeError('a body of this kind is not sent to an identity provider');
}
