import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, test } from 'vitest';
import {
  bearer,
  beginLogin,
  cliSession,
  codeIn,
  decide,
  exchange,
  signedInBrowser,
} from '../support/cli-client.ts';
import { BASE_URL, type Call, clientOf } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';
import { addMember } from '../support/members.ts';
import { uniqueName } from '../support/unique-name.ts';

/*
 * A request may take half a minute to send its body. A sender who loses a right during that time loses it for the request
 * too.
 */

const service = useService();

type Headers = Readonly<Record<string, string>>;

/** An authenticated change that waits for the rest of its body. */
async function changeUnderWay(
  headers: Headers,
  { path, body, type }: { readonly path: string; readonly body: string; readonly type: string },
) {
  const sent = request(service.running.url + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': type, expect: '100-continue' },
  });
  // From the start, so that an early answer fails the test instead of hanging it.
  const answered = once(sent, 'response').then(([answer]: readonly IncomingMessage[]) => {
    answer?.resume();
    return answer?.statusCode ?? 0;
  });
  sent.flushHeaders();
  const early = await Promise.race([once(sent, 'continue').then(() => undefined), answered]);
  if (early !== undefined) throw new Error(`the change was answered ${early} before its body came`);
  sent.write(body.slice(0, 1));
  // The control plane has processed what precedes an answered request.
  await clientOf(service.running.url, headers)('GET', '/api/me');
  return {
    finish: (): Promise<number> => {
      sent.end(body.slice(1));
      return answered;
    },
  };
}

const json = (path: string, body: object) => ({ path, body: JSON.stringify(body), type: 'application/json' });
const NEW_MEMBER = json('/api/members', { email: 'intruder@example.org', role: 'admin' });
const newAgent = () => json('/api/agents', { name: uniqueName('late') });

/** An admin with a session cookie, an admin key and a command-line token. */
async function adminWithEverything(): Promise<{
  readonly id: string;
  readonly adminKeyId: string;
  readonly headers: readonly [cookie: Headers, key: Headers, token: Headers];
}> {
  const { browser, id } = await signedInBrowser(service, 'admin');
  const cookie = { cookie: `svault=${browser.cookies.get('svault')}`, origin: BASE_URL };
  const session: Call = clientOf(service.running.url, cookie);
  const made = (await session('POST', '/api/admin-keys', { body: { name: 'k' } })).json;
  const login = await beginLogin(service);
  const code = codeIn(await decide(browser, login));
  const { accessToken } = (await exchange(service, { code, codeVerifier: login.codeVerifier })).json;
  return {
    id,
    adminKeyId: made.adminKey.id as string,
    headers: [cookie, { authorization: `Bearer ${made.key}` }, { authorization: `Bearer ${accessToken}` }],
  };
}

const people = async () =>
  (await service.admin('GET', '/api/members?limit=100')).json.items.map(
    ({ email }: { email: string }) => email,
  );

describe('a management request in flight', () => {
  test('a slow request succeeds where nothing changes', async () => {
    const { headers } = await adminWithEverything();
    for (const by of headers) expect(await (await changeUnderWay(by, newAgent())).finish()).toBe(201);
  });

  test('a request is denied once its sender is removed, however they authenticated', async () => {
    const { id, headers } = await adminWithEverything();
    const changes = await Promise.all(headers.map((by) => changeUnderWay(by, NEW_MEMBER)));
    await service.admin('DELETE', `/api/members/${id}`);
    for (const change of changes) expect(await change.finish()).toBe(401);
    expect(await people()).not.toContain('intruder@example.org');
  });

  test('a request is denied once its sender is no admin any more, on admin and member routes', async () => {
    const { id, headers } = await adminWithEverything();
    const [cookie, key, token] = headers;
    const changes = await Promise.all([
      changeUnderWay(cookie, NEW_MEMBER),
      changeUnderWay(token, newAgent()),
      changeUnderWay(key, newAgent()),
    ]);
    await service.admin('PATCH', `/api/members/${id}`, { body: { role: 'member' } });
    const answers: number[] = [];
    for (const change of changes) answers.push(await change.finish());
    // The key went with the role.
    expect(answers).toEqual([403, 403, 401]);
    expect(await people()).not.toContain('intruder@example.org');
  });

  test('a request is denied once its session or key has ended', async () => {
    const { id, adminKeyId, headers } = await adminWithEverything();
    const changes = await Promise.all(headers.map((by) => changeUnderWay(by, newAgent())));
    const { items } = (await service.admin('GET', '/api/sessions?limit=100')).json;
    for (const session of items)
      if (session.userId === id) await service.admin('DELETE', `/api/sessions/${session.id}`);
    await service.admin('DELETE', `/api/admin-keys/${adminKeyId}`);
    for (const change of changes) expect(await change.finish()).toBe(401);
  });

  test('binding by the page is denied once the session has ended', async () => {
    const { id, headers } = await adminWithEverything();
    const form = new URLSearchParams({
      code: 'e5e9fa1b-a31e-4c5d-9f5e-2a3b4c5d6e7f',
      webhookUrl: 'https://webhook.example',
      hmacHash: 'a'.repeat(64),
    });
    const type = 'application/x-www-form-urlencoded';
    const change = await changeUnderWay(headers[0], {
      path: '/vault/webhook-bind',
      body: form.toString(),
      type,
    });
    await service.admin('DELETE', `/api/members/${id}`);
    // A redirect to the sign-in page.
    expect(await change.finish()).toBe(303);
  });
});

test('a new password voids approved CLI logins that wait for their client', async () => {
  const { id } = await addMember(service, 'member');
  const { url } = (await service.admin('POST', `/api/members/${id}/link`)).json;
  const { browser, id: otherId } = await signedInBrowser(service);
  expect(otherId).not.toBe(id);
  const [login, others] = [await beginLogin(service), await beginLogin(service)];
  const othersCode = codeIn(await decide(browser, others));
  const token = new URL(url).searchParams.get('token') ?? '';
  await browser.submit('/login/link', { token });
  const code = codeIn(await decide(browser, login));
  const newPassword = 'correct horse battery staple';
  const set = await clientOf(service.running.url, {
    cookie: `svault=${browser.cookies.get('svault')}`,
    origin: BASE_URL,
  })('POST', '/api/me/password', { body: { newPassword } });
  expect(set.status).toBe(204);
  expect((await exchange(service, { code, codeVerifier: login.codeVerifier })).status).toBe(401);
  expect((await exchange(service, { code: othersCode, codeVerifier: others.codeVerifier })).status).toBe(200);
});

test('a session that signs out twice concurrently is ended', async () => {
  const { accessToken } = await cliSession(service);
  const call = bearer(service, accessToken);
  const answers = await Promise.all([call('POST', '/api/logout'), call('POST', '/api/logout')]);
  expect(answers.map(({ status }) => status)).toContain(204);
  expect((await call('GET', '/api/me')).status).toBe(401);
});
