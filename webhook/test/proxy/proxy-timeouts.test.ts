/** The timeouts for an upstream (PROTOCOL.md section 2), shortened for tests. */
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Egress, createEgress } from '@svault/shared/egress';
import { createForward, headTimeLeft } from '../../src/proxy/forward.ts';
import { type Upstream, startRawUpstream } from '../support/upstream.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n';
const HINT = 'HTTP/1.1 103 Early Hints\r\n\r\n';

let upstream: Upstream;
let egress: Egress;
/** What is written of an answer, and then nothing more. */
let written: string;
beforeAll(async () => {
  upstream = await startRawUpstream((socket) => void socket.write(written));
  egress = createEgress({ allow: ['127.0.0.1/32'] });
});
afterAll(async () => {
  await egress.close();
  await upstream.close();
});

async function forwarded(timeouts: { headMs: number; idleMs: number }): Promise<PassThrough | undefined> {
  let taker: PassThrough | undefined;
  const forward = createForward({ egress, timeouts });
  const call = { method: 'GET', url: upstream.url, headers: {}, partition: 'p' } as const;
  await forward(
    { ...call, waitedMs: 0, signal: new AbortController().signal },
    (fields) => [...fields],
    () => (taker = new PassThrough()),
  );
  return taker;
}

test.each([
  ['writes nothing', ''],
  ['does not get beyond its head', HEAD.slice(0, -2)],
  ['gets no further than interim answers', HINT],
])('an upstream that %s times out', async (_what, bytes) => {
  written = bytes;
  await expect(forwarded({ headMs: 40, idleMs: 60_000 })).rejects.toMatchObject({
    code: 'UPSTREAM_TIMEOUT',
    reason: 'timeout',
  });
});

test.each([
  [28_000, 0, 28_000],
  [28_000, 8_000, 20_000],
  [28_000, 27_500, 1_000],
  [28_000, 60_000, 1_000],
  [40, 60_000, 40],
])('of %i ms, after a wait of %i, %i remain for the head of a response', (headMs, waitedMs, left) => {
  expect(headTimeLeft({ headMs }, waitedMs)).toBe(left);
});

test('a response that stalls is broken off, so that a part is not taken for the whole', async () => {
  written = `${HEAD}a`;
  const taker = await forwarded({ headMs: 60_000, idleMs: 40 });
  expect(taker?.destroyed).toBe(true);
  await expect(finished(taker!)).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
});
