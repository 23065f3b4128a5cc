import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ProviderRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export interface ProviderAnswer {
  /** 200 unless given; 0 breaks the connection. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A provider on a real listener, and every request that reached it. */
export interface Provider {
  readonly url: string;
  readonly requests: ProviderRequest[];
  stop(): Promise<void>;
}

export async function startProvider(
  answer: (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer>,
): Promise<Provider> {
  const requests: ProviderRequest[] = [];
  const server = createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8');
    req.on('data', (chunk: string) => (body += chunk));
    req.on('end', () => {
      const headers = Object.fromEntries(
        Object.entries(req.headers).map(([name, value]) => [name, String(value)]),
      );
      const request = { method: req.method ?? '', url: req.url ?? '', headers, body };
      requests.push(request);
      void Promise.resolve(answer(request)).then(
        ({ status = 200, headers: fields = {}, body: text = '' }) => {
          if (status === 0) return req.socket.destroy();
          return res.writeHead(status, fields).end(text);
        },
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
