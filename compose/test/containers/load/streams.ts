import type { World } from './world.ts';

/** An event stream of the upstream, read through a proxy. */
export interface OpenStream {
  /** Whether it has ended, and how. */
  readonly state: () => 'open' | 'ended' | 'torn';
  readonly events: () => number;
  readonly close: () => void;
}

/**
 * Opens one and reads on until it ends.
 *
 * @param kind the answer to a call, or one that an agent opens by GET and that stands for nothing in particular
 */
export async function openStream(world: World, kind: 'answering' | 'standing'): Promise<OpenStream> {
  const gone = new AbortController();
  const answer = await world.scale.send(`${world.scale.url}/api/proxy/mcp`, {
    method: kind === 'answering' ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${world.probe.key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    ...(kind === 'answering' && {
      body: JSON.stringify({ jsonrpc: '2.0', id: 'stream', method: 'stream', params: {} }),
    }),
    signal: gone.signal,
  });
  if (answer.status !== 200) throw new Error(`a stream was answered ${answer.status}`);
  let state: 'open' | 'ended' | 'torn' = 'open';
  let events = 0;
  const readOn = async (): Promise<void> => {
    for await (const _ of answer.body ?? []) events += 1;
  };
  readOn().then(
    () => (state = 'ended'),
    () => (state = 'torn'),
  );
  return { state: () => state, events: () => events, close: () => gone.abort() };
}
