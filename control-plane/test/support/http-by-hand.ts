import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';

export interface AnswerByHand {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One request with headers and methods that `fetch` does not send: `Host`, `Origin`, `TRACE`, a header twice. */
export const byHand = (
  url: string,
  options: {
    readonly method?: string;
    readonly headers?: OutgoingHttpHeaders;
    /** Sent as they come; the connection stays open for more where `open` is set. */
    readonly chunks?: readonly (string | Uint8Array)[];
    readonly open?: boolean;
  } = {},
): Promise<AnswerByHand> =>
  new Promise((resolve, reject) => {
    const { method = 'POST', headers = {}, chunks = [], open = false } = options;
    const sent = request(url, { method, headers, agent: false }, (res) => {
      const parts: Buffer[] = [];
      res.on('data', (part: Buffer) => parts.push(part));
      res.on('error', reject);
      res.on('end', () => {
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          text: Buffer.concat(parts).toString(),
        });
        sent.destroy();
      });
    });
    sent.on('error', reject);
    for (const chunk of chunks) sent.write(chunk);
    if (!open) sent.end();
  });
