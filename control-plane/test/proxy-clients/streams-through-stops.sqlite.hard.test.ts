import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ProxiedProcesses, startProxiedProcesses } from './proxied-processes.ts';
import { open, rest } from './reading.ts';

const STREAMS = 5;
let processes: ProxiedProcesses;
/** At the upstream. */
let openStreams = 0;
beforeAll(async () => {
  processes = await startProxiedProcesses((_req, res) => {
    openStreams += 1;
    res.on('close', () => (openStreams -= 1));
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  });
});
afterAll(() => processes.stop());

const statusOfNext = async (): Promise<number | undefined> => {
  const next = await open(processes.door);
  next.destroy();
  return next.statusCode;
};

test.each([
  ['webhook', 'stop'],
  ['webhook', 'kill'],
  ['control-plane', 'stop'],
  ['control-plane', 'kill'],
] as const)('streams break off with the %s (%s), and others begin once it is back', async (name, how) => {
  const { pair, door } = processes;
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => open(door)));
  const ends = Promise.allSettled(streams.map(rest));
  const { child } = pair.process(name);
  await pair.process(name)[how]();
  // R31: it ends by itself, streams or not; only the one that was killed has a signal.
  expect(child.signalCode).toBe(how === 'stop' ? null : 'SIGKILL');
  // Nobody takes the piece for the whole.
  expect((await ends).map(({ status }) => status)).toEqual(Array.from({ length: STREAMS }, () => 'rejected'));
  await vi.waitFor(() => expect(openStreams).toBe(0), { timeout: 20_000 });
  if (name === 'webhook') expect(await statusOfNext()).toBe(502);
  await pair.restart(name);
  await vi.waitFor(async () => expect(await statusOfNext()).toBe(200), { timeout: 60_000, interval: 200 });
  await vi.waitFor(() => expect(openStreams).toBe(0), { timeout: 20_000 });
});
