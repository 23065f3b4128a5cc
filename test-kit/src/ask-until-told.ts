import { Agent, request } from 'node:http';

/** What came of one request: the answer, and whether it closes its connection, or how it failed. */
export type Told = Answered | { readonly failure: Failure };

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly closes: boolean;
}

/** `refused`: no process listens. `new`, `kept`: a connection of that kind ended without an answer. `cut`: within one. */
type Failure = 'refused' | 'new' | 'kept' | 'cut';

export interface Asked {
  /** GET unless given. */
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One caller on kept connections, by Node's own client or by fetch. */
export interface KeptCaller {
  ask(asked: Asked): Promise<Told>;
  end(): void;
}

export function callerByAgent(url: string, common: Readonly<Record<string, string>> = {}): KeptCaller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: ({ method = 'GET', path, headers, body = '' }) =>
      new Promise((resolve) => {
        const length = body === '' ? {} : { 'content-length': Buffer.byteLength(body) };
        const options = { agent, method, headers: { ...common, ...headers, ...length } };
        const sent = request(url + path, options, (answer) => {
          const closes = answer.headers.connection === 'close';
          let text = '';
          answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
          answer.on('error', () => resolve({ failure: 'cut' }));
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, closes }));
        });
        sent.on('error', ({ code }: NodeJS.ErrnoException) =>
          resolve({ failure: code === 'ECONNREFUSED' ? 'refused' : sent.reusedSocket ? 'kept' : 'new' }),
        );
        sent.end(body);
      }),
    end: () => agent.destroy(),
  };
}

export const callerByFetch = (url: string, common: Readonly<Record<string, string>> = {}): KeptCaller => ({
  ask: async ({ method = 'GET', path, headers, body }) => {
    let answer: Response;
    try {
      answer = await fetch(url + path, {
        method,
        headers: { ...common, ...headers },
        redirect: 'manual',
        ...(body !== undefined && { body }),
      });
    } catch (error) {
      const { code } = (error as { readonly cause?: NodeJS.ErrnoException }).cause ?? {};
      // It does not say whether the connection had been used before.
      return { failure: code === 'ECONNREFUSED' ? 'refused' : 'new' };
    }
    const { status, headers: told } = answer;
    return answer.text().then(
      (text): Told => ({ status, text, closes: told.get('connection') === 'close' }),
      (): Told => ({ failure: 'cut' }),
    );
  },
  end: () => undefined,
});
