import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { failed } from '../../failure.ts';
import { systemReason } from '../../system-reason.ts';

export type LoopbackListener = Awaited<ReturnType<typeof listenOnLoopback>>;

/** Listens on this machine for the answer of a browser (RFC 8252 section 7.3). @throws Failure where nothing can listen */
export async function listenOnLoopback() {
  const path = `/callback/${randomBytes(16).toString('base64url')}`;
  const server = createServer((req, res) => onRequest(req, res));
  let onRequest = notFound;
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening');
  } catch (error) {
    throw failed(
      `nothing can listen on 127.0.0.1 (${systemReason(error)}): svault login --no-launch-browser`,
      error,
    );
  }
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    /** Only the control plane knows it before the browser comes, so other users of this machine cannot answer. */
    redirectUri: `http://${host}${path}`,
    /**
     * Takes one answer with this state; every other request gets 404.
     * @param page of the control plane, which the browser is sent back to; it gets nothing but the outcome
     * @throws the reason of the signal
     */
    answer: (
      { state, page }: { readonly state: string; readonly page: URL },
      signal: AbortSignal,
    ): Promise<LoopbackAnswer> =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        signal.throwIfAborted();
        onRequest = (req, res) => {
          const url = URL.parse(req.url ?? '', `http://${host}`);
          const isHere = req.method === 'GET' && req.headers.host === host && url?.pathname === path;
          const found = isHere ? loopbackAnswer(url.searchParams, state) : undefined;
          if (found === undefined) return notFound(req, res);
          onRequest = notFound;
          const location = outcomePage(page, 'code' in found ? 'allowed' : 'denied');
          res.writeHead(303, { ...ANSWER_HEADERS, location }).end(() => resolve(found));
        };
      }),
    close: (): void => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function notFound(_req: IncomingMessage, res: ServerResponse): void {
  res.writeHead(404, { connection: 'close' }).end();
}

type LoopbackAnswer =
  /** `issuer`: whose code it is, as the answer says (RFC 9207). */
  { readonly code: string; readonly issuer: string | undefined } | { readonly denied: true };

const CODE_FORM = /^[\x21-\x7e]{1,1024}$/;

/**
 * Reads the query of a redirect (RFC 6749 sections 4.1.2 and 4.1.2.1).
 * @returns undefined for everything but an answer to this request: any process on this machine can call
 */
export function loopbackAnswer(query: URLSearchParams, state: string): LoopbackAnswer | undefined {
  const only = (name: string): string | undefined => {
    const values = query.getAll(name);
    return values.length === 1 ? values[0] : undefined;
  };
  if (only('state') !== state) return undefined;
  if (only('error') === 'access_denied' && !query.has('code')) return { denied: true };
  const code = only('code');
  return code !== undefined && CODE_FORM.test(code) && !query.has('error')
    ? { code, issuer: only('iss') }
    : undefined;
}

/** The page on which the person decided, which says how it ended. */
const outcomePage = ({ origin, pathname }: URL, outcome: 'allowed' | 'denied'): string =>
  `${origin}${pathname}?outcome=${outcome}`;

/** Nothing is kept, and the address, which holds the code, goes nowhere else. */
const ANSWER_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  connection: 'close',
} as const;
