import { once } from 'node:events';
import { type IncomingMessage, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface KeyAddingProxy {
  readonly url: string;
  close(): Promise<void>;
}

export interface ProxyOptions {
  /** Where to, known by the first request. */
  readonly target: () => string;
  readonly apiKey: () => string;
  /** Changes an answer's body on its way back. */
  readonly spoil?: (body: string) => string;
}

/**
 * A proxy that adds an agent's key to every request and passes all else as it is, `Host` included: the public suite has
 * no option for a header.
 */
export async function startKeyAddingProxy({ target, apiKey, spoil }: ProxyOptions): Promise<KeyAddingProxy> {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${apiKey()}` };
    const { method = 'GET', url = '/' } = incoming;
    const onward = request(new URL(url, target()), { method, headers }, (answer) => {
      const { statusCode = 502 } = answer;
      if (spoil === undefined) answer.pipe(outgoing.writeHead(statusCode, answer.headers));
      else
        void textOf(answer).then((text) => {
          const { 'content-length': _, ...rest } = answer.headers;
          outgoing.writeHead(statusCode, rest).end(spoil(text));
        });
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += String(chunk);
  return text;
}
