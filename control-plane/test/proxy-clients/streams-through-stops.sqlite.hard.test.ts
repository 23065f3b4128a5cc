import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ProxiedProcesses, startProxiedProcesses } from './proxied-processes.ts';
import { open, rest } from './reading.ts';

const STREAMS = 5;
const EVENT = 'data: 1\n\n';
const ANSWER = 'data: 2\n\n';
let processes: ProxiedProcesses;
/** At the upstream. */
let openStreams = 0;
/** Of calls whose answers have begun and have not come. */
let unanswered: ServerResponse[] = [];
beforeAll(async () => {
  processes = await startProxiedProcesses((req, res) => {
    openStreams += 1;
    res.on('close', () => (openStreams -= 1));
    if (req.method === 'POST') unanswered.push(res);
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(EVENT);
  });
});
afterAll(() => processes.stop());

const listen = (): Promise<IncomingMessage> => open(processes.door);
const call = (): Promise<IncomingMessage> =>
  open(processes.door, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
const many = (begin: () => Promise<IncomingMessage>): Promise<IncomingMessage[]> =>
  Promise.all(Array.from({ length: STREAMS }, begin));
/** What came of streams: all of what was read where they end in order, and undefined where they break off. */
const endsOf = (streams: readonly IncomingMessage[]): Promise<readonly (string | undefined)[]> =>
  Promise.all(streams.map((stream) => rest(stream).catch(() => undefined)));
const all = (end: string | undefined) => Array.from({ length: STREAMS }, () => end);

const statusOfNext = async (): Promise<number | undefined> => {
  const next = await listen();
  next.destroy();
  return next.statusCode;
};
const isLetGo = () => vi.waitFor(() => expect(openStreams).toBe(0), { timeout: 20_000 });

describe.each(['webhook', 'control-plane'] as const)('%s', (name) => {
  const other = name === 'webhook' ? 'control-plane' : 'webhook';
  const urlOf = {
    webhook: () => processes.pair.webhookUrl,
    'control-plane': () => processes.pair.controlPlaneUrl,
  };
  beforeEach(() => {
    unanswered = [];
  });
  afterEach(async () => {
    await processes.pair.restart(name);
    await vi.waitFor(async () => expect(await statusOfNext()).toBe(200), { timeout: 60_000, interval: 200 });
    await isLetGo();
  });

  test('that is stopped ends streams in order, lets a call in hand have its answer, and its upstream go', async () => {
    const { pair } = processes;
    const ends = Promise.all([
      endsOf(await many(listen)),
      endsOf(await many(call)),
      endsOf(await many(call)),
    ]);
    await vi.waitFor(() => expect(unanswered).toHaveLength(2 * STREAMS));
    const { child } = pair.process(name);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    // What stands for nothing ends first, so that the program has heard of the stop by then.
    await vi.waitFor(() => expect(openStreams).toBe(2 * STREAMS), { timeout: 20_000 });
    for (const res of unanswered.slice(STREAMS)) res.end(ANSWER);
    expect((await fetch(`${urlOf[other]()}/readyz`)).status).toBe(200);
    expect(await ends).toEqual([all(EVENT), all(EVENT), all(EVENT + ANSWER)]);
    expect(await exited).toEqual([0, null]);
    await isLetGo();
    if (name === 'webhook') expect(await statusOfNext()).toBe(502);
  });

  test('that is killed breaks them off, so that nobody takes the piece for the whole', async () => {
    const ends = Promise.all([endsOf(await many(listen)), endsOf(await many(call))]);
    await processes.pair.process(name).kill();
    expect(await ends).toEqual([all(undefined), all(undefined)]);
    await isLetGo();
  });
});
