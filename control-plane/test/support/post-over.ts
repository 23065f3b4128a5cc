import { type Agent, type IncomingMessage, request } from 'node:http';

/** A POST over connections that stay open: a third of what `fetch` costs, where there are many. */
export const postOver = (
  agent: Agent,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const receive = (res: IncomingMessage): void => {
      const parts: Buffer[] = [];
      res.on('data', (part: Buffer) => parts.push(part));
      res.on('error', reject);
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
    };
    const options = { method: 'POST', agent, headers: { ...headers, 'content-length': body.length } };
    request(url, options, receive).on('error', reject).end(body);
  });
