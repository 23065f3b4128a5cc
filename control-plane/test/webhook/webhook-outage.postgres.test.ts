import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FaultyWebhook, startFaultyWebhook } from '../support/faulty-webhook.ts';
import { type Place, clientOf, makePlace, serveOn } from '../support/management-service.ts';
import { type TestAgent, stepsOn } from '../support/service-steps.ts';

/* Three processes on one PostgreSQL share which webhooks are offline, and divide their probes. */

type Service = Awaited<ReturnType<typeof serveOn>>;

let place: Place;
let jobs: ReturnType<typeof jobsByHand>[];
let services: Service[];
let webhook: FaultyWebhook;
let agent: TestAgent;

beforeEach(async () => {
  place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.0/8' });
  jobs = Array.from({ length: 3 }, jobsByHand);
  services = [];
  for (const { startJob } of jobs) services.push(await serveOn(place, services[0]?.clock, { startJob }));
  const [first] = services as [Service, ...Service[]];
  webhook = await startFaultyWebhook(first.clock);
  await first.admin('POST', '/api/webhook/bind', { body: webhook.offer() });
  agent = await stepsOn(first.running.url, first.admin).agent('github');
});
afterEach(async () => {
  await webhook.shut();
  for (const { running } of services) await running.close();
  await place.remove();
});

const statusAt = async ({ running }: Service): Promise<number> => {
  const ask = clientOf(running.url, { authorization: `Bearer ${agent.apiKey}` });
  return (await ask('GET', '/api/agents/credentials?service=github')).status;
};
const statuses = (): Promise<number[]> => Promise.all(services.map(statusAt));
const look = ({ admin }: Service) => admin('GET', '/api/webhook');
const at = (n: number): Service => services[n] as Service;

describe('an outage that one of three processes finds', () => {
  /** Runs the prober's tick of all processes, or of some. */
  const exchange = async (...which: number[]): Promise<void> => {
    for (const n of which) await jobs[n]?.run('webhook probes');
  };

  it('reaches the others with the next poll, and so does its end', async () => {
    await exchange(0, 1, 2);
    webhook.fault = () => 'break';
    await look(at(0));
    expect(await statuses()).toEqual([503, 307, 307]);
    await exchange(0, 1, 2);
    expect(await statuses()).toEqual([503, 503, 503]);
    // Probes still fail: the first answered call of any process ends the outage.
    webhook.fault = (path) => (path === '/v1/health' ? 'break' : undefined);
    await jobs[1]?.run('audit shipping').catch(() => undefined);
    await at(1).admin('GET', '/api/tokens');
    webhook.fault = undefined;
    await look(at(1));
    expect((await statuses())[1]).toBe(307);
    await exchange(1, 0, 2);
    expect(await statuses()).toEqual([307, 307, 307]);
  });

  it('is probed by one of them at a time', async () => {
    let probes = 0;
    const release = Promise.withResolvers<undefined>();
    webhook.fault = (path, body) => {
      if (path !== '/v1/health' || body !== '') return 'break';
      probes += 1;
      return release.promise;
    };
    await look(at(2));
    await exchange(2, 1, 0);
    await expect.poll(() => probes).toBe(1);
    // While it is in flight no process starts another.
    await Promise.all([exchange(0), exchange(1), exchange(2)]);
    expect(probes).toBe(1);
    release.resolve(undefined);
    await expect.poll(async () => (await exchange(0, 1, 2), statuses())).toEqual([307, 307, 307]);
    expect([probes, webhook.probes]).toEqual([1, 1]);
  });
});
