import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { randomToken } from '@svault/shared';
import { readEnvFile } from '../../../src/webhook-project/env-file.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { storeCredential } from '../../../src/admin-client.ts';
import { type Machine, machinesOf, until } from '../engine/machine.ts';
import { type WebhookOwner, startWebhookOwner } from './webhook-owner.ts';

let owner: WebhookOwner;
let project: string;
beforeAll(async () => {
  owner = await startWebhookOwner();
  project = readEnvFile(readFileSync(join(owner.folder, '.env'), 'utf8')).get('COMPOSE_PROJECT_NAME') ?? '';
  try {
    owner.run('svault webhook up');
    owner.run('svault webhook bind --yes');
  } catch (error) {
    await owner.remove();
    throw error;
  }
});
afterAll(() => owner?.remove());

const reached = (): Promise<void> =>
  until('that the webhook is reached', async () => {
    const { reachable } = await owner.admin.call<{ reachable: boolean }>('GET', '/api/webhook');
    return reachable;
  });
beforeEach(reached);

async function webhook(): Promise<Machine> {
  const [machine] = await machinesOf(project, 'webhook');
  if (machine === undefined) throw new Error('it does not run');
  return machine;
}

let count = 0;

/** Stores a credential and lets a new agent have it. */
async function storedOne() {
  const serviceName = `service-${(count += 1)}`;
  const value = `secret-${randomToken()}`;
  await storeCredential(owner.admin, serviceName, { tokenType: 'PlainText', value });
  const made = await owner.admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
    name: serviceName,
  });
  await owner.admin.call('POST', `/api/agents/${made.agent.id}/grants`, {
    serviceName,
    expiresInSeconds: 3600,
  });
  const ask = (redirect: 'manual' | 'follow'): Promise<Response> =>
    fetch(`${owner.serviceUrl}/api/agents/credentials?service=${serviceName}`, {
      headers: { authorization: `Bearer ${made.apiKey}` },
      redirect,
    });
  const fetched = async (): Promise<unknown> => {
    const answer = (await (await ask('follow')).json()) as { token?: { accessToken: string } };
    return answer.token?.accessToken ?? answer;
  };
  return { value, ask, fetched };
}

/** The lines of the project's README.md that hold a word, as somebody copies them. */
function linesOfReadme(word: string): string {
  const text = readFileSync(join(owner.folder, 'README.md'), 'utf8');
  const lines = [...text.matchAll(/```sh\n([^]*?)```|`(docker compose [^`]+)`/g)].map(
    ([, block, inline]) => block ?? inline ?? '',
  );
  const found = lines.find((each) => each.includes(word));
  if (found === undefined) throw new Error(`README.md has no line with ${word}`);
  return found;
}

test('up starts it healthy and bind binds it; then it stores and delivers', async () => {
  expect((await (await webhook()).inspect()).State.Health?.Status).toBe('healthy');
  expect(await owner.admin.call('GET', '/api/webhook')).toMatchObject({ url: owner.webhookUrl });
  expect(owner.run('svault webhook status')).toContain(owner.webhookUrl);
  const { value, fetched } = await storedOne();
  expect(await fetched()).toBe(value);
});

test('runs as the owner of its secrets, on a read-only file system, published on this machine only', async () => {
  const machine = await webhook();
  const { Config, HostConfig, NetworkSettings } = await machine.inspect();
  expect(Config.User).toBe(`${owner.uid}:${owner.uid}`);
  expect(HostConfig.ReadonlyRootfs).toBe(true);
  expect(
    Object.values(NetworkSettings.Ports)
      .flat()
      .map(({ HostIp }) => HostIp),
  ).toEqual(['127.0.0.1']);
  for (const path of ['secrets/master.key', 'secrets/setup.token']) {
    const { uid, mode } = statSync(join(owner.folder, path));
    expect({ uid, mode: mode & 0o777 }).toEqual({ uid: owner.uid, mode: 0o600 });
    const secret = readFileSync(join(owner.folder, path), 'utf8').trim();
    const told =
      JSON.stringify(await machine.inspect()) + (await machine.logs()) + (await machine.run('env')).output;
    expect(told).not.toContain(secret);
  }
});

test('down is the kill switch, and up continues with the same data', async () => {
  const { value, ask, fetched } = await storedOne();
  const earlier = (await ask('manual')).headers.get('location') ?? '';
  owner.run(linesOfReadme('webhook down'));
  await expect(fetch(earlier)).rejects.toThrow('fetch failed');
  const { reachable } = await owner.admin.call<{ reachable: boolean }>('GET', '/api/webhook');
  expect(reachable).toBe(false);
  const asked = await ask('manual');
  expect(asked.status).toBe(503);
  expect(await asked.json()).toMatchObject({ code: 'WEBHOOK_UNAVAILABLE' });
  owner.run('svault webhook up');
  await reached();
  expect(await fetched()).toBe(value);
});

test('a backup restores what was stored into an empty volume, without a new binding', async () => {
  const { value, fetched } = await storedOne();
  owner.run(linesOfReadme(' backup /backups/'));
  const [file = ''] = readdirSync(join(owner.folder, 'backups'));
  const { uid, mode } = statSync(join(owner.folder, 'backups', file));
  expect({ uid, mode: mode & 0o777 }).toEqual({ uid: owner.uid, mode: 0o600 });

  const late = await storedOne();
  owner.run('docker compose down --volumes');
  owner.run(linesOfReadme('restore-backup').replace('FILE', file));
  owner.run('svault webhook up');
  await reached();
  expect(await fetched()).toBe(value);
  expect(await late.fetched()).not.toBe(late.value);
  const { exitCode, output } = await (
    await webhook()
  ).run('node', '/svault/webhook/dist/main.js', 'audit', 'verify');
  expect(exitCode, output).toBe(0);
});
