/** Decisions with a security key. The programs that talk to one are the tests' own, its cryptography is real. */
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type ApprovalFacts, approvalText } from '@svault/shared';
import { requestDigest } from '@svault/shared/request-digest';
import { softwarePasskey } from '@svault/shared/software-passkey';
import { type TestApprover, enrolApprover } from '@svault/test-kit/approver';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CommandLine, type Outcome, someone } from './command-line.ts';
import { type FakeTools, fakeSecurityKey } from './fake-security-key.ts';
import { type Answer, fakeServer } from './fake-servers.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

const SECRET = 'a secret that is long enough';
const DEVICE = '/dev/hidraw5';
const LISTED = `${DEVICE}: vendor=0x1050, product=0x0407 (Yubico YubiKey OTP+FIDO+CCID)`;
const OTHER = '/dev/hidraw7: vendor=0x20a0, product=0x42b1 (Nitrokey Nitrokey FIDO2)';

let people: PairAndPeople;
let approver: TestApprover;
beforeAll(async () => {
  people = await pairAndPeople();
  approver = await enrolApprover(people.pair);
  const held = ['--value', SECRET, '--require-approval'];
  const { svault } = people.admin;
  await svault(['add', 'prod-db', ...held, 'credential', '--standing', '1h']);
  await svault(['add', 'api', ...held, 'proxy', '--allow-host', 'api.example']);
  await svault(['add', 'unused', ...held, 'credential']);
});
afterAll(() => people.close());

let tools: FakeTools;
let person: CommandLine;
beforeEach(async () => {
  person = someone({ SVAULT_WEBHOOK_URL: people.pair.webhookUrl });
  tools = await fakeSecurityKey(person.dir, {
    passkeys: [approver.passkey],
    rpId: new URL(people.pair.webhookUrl).hostname,
    options: 'rk, up, noplat, clientPin, credentialMgmtPreview',
    devices: [LISTED],
    fails: () => undefined,
    changes: {},
  });
});

const run = (args: readonly string[], more: Parameters<CommandLine['svault']>[1] = {}): Promise<Outcome> =>
  person.svault(['approve', ...args], { ...more, env: { PATH: tools.path, ...more.env } });
const getAs = ({ svault }: CommandLine, ...args: readonly string[]): Promise<Outcome> =>
  svault(['get', 'prod-db', ...args]);
const linkIn = (err: string): string => /https?:\S+\/approvals\/apr_[\w-]+/.exec(err)?.[0] ?? '';

/** A request of a new agent, which nobody has decided on. @returns with who asked */
async function asked(reason = 'Restore the orders table') {
  const caller = await people.agent(`caller ${(callers += 1)}`, 'prod-db');
  return { caller, link: linkIn((await getAs(caller, '--reason', reason)).err) };
}
let callers = 0;

describe('svault approve', () => {
  test('shows what is signed, has the key sign that, and the credential is given once', async () => {
    const { caller, link } = await asked();
    const { code, out, err } = await run([link, '--yes']);
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toMatch(/^credential {3}prod-db\nwho asks {5}agt_\S+\ncalled {7}“caller 1” by the control/);
    expect(err).toMatch(/^for what {5}the secret itself/m);
    expect(err).toMatch(/^its reason {3}│ Restore the orders table\n {13}in the caller’s own words/m);
    expect(err).toMatch(/^decision {5}approve once$/m);
    expect(err).toMatch(new RegExp(`approved: prod-db for ${caller.id}\n$`));
    expect(tools.calls).toEqual([
      'fido2-token -L',
      `fido2-token -I ${DEVICE}`,
      `fido2-assert -G -r -v ${DEVICE}`,
    ]);
    expect(await getAs(caller)).toMatchObject({ code: 0, out: SECRET });
    expect(await getAs(caller)).toMatchObject({ code: 3, out: '' });
  });

  test('--for allows the same use for a while, and no longer than the credential permits', async () => {
    const { caller, link } = await asked();
    const { err } = await run([link, '--yes', '--for', '45m']);
    expect(err.replaceAll(/\n +/g, ' ')).toContain(
      'allow for 45m: every delivery of this credential to this caller',
    );
    for (const _again of [1, 2]) expect(await getAs(caller)).toMatchObject({ code: 0 });
    const longer = await run([(await asked()).link, '--yes', '--for', '2h']);
    expect(longer).toMatchObject({ code: 1 });
    expect(longer.err).toContain('[INVALID_REQUEST:');
  });

  test('--deny denies it, and --json prints what was decided and the text that was signed', async () => {
    const { caller, link } = await asked();
    const { code, out, err } = await run([link, '--deny', '--yes', '--json']);
    expect(code, err).toBe(0);
    const id = link.slice(link.lastIndexOf('/') + 1);
    const answer = JSON.parse(out) as { text: string };
    expect(answer).toMatchObject({ id, decision: 'deny', scope: 'once' });
    expect(JSON.parse(answer.text)).toMatchObject({ v: 1, id, serviceName: 'prod-db', sub: caller.id });
    expect((await getAs(caller, '--reason', 'again')).err).toContain('denied');
  });

  test('has a finger recognised where the key is set up for it, and falls back to the PIN', async () => {
    tools.key.options = 'rk, up, uv, clientPin';
    expect(await run([(await asked()).link, '--yes'])).toMatchObject({ code: 0 });
    expect(tools.calls.at(-1)).toBe(`fido2-assert -G -r -t up=true -t uv=true ${DEVICE}`);
    tools.key.fails = (tool, args) =>
      tool === 'fido2-assert' && args.includes('uv=true')
        ? 'fido_dev_get_assert: FIDO_ERR_UV_BLOCKED'
        : undefined;
    expect(await run([(await asked()).link, '--yes'])).toMatchObject({ code: 0 });
    expect(tools.calls.at(-1)).toBe(`fido2-assert -G -r -v ${DEVICE}`);
  });

  test('tries each passkey of the key, of which one may be of an approver who was removed', async () => {
    const [{ origin }, { rpId }] = [new URL(people.pair.webhookUrl), tools.key];
    const removed = softwarePasskey({ origin, rpId });
    removed.create({ challenge: 'x', user: { id: 'A'.repeat(43) } });
    tools.key.passkeys = [removed, approver.passkey];
    expect(await run([(await asked()).link, '--yes'])).toMatchObject({ code: 0 });
    tools.key.passkeys = [removed];
    const refused = await run([(await asked()).link, '--yes']);
    expect(refused).toMatchObject({ code: 3 });
    expect(refused.err).toContain('[SIGNATURE_INVALID:');
  });

  test('asks a person, and signs nothing where they say no', async () => {
    const { link } = await asked();
    const stdin = new PassThrough();
    stdin.end('n\n');
    const { code, err } = await run([link], { stdin, isPerson: true });
    expect(code).toBe(130);
    expect(err).toContain('Sign this approval with the security key? [y/N]');
    expect(tools.calls).toEqual([]);
    const piped = await run([link]);
    expect(piped).toMatchObject({ code: 2 });
    expect(piped.err).toContain('--yes');
    expect(tools.calls).toEqual([]);
  });

  test('signs nothing for a webhook that this machine does not know', async () => {
    const { link } = await asked();
    const unknown = await run([link, '--yes'], { env: { SVAULT_WEBHOOK_URL: '' } });
    expect(unknown).toMatchObject({ code: 1 });
    expect(unknown.err).toContain(`export SVAULT_WEBHOOK_URL=${people.pair.webhookUrl}`);
    const other = await run([link, '--yes'], { env: { SVAULT_WEBHOOK_URL: 'https://hook.example' } });
    expect(other.err).toContain('SVAULT_WEBHOOK_URL says that the webhook is at https://hook.example.');
    expect(tools.calls).toEqual([]);
    const env = { PATH: tools.path, SVAULT_WEBHOOK_URL: '' };
    // The owner has stored there.
    expect(await people.admin.svault(['approve', link, '--yes'], { env })).toMatchObject({ code: 0 });
  });

  test('says that a request was decided meanwhile, and that another is unknown', async () => {
    const { link } = await asked();
    await approver.decide(link);
    const decided = await run([link, '--yes']);
    expect(decided).toMatchObject({ code: 1 });
    expect(decided.err).toContain('[VERSION_CONFLICT:');
    const unknown = await run([`${people.pair.webhookUrl}/approvals/apr_${'A'.repeat(22)}`, '--yes']);
    expect(unknown).toMatchObject({ code: 4 });
    const ofConsole = await run([
      `${people.pair.controlPlaneUrl()}/approvals/apr_${'A'.repeat(22)}`,
      '--yes',
    ]);
    expect(ofConsole.err).toContain('a link of the control plane is decided by svault approvals approve');
    const { caller: _late, link: late } = await asked();
    people.pair.clock.advance(16 * 60_000);
    expect((await run([late, '--yes'])).err).toContain('[VERSION_CONFLICT:');
  });

  test.each([
    ['nonsense', '“nonsense” is not the address of a request at a webhook'],
    [`apr_${'A'.repeat(22)}`, 'svault approvals show ID has it under open'],
    [`https://u@hook.example/approvals/apr_${'A'.repeat(22)}`, 'is not the address'],
    [`http://hook.example/approvals/apr_${'A'.repeat(22)}`, 'is not the address'],
    [`https://hook.example/approvals/apr_${'A'.repeat(22)}?x`, 'is not the address'],
  ])('refuses the link %s before anything is sent', async (link, said) => {
    const { code, err } = await run([link, '--yes', '--debug']);
    expect(code).toBe(2);
    expect(err).toContain(said);
    expect(err).not.toContain('> POST');
  });

  test.each([
    [['--deny', '--for', '1h'], '--for is about approvals'],
    [['--for', '9h'], '--for takes a duration from 1m to 8h'],
    [['--for', 'a while'], '--for takes a duration'],
  ])('refuses %j', async (args, said) => {
    const { code, err } = await run([`https://hook.example/approvals/apr_${'A'.repeat(22)}`, ...args]);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });

  test('under --dry-run shows the first request, and sends none', async () => {
    const link = `https://hook.example/approvals/apr_${'A'.repeat(22)}`;
    const { code, out, err } = await run([link, '--for', '1h', '--dry-run', '--json']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const body = { decision: 'approve', scope: 'standing:3600' };
    expect(JSON.parse(out)).toEqual({ method: 'POST', url: `${link}/options`, body });
  });
});

describe('a security key', () => {
  const failing = (failure: string) => (tool: string) =>
    tool === 'fido2-assert' ? `fido_dev_get_assert: ${failure}` : undefined;

  test.each([
    ['FIDO_ERR_PIN_INVALID', 3, 'that is not the PIN of the security key (FIDO_ERR_PIN_INVALID)'],
    ['FIDO_ERR_PIN_AUTH_BLOCKED', 3, 'pull it out, plug it in and try again'],
    ['FIDO_ERR_PIN_BLOCKED', 3, 'blocked by too many wrong PINs'],
    ['FIDO_ERR_OPERATION_DENIED', 3, 'declined at the security key'],
    ['FIDO_ERR_USER_ACTION_TIMEOUT', 1, 'was not touched in time'],
    ['FIDO_ERR_RX', 1, 'did not sign: fido2-assert: fido_dev_get_assert: FIDO_ERR_RX'],
  ])('that ends with %s is explained', async (failure, exit, said) => {
    tools.key.fails = failing(failure);
    const { link } = await asked();
    const { code, err } = await run([link, '--yes']);
    expect({ code, said: err.includes(said) }, err).toEqual({ code: exit, said: true });
    tools.key.fails = () => undefined;
    expect(await run([link, '--deny', '--yes'])).toMatchObject({ code: 0 });
  });

  test('that needs a PIN where there is no terminal is explained', async () => {
    tools.key.fails = (tool) => (tool === 'fido2-assert' ? 'invalid PIN length' : undefined);
    const { code, err } = await run([(await asked()).link, '--yes']);
    expect(code).toBe(3);
    expect(err).toContain('it is asked for on the terminal, and needs one');
  });

  test('that is no approver here has no passkey for the webhook', async () => {
    tools.key.passkeys = [];
    const { code, err } = await run([(await asked()).link, '--yes']);
    expect(code).toBe(3);
    expect(err).toContain('has no passkey of this webhook');
  });

  test('that is not there, or one of several, or cannot be opened, is said so', async () => {
    const { link } = await asked();
    tools.key.devices = [];
    expect((await run([link, '--yes'])).err).toContain('no security key is plugged in');
    tools.key.devices = [LISTED, OTHER];
    const several = await run([link, '--yes']);
    expect(several).toMatchObject({ code: 2 });
    expect(several.err).toContain('by --device: /dev/hidraw5 (Yubico YubiKey OTP+FIDO+CCID), /dev/hidraw7 (');
    tools.key.fails = (_tool, args) =>
      args.includes('/dev/hidraw9') ? 'fido_dev_open /dev/hidraw9: FIDO_ERR_INTERNAL' : undefined;
    const unopened = await run([link, '--yes', '--device', '/dev/hidraw9']);
    expect(unopened.err).toContain('cannot be opened: fido2-token -L lists');
    expect(await run([link, '--yes', '--device', '-x'])).toMatchObject({ code: 2 });
    expect(await run([link, '--yes', '--device', '/dev/hidraw7'])).toMatchObject({ code: 0 });
  });

  test('that does not make sure of the person signs nothing that is sent', async () => {
    const { link } = await asked();
    tools.key.options = 'rk, up, noclientPin';
    expect((await run([link, '--yes'])).err).toContain('neither PIN nor fingerprint');
    tools.key.options = 'rk, up, clientPin';
    tools.key.changes = { userVerified: false };
    const { code, err } = await run([link, '--yes', '--debug']);
    expect(code).toBe(3);
    expect(err).toContain('without making sure who touches it');
    expect(err).not.toContain('/decision');
  });

  test('is not reached where libfido2 is not installed', async () => {
    const { code, err } = await run([(await asked()).link, '--yes'], { env: { PATH: person.dir } });
    expect(code).toBe(1);
    expect(err).toMatch(/fido2-token of libfido2, .* is not installed here: (apt|brew) install/);
  });

  test.skipIf(!existsSync('/usr/bin/fido2-assert'))(
    'is asked in a way that libfido2 itself takes as far as a key that is not there',
    async () => {
      const env = { PATH: '/usr/bin' };
      const none = await run([(await asked()).link, '--yes'], { env });
      expect(none.err).toContain('no security key is plugged in');
      rmSync(join(tools.path, 'fido2-assert'));
      symlinkSync('/usr/bin/fido2-assert', join(tools.path, 'fido2-assert'));
      for (const options of ['clientPin', 'uv']) {
        tools.key.options = options;
        const absent = await run([(await asked()).link, '--yes', '--device', '/dev/nosuch']);
        expect(absent.err).toContain('cannot be opened');
      }
    },
  );
});

describe('a request by proxy', () => {
  let proxyKey: string;
  beforeAll(async () => {
    const args = [
      '--name',
      'api',
      '--kind',
      'http',
      '--upstream-url',
      'https://api.example/v1',
      '--service',
      'api',
    ];
    const { out, err } = await people.admin.svault(['proxies', 'create', ...args, '--json']);
    expect(err, out).not.toContain('error');
    proxyKey = (JSON.parse(out) as { key: string }).key;
  });
  /** @returns the link under which it is decided */
  async function sent(body: string, type = 'application/json'): Promise<string> {
    const url = `${people.pair.controlPlaneUrl()}/api/proxy/http/pay?to=ana`;
    const headers = { authorization: `Bearer ${proxyKey}`, 'content-type': type };
    const answer = await fetch(url, { method: 'POST', headers, body });
    const said = await answer.text();
    expect(said).toContain('APPROVAL_REQUIRED');
    return linkIn(said);
  }

  test('is shown with what it would send, checked against the digest that is signed', async () => {
    const { code, err } = await run([await sent('{"amount":1,"note":"a\u202eb"}'), '--yes']);
    expect(code, err).toBe(0);
    expect(err).toMatch(/^host {9}api\.example$/m);
    expect(err).toMatch(/^request {6}POST https:\/\/api\.example\/v1\/pay\?to=ana$/m);
    expect(err).toMatch(/^header {7}│ .*content-type: application\/json$/ms);
    expect(err).toContain('│   "amount": 1,\n');
    expect(err).toContain('a\\u{202e}b');
    expect(err).toMatch(/^these are {4}as signed: they have the digest above$/m);
  });

  test('of MCP is shown with its tool, and says that id and _meta are not signed', async () => {
    const { svault } = people.admin;
    const held = ['--value', SECRET, '--require-approval', 'proxy', '--allow-request', 'tools * /mcp'];
    await svault(['add', 'hub', ...held, '--allow-host', 'mcp.example']);
    const upstream = ['--upstream-url', 'https://mcp.example/mcp', '--service', 'hub'];
    const { out } = await svault(['proxies', 'create', '--name', 'hub', ...upstream, '--json']);
    const { key } = JSON.parse(out) as { key: string };
    const params = { name: 'pay', arguments: { amount: 1 }, _meta: { progressToken: 7 } };
    const answer = await fetch(`${people.pair.controlPlaneUrl()}/api/proxy/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 12, method: 'tools/call', params }),
    });
    const { code, err } = await run([linkIn(await answer.text()), '--yes']);
    expect(code, err).toBe(0);
    expect(err).toMatch(/^MCP {10}tools\/call\ntool {9}pay$/m);
    expect(err.replaceAll(/\n +/g, ' ')).toMatch(
      /^these are {4}as signed: .*; id and _meta of the message are shown as 0 and may be others$/m,
    );
  });

  test('says that a body which is too long for the page is not checked', async () => {
    const { code, err } = await run([await sent('x'.repeat(20_000)), '--yes']);
    expect(code, err).toBe(0);
    expect(err).toMatch(/^body {9}20000 bytes that the webhook does not show/m);
    expect(err).toMatch(/^these are {4}not checked/m);
  });

  test('shows no bytes that are no text', async () => {
    const { err } = await run([await sent('a', 'text/plain; charset=utf-16'), '--yes']);
    expect(err).toMatch(/^body {9}1 bytes that are no plain text$/m);
  });
});

describe('what a webhook, or a proxy in front of it, says', () => {
  const ID = `apr_${'A'.repeat(22)}`;
  const FACTS: ApprovalFacts = {
    ...{ id: ID, webhook: 'whk_1', serviceName: 'prod-db', sub: 'agt_1', operation: { type: 'credential' } },
    ...{ askedAt: '2026-11-20T12:00:00.000Z', expiresAt: '2026-11-20T12:15:00.000Z' },
  };
  const PROXIED: ApprovalFacts['operation'] = {
    type: 'proxy',
    ...{ proxyId: 'prx_1', method: 'POST', url: 'https://api.example/x' },
    digest: `sha-256=:${'A'.repeat(43)}=:`,
  };
  const says = async (answer: Answer, ...args: readonly string[]): Promise<Outcome> => {
    const { url } = await fakeServer(({ path }) => (path.endsWith('/options') ? answer : { body: {} }));
    tools.key.rpId = new URL(url).hostname;
    const env = { SVAULT_WEBHOOK_URL: url };
    return run([`${url}/approvals/${ID}`, '--yes', ...args], { env });
  };
  const options = (text: string, shown: object = {}): Answer => ({ body: { text, shown, publicKey: {} } });

  test.each([
    ['of another request', approvalText({ ...FACTS, id: `apr_${'B'.repeat(22)}` })],
    ['with a member twice', approvalText(FACTS).replace('"sub":', '"sub":"agt_2","sub":')],
    ['with more members', approvalText(FACTS).replace('{"v":1', '{"v":1,"x":1')],
    ['in another order', JSON.stringify({ ...FACTS, v: 1 })],
    ['with spaces', `${approvalText(FACTS)} `],
    ['of another version', approvalText(FACTS).replace('"v":1', '"v":2')],
    ['that is no JSON', 'yes'],
  ])('is refused where the text is one %s', async (_what, text) => {
    const { code, err } = await says(options(text));
    expect(code).toBe(1);
    expect(err).toContain('Nothing was signed.');
    expect(tools.calls).toEqual([]);
  });

  test('is refused where header fields and body do not have the signed digest, and can be denied', async () => {
    const text = approvalText({ ...FACTS, operation: PROXIED });
    const shown = { fields: [['content-type', 'text/plain']], body: 'aGFybWxlc3M=' };
    const { code, err } = await says(options(text, shown));
    expect(code).toBe(1);
    expect(err).toMatch(/^these are {4}NOT as signed/m);
    expect(err).toContain('somebody in between changes them. Nothing was signed.');
    expect(tools.calls).toEqual([]);
    expect(await says(options(text, shown), '--deny')).toMatchObject({ code: 0 });
  });

  test('is shown as far as the digest covers it: of other header fields nobody knows', async () => {
    const fields: [string, string][] = [['content-type', 'text/plain']];
    const read = requestDigest({ kind: 'http', method: 'POST', fields, body: Buffer.from('hello') });
    const digest = 'digest' in read ? read.digest : '';
    const text = approvalText({ ...FACTS, operation: { ...PROXIED, digest } });
    const shown = { fields: [...fields, ['User-Agent', 'harmless']], body: 'aGVsbG8=' };
    const { code, err } = await says(options(text, shown));
    expect(code, err).toBe(0);
    expect(err).toMatch(/^header {7}│ content-type: text\/plain\nbody {9}│ hello\nthese are {4}as signed/m);
  });

  test('moves no cursor, adds no line and hides nothing', async () => {
    const forged = `x\u001b[2J\n\rdecision     deny\u202e\u200b${' '.repeat(90)}decision     deny`;
    const text = approvalText({ ...FACTS, serviceName: 'prоd-db', operation: { ...PROXIED, tool: forged } });
    const { err } = await says(options(text, { name: forged, reason: forged, body: '' }), '--deny');
    expect(err.match(/^decision/gm)).toHaveLength(1);
    expect(err.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(err).toContain('x\\u{1b}[2J\\n\\u{d}decision     deny\\u{202e}\\u{200b}');
    expect(err).toMatch(
      /^credential {3}prоd-db\n {13}it has characters that may look like plain letters: о \(U\+043E/m,
    );
    for (const line of err.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('is no approval where it is something else that answers', async () => {
    expect((await says({ body: '<html>' })).err).toContain('no svault answers at');
  });
});

describe('an owner who gets a credential that is held back', () => {
  test('is told where it is decided, waits, and gets it once', async () => {
    const { svault } = people.admin;
    const denied = await svault(['get', 'prod-db', '--reason', 'Look at it']);
    expect(denied).toMatchObject({ code: 3, out: '' });
    const link = linkIn(denied.err);
    expect(link.startsWith(people.pair.webhookUrl)).toBe(true);
    let decided: Promise<unknown> | undefined;
    const onErr = (said: string): void => {
      if (linkIn(said) === link) decided ??= run([link, '--yes']);
    };
    const got = await svault(['get', 'prod-db', '--wait', '30'], { onErr });
    expect(await decided).toMatchObject({ code: 0 });
    expect(got).toMatchObject({ code: 0, out: SECRET });
    expect(got.err).toMatch(/^prod-db waits for an approval: http\S+\n$/);
  });

  test('is told so without asking for it, and of a denial', async () => {
    const { err } = await people.admin.svault(['get', 'unused']);
    const link = linkIn(err);
    expect(err).toContain('[APPROVAL_REQUIRED:');
    await approver.decide(link, 'deny');
    const denied = await people.admin.svault(['get', 'unused', '--wait', '60']);
    expect(denied).toMatchObject({ code: 3, out: '' });
    expect(denied.err).toContain(`denied by a person: ${link}`);
  });
});
