import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ManagementService, makePlace, serveOn } from './support/management-service.ts';
import { type PlainUpstream, startPlainUpstream } from './proxy-clients/plain-upstream.ts';
import { PROXY, proxyOn, sessionSettings } from './support/proxy-steps.ts';
import { stepsOn } from './support/service-steps.ts';

let service: ManagementService;
/** What a service that is told to stop waits for before it takes no more requests. */
let drained: PromiseWithResolvers<void>;
let drainMs: number | undefined;
let upstream: PlainUpstream;
beforeEach(async () => {
  drained = Promise.withResolvers();
  upstream = await startPlainUpstream((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  });
  const place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.1/32', SV_DRAIN_SECONDS: '3' });
  service = await serveOn(place, undefined, {
    drain: (ms) => {
      drainMs = ms;
      return drained.promise;
    },
  });
});
afterEach(async () => {
  drained.resolve();
  await service.stop();
  await upstream.close();
});

it('is not ready once it is to stop, and does all its work until its time is over', async () => {
  const { running, anyone, admin } = service;
  const agent = await stepsOn(running.url, admin).agent();
  expect((await anyone('GET', '/readyz')).status).toBe(200);
  const stopped = running.close();
  const { status, json, headers } = await anyone('GET', '/readyz');
  expect([status, json.code, headers.get('connection')]).toEqual([503, 'UNAVAILABLE', 'close']);
  const made = await admin('POST', '/api/agents', { body: { name: 'late' } });
  const asked = await agent.get('github');
  const healthy = await anyone('GET', '/healthz');
  expect([made, asked, healthy].map((answer) => [answer.status, answer.headers.get('connection')])).toEqual([
    [201, 'close'],
    [404, 'close'],
    [200, 'close'],
  ]);
  expect(drainMs).toBe(3_000);
  drained.resolve();
  await stopped;
  await expect(anyone('GET', '/healthz')).rejects.toThrow();
  const written = await service.place.state.rows<{ outcome: string }>(
    `SELECT outcome FROM audit_events WHERE event_type = 'AGENT_CREDENTIAL_ACCESS'`,
  );
  expect(written).toEqual([{ outcome: 'denied' }]);
});

it('ends a stream that an agent listens on in order, and lets its upstream go', async () => {
  const { id } = await stepsOn(service.running.url, service.admin).agent();
  await service.admin('PATCH', `/api/agents/${id}`, { body: { mcpEnabled: true } });
  const { key } = await proxyOn(service, sessionSettings(id, upstream.url));
  const sent = request(service.running.url + PROXY, { headers: { authorization: `Bearer ${key}` } }).end();
  const [stream] = (await once(sent, 'response')) as [IncomingMessage];
  expect((await once(stream.setEncoding('utf8'), 'data'))[0]).toBe('data: 1\n\n');
  const rest = stream.toArray();
  drained.resolve();
  await service.running.close();
  expect([await rest, stream.complete]).toEqual([[], true]);
});
