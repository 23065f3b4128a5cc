import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { randomToken } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { generate } from 'selfsigned';
import { GenericContainer, Wait } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RAISED_LIMITS } from '../../src/raised-limits.ts';
import { machine } from './engine.ts';
import { LOAD_WEBHOOK_ENV, type World, makeWorld } from './load-world.ts';
import { allWorksAgain, lookAtWebhook } from './recovery.ts';
import { CONTROL_PLANES, type ControlPlaneName, type Scale, startScale } from './scale.ts';

let scale: Scale;
let world: World;
beforeAll(async () => {
  scale = await startScale({
    env: { ...RAISED_LIMITS, SV_LIMIT_TOKEN_REFRESH: '1000000' },
    webhookEnv: LOAD_WEBHOOK_ENV,
  });
  world = await makeWorld(scale, { readers: 1, proxies: 1 });
});
afterAll(async () => {
  await world?.remove();
  await scale?.remove();
});

interface Told {
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | null;
}

async function told(url: string, init: RequestInit): Promise<Told> {
  const answer = await fetch(url, { redirect: 'manual', ...init });
  const text = await answer.text();
  const code = text.startsWith('{') ? (JSON.parse(text) as { code?: string }).code : undefined;
  return { status: answer.status, code, retryAfter: answer.headers.get('retry-after') };
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** What one control plane says to a call through a proxy, to a refresh and then to an agent. */
async function askAll(name: ControlPlaneName, callId: string) {
  const url = await scale.direct(name);
  const call = await told(`${url}/api/proxy/mcp`, {
    method: 'POST',
    headers: { 'x-mcp-key': world.probe.key, ...JSON_TYPE },
    body: JSON.stringify({ jsonrpc: '2.0', id: callId, method: 'tools/call', params: {} }),
  });
  const refresh = await told(`${url}/api/tokens/${world.serviceName}/refresh`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scale.adminKey}`, ...JSON_TYPE },
  });
  const read = await told(`${url}/api/agents/credentials?service=${world.serviceName}`, {
    headers: { 'x-agent-key': world.readers[0]?.apiKey ?? '' },
  });
  return { call, refresh, read };
}

const calls = async (callId: string): Promise<number> => (await world.seen()).calls[callId] ?? 0;

/** At every control plane, each with a call of its own; then the fault ends, and all works again. */
async function expectAway(mend: () => Promise<unknown>, refused: { readonly call: readonly string[] }) {
  const ids = CONTROL_PLANES.map(() => randomToken());
  try {
    const answers = await Promise.all(CONTROL_PLANES.map((name, n) => askAll(name, ids[n] ?? '')));
    for (const { call, refresh, read } of answers) {
      expect(refused.call).toContain(`${call.status} ${call.code}`);
      expect(refresh).toMatchObject({ status: 503, code: 'WEBHOOK_UNAVAILABLE' });
      expect(read).toMatchObject({ status: 503, code: 'WEBHOOK_UNAVAILABLE' });
      expect(Number(read.retryAfter)).toBeGreaterThan(0);
    }
  } finally {
    await mend();
  }
  await lookAtWebhook(world);
  await allWorksAgain(world);
  expect(await Promise.all(ids.map(calls))).toEqual(ids.map(() => 0));
}

const UNAVAILABLE = ['502 WEBHOOK_UNAVAILABLE'];

test('a webhook that is stopped: refused as documented, a ticket is worth nothing, and all is back when it is', async () => {
  const url = `${scale.url}/api/agents/credentials?service=${world.serviceName}`;
  const headers = { 'x-agent-key': world.readers[0]?.apiKey ?? '' };
  const ticket = (await scale.send(url, { headers, redirect: 'manual' })).headers.get('location') ?? '';
  await scale.owner.webhook.stop();
  await expectAway(
    async () => {
      const answer = await scale.send(ticket);
      expect(answer.status).toBe(502);
      expect(await answer.text()).not.toContain(world.value);
      await scale.owner.webhook.start();
    },
    { call: UNAVAILABLE },
  );
});

test('a webhook whose address nobody answers at', async () => {
  await scale.owner.proxy.stop();
  await expectAway(() => scale.owner.proxy.start(), { call: UNAVAILABLE });
});

describe('something else at the address of the webhook', () => {
  /** @param certificates a folder with cert.pem and key.pem */
  async function impostor(certificates: string) {
    const container = await new GenericContainer('node:24-bookworm-slim')
      .withBindMounts([
        {
          source: fileURLToPath(new URL('./load-impostor.ts', import.meta.url)),
          target: '/impostor.ts',
          mode: 'ro',
        },
        { source: certificates, target: '/certs', mode: 'ro' },
      ])
      .withEnvironment({ CERT: '/certs/cert.pem', KEY: '/certs/key.pem' })
      .withCommand(['node', '/impostor.ts'])
      .withExposedPorts(8080)
      .withWaitStrategy(Wait.forListeningPorts())
      .start();
    await scale.owner.proxy.leave(scale.internet);
    const other = await machine(container.getId());
    await other.join(scale.internet, ['webhook.test']);
    return {
      asked: async () => {
        // Its port of this machine may be another one since it has joined a network.
        const answer = await fetch(`http://127.0.0.1:${await other.port(8080)}/`);
        return (await answer.json()) as Record<string, number>;
      },
      goAway: async () => {
        await container.stop({ timeout: 0 });
        await scale.owner.proxy.join(scale.internet, ['webhook.test']);
      },
    };
  }

  test('a wrong certificate: nothing is sent to it', async () => {
    const folder = tempDir();
    const { cert, private: key } = await generate([{ name: 'commonName', value: 'webhook.test' }], {
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'webhook.test' }] }],
    });
    mkdirSync(folder.path, { recursive: true });
    writeFileSync(join(folder.path, 'cert.pem'), cert);
    writeFileSync(join(folder.path, 'key.pem'), key);
    const other = await impostor(folder.path);
    await expectAway(
      async () => {
        expect(await other.asked()).toEqual({});
        await other.goAway();
      },
      { call: UNAVAILABLE },
    );
    folder.remove();
  });

  test('garbage: no call and no refresh is sent a second time', async () => {
    const other = await impostor(scale.certificates);
    await expectAway(
      async () => {
        const { 'POST /v1/proxy': proxied = 0, 'POST /v1/refresh': refreshed = 0 } = await other.asked();
        expect(proxied).toBe(CONTROL_PLANES.length);
        expect(refreshed).toBeLessThanOrEqual(CONTROL_PLANES.length);
        await other.goAway();
      },
      { call: UNAVAILABLE },
    );
  });
});

test('a webhook that hangs: refused as documented within the time that it may take, and nothing is called later', async () => {
  await scale.owner.webhook.pause();
  await expectAway(() => scale.owner.webhook.unpause(), { call: [...UNAVAILABLE, '504 UPSTREAM_TIMEOUT'] });
});
