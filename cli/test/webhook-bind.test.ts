import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CommandLine } from './command-line.ts';
import { fakeCompose } from './fake-compose.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
let admin: CommandLine;
const arrive = async (): Promise<void> => {
  people = await pairAndPeople({ bound: false });
  ({ admin } = people);
};
const leave = (): Promise<void> => people.close();

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

describe('a webhook that is to be bound', () => {
  beforeEach(arrive);
  afterEach(leave);

  test('bind shows service, address and fingerprint, and binds', async () => {
    const link = await freshLink();
    const { code, out, err } = await admin.svault(['webhook', 'bind', link, '--yes']);
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toContain(`Service      ${people.pair.controlPlaneUrl()}\n`);
    expect(err).toContain(`Webhook      ${people.pair.webhookUrl}\n`);
    expect(err).toContain(`Fingerprint  ${fingerprintIn(link)}\n`);
    expect(err).toMatch(/\nbound: the credentials of your vault are held by http.*\n$/);
    expect(err).not.toContain(parametersOf(link).get('code'));
    const status = await admin.svault(['wh', 'status', '--format', 'json']);
    expect(JSON.parse(status.out)).toMatchObject({
      bound: true,
      reachable: true,
      url: people.pair.webhookUrl,
    });
  });

  test('bind takes all that bind-link printed on stdin; prints what the control plane answered for programs', async () => {
    const link = await freshLink();
    const input = `${link}\n\nFingerprint  ${fingerprintIn(link)}\nExpires      2026-11-20T12:05:00.000Z, works once\n`;
    const { code, out } = await admin.svault(['webhook', 'bind', '-y', '--format', 'json'], { input });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      bound: true,
      capabilities: expect.arrayContaining(['storage']) as string[],
    });
  });

  test('bind makes it the one that this login’s secrets go to', async () => {
    const person = people.stranger();
    const args = ['login', '--key', '-', '--as', 'me', '--base-url', people.pair.controlPlaneUrl()];
    expect((await person.svault(args, { input: people.pair.adminKey })).code).toBe(0);
    expect((await person.svault(['webhook', 'bind', await freshLink(), '--yes'])).code).toBe(0);
    const kept = readFileSync(join(person.dir, 'webhooks.json'), 'utf8');
    expect(kept).toContain(JSON.stringify(new URL(people.pair.webhookUrl).host).slice(1, -1));
  });

  test('bind with SVAULT_KEY makes it the one that this key’s secrets go to', async () => {
    const SVAULT_BASE_URL = people.pair.controlPlaneUrl();
    const machine = people.stranger({ SVAULT_BASE_URL, SVAULT_KEY: people.pair.adminKey });
    const input = 'the-secret';
    expect((await machine.svault(['webhook', 'bind', await freshLink(), '--yes'])).code).toBe(0);
    expect(await machine.svault(['add', 'of-a-machine'], { input })).toMatchObject({ code: 0 });
  });

  test('bind says with whom it is bound already, and what to do', async () => {
    await people.pair.bind();
    const link = `${people.pair.controlPlaneUrl()}/vault/webhook-bind?code=x`;
    const { code, err } = await admin.svault(['webhook', 'bind', link, '--yes']);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /^error: a webhook is bound already: http:\/\/127.*unbind it.*DELETE \/api\/webhook.*unseal-bind.*\n$/,
      ),
    ]);
  });

  test('bind without a link asks the project in this folder for one', async () => {
    const folder = join(admin.dir, 'project');
    const set = ['--set', 'SV_WEBHOOK_URL=https://hook.example.org'];
    expect((await admin.svault(['webhook', 'init', folder, '--method', 'custom', ...set])).code).toBe(0);
    const link = await freshLink();
    const compose = fakeCompose(
      admin.dir,
      `case "$1" in run) echo '${link}'; echo; echo 'Fingerprint  ${fingerprintIn(link)}';; esac`,
    );
    const bound = await admin.spawned(['webhook', 'bind', '--yes'], {
      cwd: folder,
      env: { PATH: compose.path },
    });
    expect(bound).toMatchObject({ code: 0, out: '' });
    expect(bound.err).toMatch(/\nbound: /);
    expect(compose.calls()).toContain('run --rm --no-deps -T webhook bind-link');
  });

  test('status shows the one that is bound, in every format; exit 5 where it does not answer', async () => {
    await people.pair.bind();
    const { webhookUrl } = people.pair;
    const shown = await admin.svault(['webhook', 'status']);
    expect(shown).toEqual({ code: 0, err: '', out: expect.stringMatching(/^webhook {4}http/) as string });
    for (const line of [/^answers +yes$/m, /^latency +\d+ ms$/m, /^bound +2026-/m, /^can +storage, /m])
      expect(shown.out).toMatch(line);
    expect((await admin.svault(['webhook', 'status', '--format', 'wide'])).out).toBe(shown.out);
    expect(await admin.svault(['webhook', 'status', '--format', 'name'])).toEqual({
      code: 0,
      out: `${webhookUrl}\n`,
      err: '',
    });

    await people.pair.stop('webhook');
    const away = await admin.svault(['webhook', 'status', '--format', 'json']);
    expect(away).toMatchObject({
      code: 5,
      err: expect.stringMatching(/^error: the webhook at http.* does not answer.*\n$/) as string,
    });
    expect(JSON.parse(away.out)).toMatchObject({ bound: true, reachable: false });
  });
});

describe('a webhook that stays unbound', () => {
  beforeAll(arrive);
  afterAll(leave);

  test('bind does nothing without a yes', async () => {
    const { code, err } = await admin.svault(['webhook', 'bind', await freshLink()]);
    expect([code, err]).toEqual([2, expect.stringMatching(/\nerror: .*fingerprint.*--yes\n$/)]);
    expect((await admin.svault(['webhook', 'status'])).code).toBe(4);
  });

  test('bind refuses a link for another control plane before the code leaves this machine', async () => {
    const link = (await freshLink()).replace(people.pair.controlPlaneUrl(), 'https://other.test');
    const { code, err } = await admin.svault(['webhook', 'bind', link, '--yes']);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(
        /^error: that link is for the control plane at https:\/\/other\.test, and you are signed in at http.*\n$/,
      ),
    ]);
  });

  test('bind passes on what the control plane says of a link that was used, in one line', async () => {
    const link = await freshLink();
    await freshLink();
    const { code, err } = await admin.svault(['webhook', 'bind', link, '--yes']);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/\nerror: The webhook does not know this link.*\[WEBHOOK_REFUSED: .*\n$/),
    ]);
  });

  test('bind --dry-run asks and sends nothing, and does not show the code', async () => {
    const link = await freshLink();
    const { code, out } = await admin.svault(['webhook', 'bind', link, '--dry-run']);
    expect(code).toBe(0);
    expect(out).toMatch(/^POST http.*\/api\/webhook\/bind\n/);
    expect(out).toContain(people.pair.webhookUrl);
    expect(out).not.toContain(parametersOf(link).get('code'));
    expect((await admin.svault(['webhook', 'status'])).code).toBe(4);
  });

  test('bind without a link and a project says where to get one', async () => {
    const folder = join(admin.dir, 'empty');
    mkdirSync(folder);
    const { code, err } = await admin.spawned(['webhook', 'bind'], { cwd: folder });
    expect([code, err]).toEqual([2, expect.stringMatching(/^error: give the link.*bind-link.*\n$/)]);
  });

  test('bind is for admins', async () => {
    const agent = await people.agent('a');
    const { code, err } = await agent.svault(['webhook', 'bind', 'x', '--yes']);
    expect([code, err]).toEqual([3, expect.stringMatching(/admin/)]);
  });

  test('status says that none is bound: exit 4', async () => {
    const { code, out, err } = await admin.svault(['webhook', 'status']);
    expect([code, out, err]).toEqual([
      4,
      '',
      expect.stringMatching(/^error: no webhook is bound: svault webhook init.*\n$/),
    ]);
    const json = await admin.svault(['webhook', 'status', '--format', 'json']);
    expect([json.code, JSON.parse(json.out)]).toEqual([4, { bound: false }]);
  });
});
