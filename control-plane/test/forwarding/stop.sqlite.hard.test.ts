import { once } from 'node:events';
import { type ServerResponse, request } from 'node:http';
import { it } from 'vitest';
import { startLinkedService } from '../support/linked-service.ts';
import { PROXY, proxyOn } from '../support/proxy-steps.ts';

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
