/** Long answers and long streams: what the process holds of them does not grow with their length. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { openCall, putProxy } from '../support/proxy-calls.ts';
import { type ServingProcess, serveProcess } from '../support/run-webhook.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const MIB = 1024 * 1024;
/** Of resident memory at the worst moment, over what there is once the collector has found its pace. */
const MAX_GROWTH_BYTES = 30 * MIB;

let webhook: BoundWebhook;
let serving: ServingProcess;
let upstream: Upstream;
let answer: RequestListener;
beforeAll(async () => {
  upstream = await startUpstream((req, res) => answer(req, res));
  webhook = await boundWebhook({
    clock: new ManualClock(Date.now()),
    env: { SV_EGRESS_ALLOW: '127.0.0.1/32' },
  });
  await webhook.store('api', {
    tokenType: 'PlainText',
    value: 'tkn_of_memory_0189',
    allowedHosts: [upstream.url],
  });
  await putProxy(webhook, upstream.url);
  await webhook.stop();
  serving = await serveProcess(webhook.env);
});
afterAll(async () => {
  await serving.end('SIGTERM');
  await webhook.remove();
  await upstream.close();
});

async function* called(): AsyncGenerator<Buffer> {
  const { env, key, webhookId } = webhook;
  const clock = new ManualClock(Date.now());
  yield* await openCall({ env, key, webhookId, clock, url: serving.url });
}
/** Sends so many pieces at the pace at which they are taken. */
async function send(
  res: ServerResponse,
  count: number,
  piece: (at: number) => Buffer | string,
): Promise<void> {
  for (let at = 0; at < count; at += 1) if (!res.write(piece(at))) await once(res, 'drain');
  res.end();
}
const memory = (field: 'VmRSS' | 'VmHWM'): number => {
  const status = readFileSync(`/proc/${serving.child.pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
};
/** Forgets the highest mark that the process has reached. */
const resetMark = (): void => writeFileSync(`/proc/${serving.child.pid}/clear_refs`, '5');

const PIECE = Buffer.alloc(256 * 1024, 1);
async function passes(mib: number): Promise<void> {
  answer = (_req, res) => void send(res, (mib * MIB) / PIECE.byteLength, () => PIECE);
  let taken = 0;
  for await (const { byteLength } of called()) taken += byteLength;
  expect(taken).toBe(mib * MIB);
}

test('a response of 300 MiB takes at most 30 MiB more than one of 100 MiB', async () => {
  await passes(100);
  resetMark();
  const before = memory('VmRSS');
  await passes(300);
  expect(memory('VmHWM') - before).toBeLessThan(MAX_GROWTH_BYTES);
});

test('a stream of 100,000 events is forwarded complete and in order in less than 30 MiB', async () => {
  const event = (id: number): string => `id: ${id}\ndata: ${'x'.repeat(100)}\n\n`;
  answer = (_req, res) => void send(res, 100_000, event);
  resetMark();
  const before = memory('VmRSS');
  let [text, next] = ['', 0];
  for await (const chunk of called()) {
    text += chunk.toString();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      if (text.slice(0, end + 2) !== event(next)) throw new Error(`event ${next} is not the next one`);
      text = text.slice(end + 2);
      next += 1;
    }
  }
  expect([next, text]).toEqual([100_000, '']);
  expect(memory('VmHWM') - before).toBeLessThan(MAX_GROWTH_BYTES);
});
