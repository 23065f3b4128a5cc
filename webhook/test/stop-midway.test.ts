/** R31 where somebody else has to answer: a stop while a provider, a minter or the service is in the middle of it. */
import { generateKeyPairSync } from 'node:crypto';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFixture, keyOf } from './support/webhook-fixture.ts';
import { startProvider } from './support/fake-provider.ts';
import { CLIENT, type RefreshBench, refreshBench } from './support/refresh-bench.ts';

let bench: RefreshBench;
beforeEach(async () => {
  bench = await refreshBench();
});
afterEach(() => bench.close());

/** Until it takes no connection any more. */
async function untilItListensNoMore(url: string): Promise<void> {
  const isGone = (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      async (answer) => (await answer.arrayBuffer(), false),
      () => true,
    );
  await expect.poll(isGone, { interval: 10 }).toBe(true);
}

describe('a stop during a provider call', () => {
  /** Has a provider answer only once the webhook takes no requests any more, and starts it again. */
  async function stopWhile<T>(begin: () => Promise<T>): Promise<T> {
    const { provider, webhook } = bench;
    const before = provider.calls.length;
    const gate = provider.hold();
    const asking = begin();
    await provider.arrived(before + 1);
    const { url } = webhook;
    const restarted = webhook.restart();
    await untilItListensNoMore(url);
    gate.release();
    const answer = await asking;
    await restarted;
    return answer;
  }
  const expectStored = async (name: string): Promise<void> => {
    const { provider } = bench;
    const before = provider.calls.length;
    expect(provider.gave(await bench.fetch(name))).toBe(true);
    expect(provider.calls).toHaveLength(before);
  };

  it('waits for a refresh of a fetched token, delivers it and has stored it', async () => {
    await bench.store('fetched');
    expect(bench.provider.gave(await stopWhile(() => bench.fetch('fetched')))).toBe(true);
    await expectStored('fetched');
  });

  it('waits for one that the control plane requested', async () => {
    await bench.store('notified');
    const { json } = await stopWhile(() => bench.notify('notified'));
    expect(json.outcome).toBe('refreshed');
    await expectStored('notified');
  });

  it('waits for one without a caller', async () => {
    await bench.store('accepted');
    const { provider, webhook } = bench;
    const gate = provider.hold();
    expect((await bench.notify('accepted', { reason: 'expiring' })).status).toBe(202);
    const { url } = webhook;
    const restarted = webhook.restart();
    await untilItListensNoMore(url);
    gate.release();
    await restarted;
    await expectStored('accepted');
  });

  it('waits for one under a lease', async () => {
    await bench.store('leased', { provider: { mediated: true, clientSecret: undefined } });
    const { leaseId } = (await bench.refresh({ phase: 'get', serviceName: 'leased' })).json;
    const { json } = await stopWhile(() =>
      bench.refresh({ phase: 'update', leaseId, clientSecret: CLIENT.secret }),
    );
    expect(json.outcome).toBe('refreshed');
    await expectStored('leased');
  });

  it('answers requests that wait for a lease, and starts no call for them', async () => {
    await bench.store('waited for');
    await bench.refresh({ phase: 'get', serviceName: 'waited for' });
    const asking = bench.fetch('waited for');
    // Behind it, so that it is in hand by then.
    await bench.webhook.send('/healthz');
    const { webhook, provider } = bench;
    await webhook.restart();
    expect(await asking).toBe('UNAVAILABLE');
    expect(provider.calls).toEqual([]);
    expect(provider.gave(await bench.fetch('waited for'))).toBe(true);
  });
});

it('a stop while a credential is minted waits for it, and logs its delivery', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { promise: stops, resolve: release } = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const provider = await startProvider(async () => {
    arrived.resolve();
    await stops;
    return { body: JSON.stringify({ access_token: 'minted', expires_in: 3600, token_type: 'Bearer' }) };
  });
  const { webhook } = bench;
  await webhook.store('cloud', {
    tokenType: 'RawCredential',
    minter: {
      type: 'gcp-service-account',
      clientEmail: 'robot@project.iam.gserviceaccount.com',
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      tokenUri: `${provider.url}/token`,
      scopes: ['email'],
    },
  });
  const asking = bench.fetch('cloud');
  await arrived.promise;
  const { url } = webhook;
  const restarted = webhook.restart();
  await untilItListensNoMore(url);
  release();
  expect(await asking).toBe('minted');
  await restarted;
  const [entry] = await bench.entries('cloud');
  expect([entry.eventType, entry.outcome]).toEqual(['CREDENTIAL_DELIVERED', 'success']);
  await provider.stop();
});

it('a stop during a binding waits for it, and its key is valid afterwards', async () => {
  const fixture = await startFixture();
  const { code } = await fixture.connect();
  const body = {
    code,
    service: { baseUrl: fixture.env['SV_WEBHOOK_SERVICE_URL'], vaultId: 'vlt_AAECAwQFBgcICQoLDA0ODw' },
  };
  const headers = fixture.sign({
    path: '/v1/exchange',
    body,
    key: { id: 'bind', secret: Buffer.from(code) },
  });
  const text = JSON.stringify(body);
  const { url } = fixture.webhook;
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  const head = Object.entries({ host: 'a', ...headers, 'content-length': text.length }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`POST /v1/exchange HTTP/1.1\r\n${head.join('')}\r\n${text.slice(0, 9)}`);
  await fixture.send({ path: '/healthz' });
  const restarted = fixture.restart();
  await untilItListensNoMore(url);
  socket.write(text.slice(9));
  const answer = (await socket.toArray()).join('');
  expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*Connection: close/);
  await restarted;
  const key = keyOf(JSON.parse(answer.slice(answer.indexOf('{'))));
  expect((await fixture.sendSigned({ key })).status).toBe(200);
  await fixture.stop();
});
