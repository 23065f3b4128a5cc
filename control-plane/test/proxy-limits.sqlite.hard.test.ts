import { once } from 'node:events';
import { type ServerResponse, request } from 'node:http';
import { expect, it } from 'vitest';
import { startLinkedService } from './linked-service.ts';
import { startService } from './management-service.ts';
import { PROXY, proxyOn } from './proxy-steps.ts';

// What takes longer: the limits as they are, and the end of a service in the middle of a stream.

it('300 calls and 120 handshakes a minute', async () => {
  const service = await startService();
  const [one, other] = [await proxyOn(service), await proxyOn(service)];
  const letThrough = async (ask: () => Promise<{ status: number }>): Promise<number> => {
    const answers = await Promise.all(Array.from({ length: 310 }, ask));
    // There is no webhook to forward to.
    return answers.filter(({ status }) => status === 502).length;
  };
  expect(await letThrough(() => one.send('tools/call'))).toBe(300);
  service.clock.advance(60_000);
  expect(await letThrough(() => other.send('initialize'))).toBe(120);
  await service.stop();
});

it('a service that stops ends its streams, both hops of them', async () => {
  const service = await startLinkedService();
  await service.bind();
  const proxy = await proxyOn(service);
  const upstream = new Promise<ServerResponse>((resolve) => {
    service.webhook.onProxy = (_call, res) => {
      res.writeHead(200, { 'sv-proxy-origin': 'upstream' }).flushHeaders();
      resolve(res);
    };
  });
  const sent = request(service.running.url + PROXY, {
    headers: { 'x-mcp-key': proxy.key },
    agent: false,
  }).end();
  sent.on('error', () => undefined);
  const [received] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
  received.on('error', () => undefined);
  const from = await upstream;
  const ended = Promise.all([
    new Promise((resolve) => received.once('close', resolve)),
    new Promise((resolve) => from.once('close', resolve)),
  ]);
  await service.running.close();
  await ended;
  await service.webhook.shut();
  await service.place.remove();
});
