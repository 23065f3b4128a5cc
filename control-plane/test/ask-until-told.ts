import { Agent, request } from 'node:http';

/** What came of one request: the status and whether the answer closes its connection, or how it failed. */
export type Told = { readonly status: number; readonly closes: boolean } | { readonly failure: Failure };

/** `refused`: nobody listens. `new`, `kept`: a connection of that kind ended without an answer. `cut`: within one. */
type Failure = 'refused' | 'new' | 'kept' | 'cut';

/** One caller on kept connections, by Node's own client or by fetch. */
export interface KeptCaller {
  ask(path: string): Promise<Told>;
  end(): void;
}

export function callerByAgent(url: string, headers: Readonly<Record<string, string>>): KeptCaller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: (path) =>
      new Promise((resolve) => {
        const sent = request(url + path, { agent, headers }, (answer) => {
          const closes = answer.headers.connection === 'close';
          answer.resume().on('error', () => resolve({ failure: 'cut' }));
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, closes }));
        });
        sent.on('error', ({ code }: NodeJS.ErrnoException) =>
          resolve({ failure: code === 'ECONNREFUSED' ? 'refused' : sent.reusedSocket ? 'kept' : 'new' }),
        );
        sent.end();
      }),
    end: () => agent.destroy(),
  };
}

export const callerByFetch = (url: string, headers: Readonly<Record<string, string>>): KeptCaller => ({
  ask: async (path) => {
    let answer: Response;
    try {
      answer = await fetch(url + path, { headers, redirect: 'manual' });
    } catch (error) {
      const { code } = (error as { readonly cause?: NodeJS.ErrnoException }).cause ?? {};
      // It does not say whether the connection had been used before.
      return { failure: code === 'ECONNREFUSED' ? 'refused' : 'new' };
    }
    const told: Told = { status: answer.status, closes: answer.headers.get('connection') === 'close' };
    return answer.arrayBuffer().then(
      () => told,
      (): Told => ({ failure: 'cut' }),
    );
  },
  end: () => undefined,
});
