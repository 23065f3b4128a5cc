import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Door } from './door.ts';
import { pour, untilFull } from './pouring.ts';
import { type ProxiedProcesses, startProxiedProcesses } from './proxied-processes.ts';
import { open, restLength } from './reading.ts';
import { type ResidentMemory, measureResident } from './resident-memory.ts';

const HUNDRED_MB = 100_000_000;
const MAX_MB = 30;
/** A megabyte and a half for each of them. */
const MAX_MB_OF_ALL = 100;
const EVENTS = 10_000;
/** Of one proxy at once (protocol section 2). */
const STREAMS = 64;

let processes: ProxiedProcesses;
let door: Door;
let httpDoor: Door;
let answer: RequestListener;
beforeAll(async () => {
  processes = await startProxiedProcesses((req, res) => answer(req, res));
  ({ door } = processes);
  httpDoor = await processes.anotherDoor('http');
  // What is loaded once, by the first few, is no part of what a large answer takes.
  answer = (_req, res) => void pour(res, 100_000);
  for (const each of [door, httpDoor]) for (let n = 0; n < 10; n += 1) await restLength(await open(each));
});
afterAll(() => processes.stop());

let memory: Readonly<Record<'control-plane' | 'webhook', ResidentMemory>>;
beforeEach(() => {
  const of = (name: 'control-plane' | 'webhook') => measureResident(processes.pair.process(name).child.pid);
  memory = { 'control-plane': of('control-plane'), webhook: of('webhook') };
});
/** How much more each program held at its worst. */
const most = () => ({ controlPlane: memory['control-plane'].most(), webhook: memory.webhook.most() });
const below = (megabytes: number) => expect.toSatisfy((taken: number) => taken < megabytes);
const little = { controlPlane: below(MAX_MB), webhook: below(MAX_MB) };

test.each([
  ['an MCP server', () => door],
  ['an HTTP API', () => httpDoor],
])('an answer of 100 MB of %s takes less than 30 MB in each program', async (_what, through) => {
  answer = (_req, res) => void pour(res, HUNDRED_MB);
  expect(await restLength(await open(through()))).toBeGreaterThanOrEqual(HUNDRED_MB);
  expect(most()).toEqual(little);
});

test('a stream of 10,000 events comes one by one, complete and in order, and takes no memory', async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  answer = (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    asked.resolve(res);
  };
  const ours = (await open(door)).setEncoding('utf8');
  const theirs = await asked.promise;
  for (let n = 0; n < EVENTS; n += 1) {
    const event = `id: ${n}\ndata: ${'x'.repeat(200)}\n\n`;
    const arrives = once(ours, 'data') as Promise<[string]>;
    theirs.write(event);
    // Each is out before the next is sent, the first one too.
    expect((await arrives)[0]).toBe(event);
  }
  theirs.end();
  expect(await restLength(ours)).toBe(0);
  expect(most()).toEqual(little);
});

test('sixty-four readers who read nothing take a bounded part of 6.4 GB', async () => {
  const pourings: ReturnType<typeof pour>[] = [];
  answer = (_req, res) => void pourings.push(pour(res, HUNDRED_MB));
  const held: IncomingMessage[] = [];
  for (let n = 0; n < STREAMS; n += 1) held.push(await open(door));
  // The kernel holds what its sockets take, a sixth of it or so.
  const full = await untilFull({ sent: () => pourings.reduce((sum, { sent }) => sum + sent(), 0) });
  expect(full).toBeLessThan((STREAMS * HUNDRED_MB) / 2);
  expect(most()).toEqual({ controlPlane: below(MAX_MB_OF_ALL), webhook: below(MAX_MB_OF_ALL) });
  const ended = Promise.all(held.map((ours) => once(ours, 'close')));
  for (const ours of held) ours.destroy();
  await ended;
});

test('so many streams as five proxies may have are open at once, and none waits for those of another', async () => {
  answer = (_req, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  const held: IncomingMessage[] = [];
  for (let proxy = 0; proxy < 5; proxy += 1) {
    const its = await processes.anotherDoor();
    held.push(...(await Promise.all(Array.from({ length: STREAMS }, () => open(its)))));
  }
  expect(new Set(held.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  answer = (_req, res) => res.end('and one more');
  expect((await open(door)).statusCode).toBe(200);
  for (const ours of held) ours.destroy();
});
