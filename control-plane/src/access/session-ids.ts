import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ProxySubject } from './subject.ts';

const NAME = 'mcp-session-id';
/** Of HMAC-SHA256, so that nobody guesses one (RFC 2104 section 5 allows half). */
const MAC_BYTES = 16;

type Fields = ReadonlyArray<readonly [name: string, value: string]>;
type Holder = Pick<ProxySubject, 'proxyId' | 'upstreamUrl'>;

/**
 * Binds the sessions of upstreams to the proxy that began them. Proxies of one credential are one caller to the upstream,
 * so that it takes the session of either from both; a client is given `<id>.<MAC>`, and no other proxy can use that.
 * Stateless: any process opens what another one bound.
 */
export interface SessionIds {
  /** The upstream's header for the client. */
  bind(holder: Holder, fields: Fields): [name: string, value: string][];
  /** The client's header for the upstream; undefined where it names a session that is not this proxy's. */
  open(holder: Holder, fields: Fields): [name: string, value: string][] | undefined;
}

/** @param key of this purpose alone, the same in every process */
export function createSessionIds(key: Uint8Array): SessionIds {
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
    bind: (holder, fields) =>
      fields.map(([name, value]) =>
        name.toLowerCase() === NAME
          ? [name, `${value}.${macOf(holder, value).toString('base64url')}`]
          : [name, value],
      ),
    open: (holder, received) => {
      // An empty one names no session, and is not sent on.
      const fields = received.filter(([name, value]) => name.toLowerCase() !== NAME || value !== '');
      const ids = fields
        .filter(([name]) => name.toLowerCase() === NAME)
        .map(([, value]) => opened(holder, value));
      // Of two, nobody can tell which one an upstream takes.
      if (ids.length > 1 || ids.includes(undefined)) return undefined;
      return fields.map(([name, value]) => [name, name.toLowerCase() === NAME ? (ids[0] ?? '') : value]);
    },
  };
}
