import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ProxySubject } from './subject.ts';

const NAME = 'mcp-session-id';
/** HMAC-SHA256 truncated to half its length (RFC 2104 section 5). */
const MAC_BYTES = 16;

type Field = readonly [name: string, value: string];
type Fields = readonly Field[];
type Holder = Pick<ProxySubject, 'proxyId' | 'upstreamUrl'>;

/** By its length first: each field of each request is looked at. */
const isSessionId = ([name]: Field): boolean => name.length === NAME.length && name.toLowerCase() === NAME;

export type SessionIds = ReturnType<typeof createSessionIds>;

/**
 * Binds an upstream's MCP session to the proxy that began it. An upstream cannot tell apart the proxies of one credential,
 * so clients get `<id>.<MAC>`, which is valid for one proxy only. Stateless: any process verifies it.
 *
 * @param key for this purpose only, the same in every process
 */
export function createSessionIds(key: Uint8Array) {
  const macOf = ({ proxyId, upstreamUrl }: Holder, id: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([proxyId, upstreamUrl, id]))
      .digest()
      .subarray(0, MAC_BYTES);
  const opened = (holder: Holder, bound: string): string | undefined => {
    const dot = bound.lastIndexOf('.');
    const id = bound.slice(0, Math.max(dot, 0));
    const shown = Buffer.from(bound.slice(dot + 1), 'base64url');
    const expected = macOf(holder, id);
    const isOwn = dot >= 0 && shown.byteLength === expected.byteLength && timingSafeEqual(shown, expected);
    return isOwn ? id : undefined;
  };
  return {
    /** Translates the upstream's headers for the client. */
    bind: (holder: Holder, fields: Fields): Fields =>
      fields.some(isSessionId)
        ? fields.map((field) =>
            isSessionId(field)
              ? [field[0], `${field[1]}.${macOf(holder, field[1]).toString('base64url')}`]
              : field,
          )
        : fields,
    /** Translates the client's headers for the upstream. @returns undefined for a session of another proxy */
    open: (holder: Holder, received: Fields): Fields | undefined => {
      const bound = received.filter(isSessionId);
      if (bound.length === 0) return received;
      // An empty value names no session, and is not forwarded.
      const ids = bound.filter(([, value]) => value !== '').map(([, value]) => opened(holder, value));
      // Of two, the upstream might use either.
      if (ids.length > 1 || ids.includes(undefined)) return undefined;
      return received.flatMap((field): Fields =>
        !isSessionId(field) ? [field] : field[1] === '' ? [] : [[field[0], ids[0] ?? '']],
      );
    },
  };
}
