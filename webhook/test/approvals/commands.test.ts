/** The subcommands for approvers and approvals, and what a restore and a rotation do to them. */
import { join } from 'node:path';
import { ManualClock, randomToken } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  APPROVAL,
  CREDENTIAL,
  approved,
  ask,
  codeOf,
  decide,
  enrol,
  passkeyFor,
  post,
  statusOf,
} from '../support/approvals.ts';
import { type BoundWebhook, webhookOfTest } from '../support/bound-webhook.ts';
import { command } from '../support/run-webhook.ts';

const SECRET = { tokenType: 'PlainText', value: 'tkn_approvals_0123456789', approval: APPROVAL };

let webhook: BoundWebhook;
beforeEach(async () => {
  webhook = await webhookOfTest({ clock: new ManualClock(Date.now()) });
  await webhook.store('api', SECRET);
});
const run = (...args: string[]) => command({ env: webhook.env }, ...args);
const isDelivered = async (): Promise<boolean> => (await webhook.credential('api')).status === 200;

test('approver-link prints a link that registers one passkey under a name, which approvers lists', async () => {
  const { stdout } = await run('approver-link', 'Ana Belén');
  const [link = ''] = stdout.split('\n');
  expect(link).toMatch(/^https:\/\/webhook\.test\/approvers\/new\?code=[\w-]{43}$/);
  const page = await webhook.send(link.slice('https://webhook.test'.length));
  expect(page.text).toContain('value="Ana Belén"');
  const [code, passkey] = [codeOf(link), passkeyFor(webhook)];
  const { json } = await post(webhook, '/approvers/new/options', { code, name: 'Ana' });
  const body = { code, name: 'Ana', response: passkey.create(json.publicKey) };
  const { id } = (await post(webhook, '/approvers/new/decision', body)).json;
  expect((await run('approvers')).stdout).toMatch(new RegExp(`^${id}  since \\S+  Ana\n$`));
  expect(await run('approver-link', 'a\u202eb')).toMatchObject({ code: 1 });
});

test('approver-link says why there are no passkeys at an address without a name or without https', async () => {
  for (const [url, why] of [
    ['https://127.0.0.1:8443', /host name/],
    ['http://hook.test', /https/],
  ] as const) {
    const env = { ...webhook.env, SV_WEBHOOK_URL: url };
    const { code, stderr } = await command({ env }, 'approver-link');
    expect([code, stderr]).toEqual([1, expect.stringMatching(why)]);
  }
});

test('approver-remove voids what the approver approved, and they decide nothing more', async () => {
  const [ana, bo] = [await enrol(webhook, 'Ana'), await enrol(webhook, 'Bo')];
  const byAna = await approved(webhook, ana, CREDENTIAL);
  const other = { sub: 'agt_BBBBBBBBBBBBBBBBBBBBBB' };
  await approved(webhook, bo, CREDENTIAL, other);
  expect(await run('approver-remove', ana.approver)).toMatchObject({ code: 0 });
  expect(await run('approver-remove', ana.approver)).toMatchObject({ code: 1 });
  expect(await statusOf(webhook, byAna)).toBe('expired');
  expect(await isDelivered()).toBe(false);
  expect((await webhook.credential('api', other)).status).toBe(200);
  const { id } = (await ask(webhook, CREDENTIAL)).json;
  expect(await decide(webhook, id, ana)).toMatchObject({ status: 401 });
});

test('approvals lists what is open, and approvals revoke ends one or all of it', async () => {
  const ana = await enrol(webhook);
  const id = await approved(webhook, ana, CREDENTIAL);
  const waiting = (await ask(webhook, CREDENTIAL, { sub: 'agt_B\u0042' })).json.id;
  const { stdout } = await run('approvals');
  expect(stdout).toMatch(
    new RegExp(`${waiting}  pending until .*\n${id}  approved until .* api  agt_A+  the secret`),
  );
  expect((await run('approvals', 'revoke', id)).stdout).toBe('Ended 1 approval.\n');
  expect(await run('approvals', 'revoke', id)).toMatchObject({ code: 1 });
  expect(await isDelivered()).toBe(false);
  expect((await run('approvals', 'revoke', '--all')).stdout).toBe('Ended 1 approval.\n');
  expect(await decide(webhook, waiting, ana)).toMatchObject({ status: 409 });
  expect((await run('approvals')).stdout).toBe('Nothing waits, and no approval holds.\n');
  const { json } = await webhook.storage({ op: 'audit.list' });
  expect(json.items[0]).toMatchObject({
    eventType: 'APPROVAL_REVOKED',
    detail: { approval: waiting, by: 'command' },
  });
});

test('unseal-bind ends every approval and every link', async () => {
  const ana = await enrol(webhook);
  await approved(webhook, ana, CREDENTIAL);
  const { stdout } = await run('approver-link');
  await run('unseal-bind');
  expect((await run('approvals')).stdout).toBe('Nothing waits, and no approval holds.\n');
  expect(await webhook.send(stdout.split('\n')[0]!.slice('https://webhook.test'.length))).toMatchObject({
    status: 404,
  });
});

test('A restore from a backup voids all approvals and keeps the approvers', async () => {
  const ana = await enrol(webhook);
  await approved(webhook, ana, CREDENTIAL);
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const file = join(dir.path, 'webhook.backup');
  expect(await run('backup', file)).toMatchObject({ code: 0 });
  const env = { ...webhook.env, SV_WEBHOOK_DATA_DIR: join(dir.path, 'restored') };
  expect(await command({ env }, 'restore-backup', file)).toMatchObject({ code: 0 });
  expect((await command({ env }, 'approvals')).stdout).toBe('Nothing waits, and no approval holds.\n');
  expect((await command({ env }, 'approvers')).stdout).toContain(ana.approver);
});

test('A rotation of the root key keeps approvers and approvals', async () => {
  const ana = await enrol(webhook);
  await approved(webhook, ana, CREDENTIAL);
  const key = randomToken(32);
  const env = { ...webhook.env, SV_WEBHOOK_MASTER_KEY_NEXT: key };
  await webhook.stop();
  expect(await command({ env }, 'rotate-master-key')).toMatchObject({ code: 0 });
  await webhook.restart({ SV_WEBHOOK_MASTER_KEY: key });
  expect(await isDelivered()).toBe(true);
  const { id } = (await ask(webhook, CREDENTIAL)).json;
  expect(await decide(webhook, id, ana)).toMatchObject({ status: 200 });
});
