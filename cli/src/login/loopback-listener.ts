import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure } from '../failure.ts';
import { systemReason } from '../system-reason.ts';
import { ANSWER_PAGE_HEADERS, answerPage } from './answer-page.ts';
import { type LoopbackAnswer, loopbackAnswer } from './loopback-answer.ts';

/** Listens on this machine for the answer of a browser (RFC 8252 section 7.3). */
export interface LoopbackListener {
  /** Known to the service and to nobody else before the browser comes: others on this machine cannot answer in its place. */
  readonly redirectUri: string;
  /** Takes one answer with this state; whatever else comes gets 404. @throws the reason of the signal */
  answer(state: string, signal: AbortSignal): Promise<LoopbackAnswer>;
  close(): void;
}

/** @throws Failure where nothing can listen */
export async function listenOnLoopback(): Promise<LoopbackListener> {
  const path = `/callback/${randomBytes(16).toString('base64url')}`;
  const server = createServer((req, res) => onRequest(req, res));
  let onRequest = notFound;
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening');
  } catch (error) {
    throw new Failure(
      'failed',
      `nothing can listen on 127.0.0.1 (${systemReason(error)}): svault login --no-launch-browser`,
      { cause: error },
    );
  }
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    redirectUri: `http://${host}${path}`,
    answer: (state, signal) =>
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
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function notFound(_req: IncomingMessage, res: ServerResponse): void {
  res.writeHead(404, { connection: 'close' }).end();
}
