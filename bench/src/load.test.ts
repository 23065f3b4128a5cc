import { once } from 'node:events';
import { type RequestListener, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { runLoad } from './load.ts';
import { inTurn, requestBytes } from './requests.ts';

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => server.close().closeAllConnections());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('at a fixed rate every request that was due is answered and counted, though the server answers one at a time', async () => {
  let answered = 0;
  const url = await serve((_req, res) => {
    answered += 1;
    setTimeout(() => res.end(), 20);
  });
  const source = inTurn([requestBytes(url, '/')]);
  const load = { url, expectedStatus: 200, source, connections: 1, seconds: 0.1, requestsPerSecond: 200 };
  const result = await runLoad(load);
  expect([result.answered, answered]).toEqual([20, 20]);
  // The last was due before the first was answered, and waited for all of them.
  expect(result.p99Ms).toBeGreaterThan(result.p50Ms);
});

test('a redirect is followed with its query, and both answers are one request', async () => {
  const asked: (string | undefined)[] = [];
  const second = await serve((req, res) => {
    asked.push(req.url);
    res.end('the credential');
  });
  const url = await serve((_req, res) => {
    res
      .writeHead(307, { location: `${second}/v1/credential?ticket=${asked.length}`, 'content-length': 0 })
      .end();
  });
  const source = inTurn([requestBytes(url, '/')]);
  const redirectsTo = { url: second, expectedStatus: 200 };
  const load = { url, expectedStatus: 307, redirectsTo, source, connections: 1, seconds: 0.05 };
  const { answered } = await runLoad(load);
  expect(asked).toEqual(Array.from({ length: answered }, (_, index) => `/v1/credential?ticket=${index}`));
});

test('answers of another status are counted by their code, where that is asked for', async () => {
  let asked = 0;
  const url = await serve((_req, res) => {
    asked += 1;
    if (asked % 2 === 0) res.writeHead(503);
    res.end(JSON.stringify(asked % 2 === 0 ? { code: 'UNAVAILABLE' } : {}));
  });
  const denied = new Map<string, number>();
  const source = inTurn([requestBytes(url, '/')]);
  const load = { url, expectedStatus: 200, denied, source, connections: 1, seconds: 0.05 };
  const { answered } = await runLoad(load);
  expect([...denied]).toEqual([['503 UNAVAILABLE', Math.floor(answered / 2)]]);
});

test('another status than the expected one ends the run with an error', async () => {
  const url = await serve((_req, res) => void res.writeHead(503).end());
  const source = inTurn([requestBytes(url, '/')]);
  const load = { url, expectedStatus: 200, source, connections: 2, seconds: 60 };
  await expect(runLoad(load)).rejects.toThrow(`${url} answered 503 instead of 200`);
});
