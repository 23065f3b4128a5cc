import { createLocalJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type DocumentHost, startDocumentHost } from '../support/document-host.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import type { Answer } from '../support/management-service.ts';
import {
  type HttpReceiver,
  type MailServer,
  isSignedBy,
  makeBrowser,
  startHttpReceiver,
  startMailServer,
} from '../support/receivers.ts';
import type { TestAgent } from '../support/service-steps.ts';

// A request that waits for a person, as each kind of receiver is told of it.

let service: LinkedService;
let receiver: HttpReceiver;
let mails: MailServer;
let pushes: DocumentHost;
const MINUTE_MS = 60_000;

beforeAll(async () => {
  [receiver, mails, pushes] = [
    await startHttpReceiver(),
    await startMailServer('svault@example.org', 'pass/word'),
    await startDocumentHost(),
  ];
  service = await startLinkedService({
    SV_SMTP_URL: mails.url,
    SV_SMTP_FROM: 'svault@example.org',
    SV_EGRESS_ALLOW: '127.0.0.0/8,localhost',
    SV_LIMIT_MANAGEMENT_WRITE: '10000',
  });
  await service.bind();
});
afterAll(async () => {
  await service.stop();
  for (const each of [receiver, mails, pushes]) await each.stop();
});
beforeEach(async () => {
  for (const { id } of await channels()) await service.admin('DELETE', `/api/notifications/${id}`);
  await service.runJob('notifications');
  receiver.received.length = 0;
  mails.received.length = 0;
  receiver.answer = (res) => void res.end();
});

const channels = async () =>
  (await service.admin('GET', '/api/notifications?limit=100')).json.items as {
    id: string;
    lastDeliveredAt?: string;
    lastFailedAt?: string;
    lastError?: string;
  }[];
const make = async (body: object): Promise<Answer['json']> => {
  const { status, json, text } = await service.admin('POST', '/api/notifications', {
    body: { name: 'on call', ...body },
  });
  if (status !== 201) throw new Error(text);
  return json;
};
const webhook = (path = '/hook'): Promise<Answer['json']> =>
  make({ type: 'webhook', url: receiver.origin + path });

/** An agent whose requests a policy holds back. */
async function heldBack(name?: string): Promise<TestAgent> {
  const agent = await service.agent('github', 'npm');
  if (name !== undefined) await service.admin('PATCH', `/api/agents/${agent.id}`, { body: { name } });
  const policy = { name: 'people decide', rules: [{ type: 'manual_approval' }] };
  const { id } = (await service.admin('POST', '/api/policies', { body: policy })).json;
  const target = { targetType: 'agent', targetId: agent.id };
  await service.admin('POST', `/api/policies/${id}/attachments`, { body: target });
  return agent;
}
const ask = async (agent: TestAgent, serviceName = 'github'): Promise<{ id: string; url: string }> =>
  (await agent.get(serviceName)).json.approval;
const run = (): Promise<void> => service.runJob('notifications');
const owed = async (): Promise<number> =>
  Number(await service.place.state.value('SELECT count(*) FROM notifications'));
const now = (): string => new Date(service.clock.now()).toISOString();
const bodyOf = (at: number): Answer['json'] => JSON.parse(receiver.received[at]?.body.toString() ?? '');

describe('a channel of type', () => {
  test('webhook gets JSON that is signed with the secret of the channel', async () => {
    const { channel, secret } = await webhook();
    const open = await ask(await heldBack('release bot'));
    await run();
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1));
    const [request] = receiver.received;
    expect([request?.method, request?.path, request?.headers['content-type']]).toEqual([
      'POST',
      '/hook',
      'application/json',
    ]);
    expect(request && isSignedBy(request, { id: channel.id, secret })).toBe(true);
    const other = Buffer.alloc(32, 1).toString('base64url');
    expect(request && isSignedBy(request, { id: channel.id, secret: other })).toBe(false);
    expect(bodyOf(0)).toEqual({
      type: 'approval_requested',
      approvalId: open.id,
      kind: 'policy',
      caller: 'release bot',
      serviceName: 'github',
      expiresAt: new Date(service.clock.now() + 15 * MINUTE_MS).toISOString(),
      url: open.url,
      sentAt: now(),
      text: expect.stringContaining('“release bot” asks for “github”'),
    });
    await vi.waitFor(async () => expect((await channels())[0]?.lastDeliveredAt).toBe(now()));
    expect(await owed()).toBe(0);
  });

  test('slack gets a text in which nothing of others is markup', async () => {
    await make({ type: 'slack', url: `${receiver.origin}/services/T0/B0/canary` });
    const open = await ask(await heldBack('<!channel> `*x*` & https://evil.example'));
    await run();
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1));
    expect(receiver.received[0]?.path).toBe('/services/T0/B0/canary');
    const [title, ...lines] = (bodyOf(0).text as string).split('\n');
    expect(title).toBe("`&lt;!channel&gt; '*x*' &amp; https://evil.example` asks for `github`");
    expect(lines.at(-1)).toBe(`<${open.url}>`);
  });

  test('email gets plain text from the address of the settings', async () => {
    await make({ type: 'email', address: 'oncall@example.org' });
    const open = await ask(await heldBack('mail bot'));
    await run();
    await vi.waitFor(() => expect(mails.received).toHaveLength(1));
    const [mail] = mails.received;
    expect([mail?.from, mail?.to]).toEqual(['svault@example.org', ['oncall@example.org']]);
    expect(mail?.text).toContain('Content-Type: text/plain');
    expect(mail?.text).toContain('Auto-Submitted: auto-generated');
    expect(mail?.text.replaceAll('=\r\n', '')).toContain(open.url);
  });

  test('push gets what only the browser can read, signed with the key that it subscribed with', async () => {
    const browser = makeBrowser();
    const { pushKey } = (await service.admin('GET', '/api/notifications/options')).json;
    const sent: { authorization: string; topic: string; body: Buffer }[] = [];
    pushes.paths.set('/push/1', (req, res) => {
      const parts: Buffer[] = [];
      req
        .on('data', (part: Buffer) => parts.push(part))
        .on('end', () => {
          const { authorization = '', topic } = req.headers;
          sent.push({ authorization, topic: String(topic), body: Buffer.concat(parts) });
          res.writeHead(201).end();
        });
    });
    const endpoint = `${pushes.origin}/push/1`;
    await make({ type: 'push', subscription: { endpoint, keys: browser.keys, expirationTime: null } });
    const open = await ask(await heldBack('push bot'));
    await run();
    await vi.waitFor(() => expect(sent).toHaveLength(1));
    const [message] = sent;
    expect(JSON.parse(browser.decrypt(message?.body ?? Buffer.of()))).toEqual({
      title: '“push bot” asks for “github”',
      body: expect.stringContaining('can be decided until'),
      url: open.url,
      tag: open.id,
    });
    expect(message?.topic).toBe(open.id);
    const [, token = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(message?.authorization ?? '') ?? [];
    expect(key).toBe(pushKey);
    const point = Buffer.from(pushKey as string, 'base64url');
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
    const keys = createLocalJWKSet({ keys: [{ kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' }] });
    const { payload } = await jwtVerify(token, keys, { audience: pushes.origin, algorithms: ['ES256'] });
    expect(payload.sub).toMatch(/^(https|mailto):/);
  });

  test('push is deleted once the browser has withdrawn its subscription', async () => {
    pushes.paths.set('/push/gone', (_req, res) => void res.writeHead(410).end());
    const endpoint = `${pushes.origin}/push/gone`;
    const { channel } = await make({ type: 'push', subscription: { endpoint, keys: makeBrowser().keys } });
    await ask(await heldBack());
    await run();
    await vi.waitFor(async () => expect(await channels()).toEqual([]));
    expect(await owed()).toBe(0);
    expect((await service.log())[0]).toMatchObject({
      eventType: 'NOTIFICATION_DELETED',
      detail: { channelId: channel.id, reason: 'gone' },
    });
  });
});

describe('a receiver that', () => {
  const failedNow = async (error: string) =>
    vi.waitFor(async () =>
      expect(await channels()).toMatchObject([{ lastFailedAt: now(), lastError: error }]),
    );

  test('fails is tried again after 10 seconds, a minute and five minutes, and then no more', async () => {
    await webhook();
    receiver.answer = (res) => void res.writeHead(500).end('what the receiver says');
    await ask(await heldBack());
    for (const [tries, pauseMs] of [10_000, 50_000, 240_000, 600_000].entries()) {
      await run();
      await failedNow('The receiver answered 500.');
      service.clock.advance(pauseMs - 1);
      await run();
      expect(receiver.received).toHaveLength(tries + 1);
      service.clock.advance(1);
    }
    expect(await owed()).toBe(0);
  });

  test('does not answer holds no other one', async () => {
    const stuck: (() => void)[] = [];
    receiver.answer = (res, path) => void (path === '/slow' ? stuck.push(() => res.end()) : res.end());
    await webhook('/slow');
    await webhook('/quick');
    const agent = await heldBack();
    const quick = () => receiver.received.filter(({ path }) => path === '/quick').length;
    for (const [index, name] of ['github', 'npm'].entries()) {
      await ask(agent, name);
      await run();
      await vi.waitFor(() => expect(quick()).toBe(index + 1));
    }
    await vi.waitFor(() => expect(stuck).toHaveLength(1));
    for (let told = 0; told < 2; told += 1) {
      await vi.waitFor(async () => {
        await run();
        expect(stuck.length).toBeGreaterThan(told);
      });
      stuck[told]?.();
      await vi.waitFor(async () => {
        await run();
        expect(await owed()).toBe(1 - told);
      });
    }
  });

  test('is one of many that do not answer is called with three others at once', async () => {
    const stuck: (() => void)[] = [];
    receiver.answer = (res) => void stuck.push(() => res.end());
    for (let made = 0; made < 6; made += 1) await webhook();
    await ask(await heldBack());
    await run();
    await vi.waitFor(() => expect(stuck).toHaveLength(4));
    await run();
    expect(receiver.received).toHaveLength(4);
    await vi.waitFor(async () => {
      for (const release of stuck.splice(0)) release();
      await run();
      expect(await owed()).toBe(0);
    });
    expect(receiver.received).toHaveLength(6);
  });

  test('redirects is not followed', async () => {
    await webhook('/here');
    const location = `${receiver.origin}/there`;
    receiver.answer = (res) => void res.writeHead(307, { location }).end();
    await ask(await heldBack());
    await run();
    await failedNow('The receiver answered 307.');
    expect(receiver.received.map(({ path }) => path)).toEqual(['/here']);
  });

  test('answers without end is not listened to', async () => {
    await webhook();
    const closed = Promise.withResolvers<void>();
    receiver.answer = (res) => {
      res.on('close', closed.resolve);
      res.writeHead(200).write('x'.repeat(1_024));
    };
    await ask(await heldBack());
    await run();
    await closed.promise;
    await vi.waitFor(async () => expect((await channels())[0]?.lastDeliveredAt).toBe(now()));
  });

  test('refuses the address of a mail is noted with its status', async () => {
    const { channel } = await make({ type: 'email', address: 'nobody@example.org' });
    const tested = await service.admin('POST', `/api/notifications/${channel.id}/test`);
    expect([tested.status, tested.json.lastError]).toEqual([200, 'The mail server answered 550.']);
  });

  test('is at a private address is not called', async () => {
    const { channel } = await make({ type: 'slack', url: 'https://10.0.0.1/hook' });
    const { json } = await service.admin('POST', `/api/notifications/${channel.id}/test`);
    expect(json.lastError).toMatch(/^The address is not public/);
  });
});

describe('a message', () => {
  test('is not sent once its approval was decided', async () => {
    await webhook();
    const open = await ask(await heldBack());
    await service.admin('POST', `/api/approvals/${open.id}/deny`);
    await run();
    await vi.waitFor(async () => expect(await owed()).toBe(0));
    expect(receiver.received).toEqual([]);
  });

  test('is sent once for requests that are the same', async () => {
    await webhook();
    const agent = await heldBack();
    expect(await ask(agent)).toEqual(await ask(agent));
    expect(await owed()).toBe(1);
  });

  test('above sixty an hour is a summary, and those after it are left out', async () => {
    const { channel } = await webhook();
    const send = () => service.admin('POST', `/api/notifications/${channel.id}/test`);
    for (let sent = 0; sent < 60; sent += 1) expect((await send()).status).toBe(200);
    const [agent, told] = [await heldBack(), receiver.received.length];
    await ask(agent, 'github');
    await run();
    await vi.waitFor(() => expect(receiver.received).toHaveLength(told + 1));
    expect(bodyOf(told)).toMatchObject({ type: 'more_waiting', url: expect.stringMatching(/\/approvals$/) });
    await ask(agent, 'npm');
    await vi.waitFor(async () => {
      await run();
      expect(await owed()).toBe(0);
    });
    expect((await send()).json).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 3_600 });
    expect(receiver.received).toHaveLength(told + 1);
    service.clock.advance(60 * MINUTE_MS);
    expect((await send()).status).toBe(200);
  });
});
