import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { randomToken } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { generate } from 'selfsigned';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { RAISED_LIMITS } from '../../../src/raised-limits.ts';
import { NODE_IMAGE } from '../engine/images.ts';
import { until, untilAnswered } from '../engine/machine.ts';
import { OWN_USER, type Running, runContainer } from '../engine/one-container.ts';
import { LOAD_WEBHOOK_ENV, type World, makeWorld } from './world.ts';
import { allWorksAgain, lookAtWebhook } from './recovery.ts';
import { CONTROL_PLANES, type ControlPlaneName, type Scale, startScale } from '../scale/scale.ts';

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

/** What may be said to a call, a refresh and an agent: each a status and a code. */
interface Refusals {
  readonly call: readonly string[];
  readonly refresh: readonly string[];
  readonly read: readonly string[];
}

const AWAY: Refusals = {
  call: ['502 WEBHOOK_UNAVAILABLE'],
  refresh: ['503 WEBHOOK_UNAVAILABLE'],
  read: ['503 WEBHOOK_UNAVAILABLE'],
};

/**
 * At every control plane, each with a call of its own; then the fault ends, and all works again.
 *
 * @returns how often each call has reached the upstream
 */
async function expectAway(mend: () => Promise<unknown>, refusals: Refusals): Promise<readonly number[]> {
  const ids = CONTROL_PLANES.map(() => randomToken());
  const asking = CONTROL_PLANES.map((name, n) => askAll(name, ids[n] ?? ''));
  const answers = await Promise.allSettled(asking);
  await mend();
  for (const answer of answers) {
    if (answer.status === 'rejected') throw answer.reason;
    const { call, refresh, read } = answer.value;
    expect(refusals.call).toContain(said(call));
    expect(refusals.refresh).toContain(said(refresh));
    expect(refusals.read).toContain(said(read));
    if (read.status === 503) expect(Number(read.retryAfter)).toBeGreaterThan(0);
  }
  await lookAtWebhook(world);
  await allWorksAgain(world);
  return Promise.all(ids.map(calls));
}

const said = ({ status, code }: Told): string => (code === undefined ? `${status}` : `${status} ${code}`);

/** No call reached the upstream. */
const NONE = CONTROL_PLANES.map(() => 0);

test('with a stopped webhook requests are denied as documented and tickets are useless, until it is back', async () => {
  const url = `${scale.url}/api/agents/credentials?service=${world.serviceName}`;
  const headers = { 'x-agent-key': world.readers[0]?.apiKey ?? '' };
  const ticket = (await scale.send(url, { headers, redirect: 'manual' })).headers.get('location') ?? '';
  await scale.elsewhere.webhook.stop();
  const reached = await expectAway(async () => {
    const answer = await scale.send(ticket);
    expect(answer.status).toBe(502);
    expect(await answer.text()).not.toContain(world.value);
    await scale.elsewhere.webhook.start();
  }, AWAY);
  expect(reached).toEqual(NONE);
});

test('with a webhook whose address does not answer requests are denied as documented', async () => {
  await scale.elsewhere.proxy.stop();
  const reached = await expectAway(() => scale.elsewhere.proxy.start(), AWAY);
  expect(reached).toEqual(NONE);
});

const IMPOSTOR = fileURLToPath(new URL('./impostor.ts', import.meta.url));
const impostors: Running[] = [];
afterEach(async () => {
  for (const one of impostors.splice(0)) await one.remove();
});

/** Something else that answers everything with garbage. @param certificates a folder with cert.pem and key.pem */
async function startImpostor(
  certificates: string,
  network: { readonly name: string; readonly alias: string },
): Promise<Running> {
  const impostor = await runContainer({
    image: NODE_IMAGE,
    network,
    user: OWN_USER,
    binds: [`${IMPOSTOR}:/impostor.ts:ro`, `${certificates}:/certs:ro`],
    env: { CERT: '/certs/cert.pem', KEY: '/certs/key.pem' },
    command: ['node', '/impostor.ts'],
    ports: { 8080: 0 },
  });
  impostors.push(impostor);
  await untilAnswered('the impostor', () => askedOf(impostor));
  return impostor;
}

/** What it was asked, by method and path. */
const askedOf = async (impostor: Running): Promise<Record<string, number>> =>
  (await (await fetch(`http://127.0.0.1:${await impostor.port(8080)}/`)).json()) as Record<string, number>;

test('a server with a wrong certificate at the webhook’s address gets no request', async () => {
  const folder = tempDir();
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'webhook.test' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'webhook.test' }] }],
  });
  writeFileSync(join(folder.path, 'cert.pem'), cert);
  writeFileSync(join(folder.path, 'key.pem'), key);
  await scale.elsewhere.proxy.leave(scale.internet);
  let asked: Record<string, number> | undefined;
  try {
    const impostor = await startImpostor(folder.path, { name: scale.internet, alias: 'webhook.test' });
    const reached = await expectAway(async () => {
      asked = await askedOf(impostor);
      await impostor.stop(0);
      await scale.elsewhere.proxy.join(scale.internet, ['webhook.test']);
    }, AWAY);
    expect(reached).toEqual(NONE);
  } finally {
    folder.remove();
  }
  expect(asked).toEqual({});
});

test('with garbage instead of responses no call and no refresh is sent a second time', async () => {
  await scale.elsewhere.webhook.stop();
  const place = { name: scale.elsewhere.network, alias: 'webhook' };
  const impostor = await startImpostor(scale.certificates, place);
  for (const name of CONTROL_PLANES) await expectSentOnce(impostor, name);
  const reached = await expectAway(
    async () => {
      await impostor.stop(0);
      await scale.elsewhere.webhook.start();
    },
    // It answers, so that it does not count as away; what it answers is nothing that a webhook would say.
    {
      call: AWAY.call,
      refresh: ['502 WEBHOOK_REFUSED', ...AWAY.refresh],
      read: ['307', ...AWAY.read],
    },
  );
  expect(reached).toEqual(NONE);
});

/** Asks through one control plane until its call was sent: it sends none before it has heard that the webhook is back. */
async function expectSentOnce(impostor: Running, name: ControlPlaneName): Promise<void> {
  await until(`a call through ${name} to be sent`, async () => {
    const before = await askedOf(impostor);
    await askAll(name, randomToken());
    const after = await askedOf(impostor);
    const sent = (what: string): number => (after[what] ?? 0) - (before[what] ?? 0);
    expect(sent('POST /v1/proxy')).toBeLessThanOrEqual(1);
    expect(sent('POST /v1/refresh')).toBeLessThanOrEqual(1);
    return sent('POST /v1/proxy') === 1;
  });
}

test('with a webhook that hangs requests are denied as documented within the timeout, and nothing is called twice', async () => {
  await scale.elsewhere.webhook.pause();
  const reached = await expectAway(() => scale.elsewhere.webhook.unpause(), AWAY);
  // What had come to it before it hung is in its hands: who was refused knows no more than that nobody answered.
  expect(Math.max(...reached)).toBeLessThanOrEqual(1);
});
