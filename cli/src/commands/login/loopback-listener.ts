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
    /** Takes one answer with this state; every other request gets 404. @throws the reason of the signal */
    answer: (state: string, signal: AbortSignal): Promise<LoopbackAnswer> =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        signal.throwIfAborted();
        onRequest = (req, res) => {
          const url = URL.parse(req.url ?? '', `http://${host}`);
          const isHere = req.method === 'GET' && req.headers.host === host && url?.pathname === path;
          const found = isHere ? loopbackAnswer(url.searchParams, state) : undefined;
          if (found === undefined) return notFound(req, res);
          onRequest = notFound;
          res.writeHead(200, ANSWER_PAGE_HEADERS);
          res.end(answerPage('code' in found ? 'allowed' : 'denied'), () => resolve(found));
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

/** What the browser shows at the end of a sign-in. It holds nothing of the answer. */
function answerPage(outcome: 'allowed' | 'denied'): string {
  const text =
    outcome === 'allowed'
      ? 'svault has its answer. Close this page and go back to your terminal.'
      : 'svault is not signed in. You can close this page.';
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>svault</title></head>
<body><p>${text}</p></body>
</html>
`;
}

/** Nothing is loaded or kept, and the address, which holds the code, goes nowhere else. */
const ANSWER_PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
} as const;
