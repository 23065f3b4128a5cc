import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { describe, expect, test, afterAll, beforeAll, onTestFinished } from 'vitest';
import type { CommandLine } from './command-line.ts';
import { fakeCompose } from './fake-compose.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
let admin: CommandLine;
const arrive = async (): Promise<void> => {
  people = await pairAndPeople({ bound: false });
  ({ admin } = people);
};
/** For a test that binds. */
const arriveAlone = async (): Promise<void> => {
  await arrive();
  const { close } = people;
  onTestFinished(close);
};
const matching = (text: RegExp): string => expect.stringMatching(text) as string;

/** The pair's public address; the people of a test call another one. */
const PUBLIC = 'http://127.0.0.1:1';

/** A link for the address that the admin calls. */
async function freshLink(): Promise<string> {
  const { pair } = people;
  const link = await registrationLinkByPage(pair.bypassingRecorder(pair.webhookUrl), pair.setupToken);
  return link.replace(PUBLIC, pair.controlPlaneUrl());
}
const parametersOf = (link: string): URLSearchParams => new URL(link).searchParams;
const fingerprintIn = (link: string): string =>
  parametersOf(link).get('hmac_hash')!.slice(0, 16).match(/.{4}/g)!.join(' ');

test('bind shows service, address and fingerprint, and binds; status shows the one that is bound', async () => {
  await arriveAlone();
  const { webhookUrl, controlPlaneUrl } = people.pair;
  const link = await freshLink();
  const { code, out, err } = await admin.svault(['webhook', 'bind', link, '--yes']);
  expect({ code, out }).toEqual({ code: 0, out: '' });
  expect(err).toContain(`Service      ${controlPlaneUrl()}\n`);
  expect(err).toContain(`Webhook      ${webhookUrl}\n`);
  expect(err).toContain(`Fingerprint  ${fingerprintIn(link)}\n`);
  expect(err).toMatch(/\nbound: the credentials of your vault are held by http.*\n$/);
  expect(err).not.toContain('Bind it only if');
  expect(err).not.toContain(parametersOf(link).get('code'));

  const shown = await admin.svault(['webhook', 'status']);
  expect(shown).toEqual({ code: 0, err: '', out: matching(/^answers +yes\nwebhook +http/) });
  for (const line of [/^answers +yes$/m, /^latency +\d+ ms$/m, /^bound +2026-/m, /^can +storage, /m])
    expect(shown.out).toMatch(line);
  expect((await admin.svault(['webhook', 'status', '--format', 'wide'])).out).toBe(shown.out);
  expect((await admin.svault(['wh', 'status', '--format', 'name'])).out).toBe(`${webhookUrl}\n`);
  const again = await admin.svault([
    'webhook',
    'bind',
    `${controlPlaneUrl()}/vault/webhook-bind?code=x`,
    '--yes',
  ]);
  const bound =
    /^error: a webhook is bound already: http:\/\/127.*unbind it.*svault webhook unbind.*unseal-bind.*\n$/;
  expect(again).toEqual({ code: 1, out: '', err: matching(bound) });

  await people.pair.stop('webhook');
  const away = await admin.svault(['webhook', 'status', '--format', 'json']);
  expect(away).toMatchObject({
    code: 5,
    err: matching(/^error: the webhook at http.* does not answer.*with npm start: .*with Docker: .*\n$/),
  });
  expect(JSON.parse(away.out)).toMatchObject({ bound: true, reachable: false, url: webhookUrl });
});

test('bind takes all that bind-link printed on stdin, and makes it the one that this login’s secrets go to', async () => {
  await arriveAlone();
  const person = people.stranger();
  const args = ['login', '--key', '-', '--as', 'me', '--base-url', people.pair.controlPlaneUrl()];
  expect((await person.svault(args, { input: people.pair.adminKey })).code).toBe(0);
  const link = await freshLink();
  const input = `${link}\n\nFingerprint  ${fingerprintIn(link)}\nExpires      2026-11-20T12:05:00.000Z, works once\n`;
  const { code, out } = await person.svault(['webhook', 'bind', '-y', '--format', 'json'], { input });
  expect(code).toBe(0);
  const capabilities = expect.arrayContaining(['storage']) as string[];
  expect(JSON.parse(out)).toMatchObject({ bound: true, capabilities });
  const kept = readFileSync(join(person.dir, 'webhooks.json'), 'utf8');
  expect(kept).toContain(JSON.stringify(new URL(people.pair.webhookUrl).host).slice(1, -1));
});

test('bind without a link asks the project in this folder for one; with SVAULT_KEY this key’s secrets go there', async () => {
  await arriveAlone();
  const SVAULT_BASE_URL = people.pair.controlPlaneUrl();
  const machine = people.stranger({ SVAULT_BASE_URL, SVAULT_KEY: people.pair.adminKey });
  const folder = join(machine.dir, 'project');
  const set = ['--set', 'SV_WEBHOOK_URL=https://hook.example.org'];
  expect((await machine.svault(['webhook', 'init', folder, '--method', 'custom', ...set])).code).toBe(0);
  const link = await freshLink();
  const { path: PATH, calls } = fakeCompose(
    machine.dir,
    `case "$1" in run) echo '${link}'; echo; echo 'Fingerprint  ${fingerprintIn(link)}';; esac`,
  );
  const bound = await machine.spawned(['webhook', 'bind', '--yes'], { cwd: folder, env: { PATH } });
  expect(bound).toEqual({ code: 0, out: '', err: matching(/\nbound: /) });
  expect(calls()).toContain('run --rm --no-deps -T webhook bind-link');
  expect(await machine.svault(['add', 'of-a-machine'], { input: 'the-secret' })).toMatchObject({ code: 0 });
});

describe('a webhook that stays unbound', () => {
  beforeAll(arrive);
  afterAll(() => people.close());
  const bind = (link: string, ...more: string[]): ReturnType<CommandLine['svault']> =>
    admin.svault(['webhook', 'bind', link, ...more]);

  test('bind does nothing without a yes', async () => {
    const said = await bind(await freshLink());
    expect(said).toMatchObject({
      code: 2,
      err: matching(/\nBind it only if it is your own\.\nerror: .*fingerprint.*--yes\n$/),
    });
    expect((await admin.svault(['webhook', 'status'])).code).toBe(4);
  });

  test('bind refuses a link for another control plane before the code leaves this machine', async () => {
    const link = (await freshLink()).replace(people.pair.controlPlaneUrl(), 'https://other.test');
    const said =
      /^error: that link is for the control plane at https:\/\/other\.test, and you are signed in at http.*\n$/;
    expect(await bind(link, '--yes')).toMatchObject({ code: 2, err: matching(said) });
  });

  test('bind passes on what the control plane says of a link that was used, in one line', async () => {
    const link = await freshLink();
    await freshLink();
    const said = /\nerror: The webhook does not know this link.*\[WEBHOOK_REFUSED: .*\n$/;
    expect(await bind(link, '--yes')).toMatchObject({ code: 1, err: matching(said) });
  });

  test('bind --dry-run asks and sends nothing, and does not show the code', async () => {
    const link = await freshLink();
    const { code, out } = await bind(link, '--dry-run');
    expect({ code, out }).toEqual({ code: 0, out: matching(/^POST http.*\/api\/webhook\/bind\n/) });
    expect(out).toContain(people.pair.webhookUrl);
    expect(out).not.toContain(parametersOf(link).get('code'));
    expect((await admin.svault(['webhook', 'status'])).code).toBe(4);
  });

  test('bind without a link and a project says where to get one', async () => {
    const cwd = join(admin.dir, 'empty');
    mkdirSync(cwd);
    const said = /^error: give the link.*bind-link.*\n$/;
    expect(await admin.spawned(['webhook', 'bind'], { cwd })).toMatchObject({ code: 2, err: matching(said) });
  });

  test('bind is for admins', async () => {
    const agent = await people.agent('a');
    const { code, err } = await agent.svault(['webhook', 'bind', 'x', '--yes']);
    expect([code, err]).toEqual([3, matching(/admin/)]);
  });

  test('status says that none is bound: exit 4', async () => {
    const err = matching(/^error: no webhook is bound: svault webhook init.*\n$/);
    expect(await admin.svault(['webhook', 'status'])).toEqual({ code: 4, out: '', err });
    const json = await admin.svault(['webhook', 'status', '--format', 'json']);
    expect([json.code, JSON.parse(json.out)]).toEqual([
      4,
      { bound: false, controlPlaneVersion: expect.stringMatching(/^\d+\.\d+\.\d+/) },
    ]);
  });
});
