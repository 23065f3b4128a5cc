import { tracesOf } from '@svault/test-kit/secret-forms';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Answer, Call } from '../support/management-service.ts';
import { addMember } from '../support/members.ts';
import { makeBrowser } from '../support/receivers.ts';
import { stepsOn } from '../support/service-steps.ts';
import { useService } from '../support/use-service.ts';

// Channels of notifications as owners and members manage them; test/notifications has what arrives.

const service = useService({ SV_LIMIT_MANAGEMENT_WRITE: '10000' });
const SLACK_URL = 'https://hooks.slack.com/services/T0/B0/canary-of-a-slack-channel';
const WEBHOOK_URL = 'https://hooks.example.com/approvals';

/** Each at a time of its own. */
const makeBy = (call: Call, body: object): Promise<Answer> => {
  service.clock.advance(1);
  return call('POST', '/api/notifications', { body: { name: 'on call', ...body } });
};
const make = (body: object): Promise<Answer> => makeBy(service.admin, body);
const browser = (endpoint = 'https://push.example.com/canary-of-a-browser') => ({
  type: 'push',
  subscription: { endpoint, keys: makeBrowser().keys },
});
const listBy = async (call: Call): Promise<{ id: string; type: string; name: string; target: string }[]> =>
  (await call('GET', '/api/notifications?limit=100')).json.items;
const remove = (id: string): Promise<Answer> => service.admin('DELETE', `/api/notifications/${id}`);
const log = () => stepsOn(service.running.url, service.admin).log();

beforeEach(async () => {
  for (const { id } of await listBy(service.admin)) await remove(id);
});

describe('a channel', () => {
  test('is made, listed and deleted, each with an event', async () => {
    const { status, json } = await make({ type: 'webhook', url: WEBHOOK_URL });
    const { channel } = json;
    expect([status, json]).toEqual([
      201,
      {
        channel: {
          id: expect.stringMatching(/^nch_[\w-]{22}$/),
          type: 'webhook',
          name: 'on call',
          target: WEBHOOK_URL,
          createdAt: new Date(service.clock.now()).toISOString(),
        },
        secret: expect.stringMatching(/^[\w-]{43}$/),
      },
    ]);
    expect(await listBy(service.admin)).toEqual([channel]);
    expect((await remove(channel.id)).status).toBe(204);
    expect(await listBy(service.admin)).toEqual([]);
    expect((await remove(channel.id)).json.code).toBe('NOT_FOUND');
    const detail = { channelId: channel.id, name: 'on call', type: 'webhook' };
    expect((await log()).slice(0, 2)).toMatchObject([
      { eventType: 'NOTIFICATION_DELETED', detail },
      { eventType: 'NOTIFICATION_CREATED', detail: { ...detail, target: WEBHOOK_URL } },
    ]);
  });

  test('shows no secret after it was made, and keeps none that can be read', async () => {
    const webhook = await make({ type: 'webhook', url: WEBHOOK_URL });
    await make({ type: 'slack', url: SLACK_URL });
    await make(browser());
    expect((await listBy(service.admin)).map(({ target }) => target)).toEqual([
      WEBHOOK_URL,
      'https://hooks.slack.com/…',
      'https://push.example.com/…',
    ]);
    const seen = Buffer.concat([
      Buffer.from((await service.admin('GET', '/api/notifications')).text),
      Buffer.from((await service.admin('GET', '/api/audit?limit=100')).text),
      Buffer.from((await service.admin('GET', '/api/account/export')).text),
      await service.place.state.bytes(),
    ]);
    for (const secret of [webhook.json.secret, 'canary-of-a-slack-channel', 'canary-of-a-browser'])
      expect(tracesOf(secret, seen)).toEqual([]);
  });

  test('is in the export of the account', async () => {
    const { channel } = (await make({ type: 'slack', url: SLACK_URL })).json;
    expect((await service.admin('GET', '/api/account/export')).json.notificationChannels).toEqual([channel]);
  });

  test('is one of at most twenty, browsers aside', async () => {
    const bodies = Array.from({ length: 20 }, () => ({ type: 'slack', url: SLACK_URL }));
    for (const body of bodies) expect((await make(body)).status).toBe(201);
    expect((await make({ type: 'slack', url: SLACK_URL })).json.code).toBe('CONFLICT');
    expect((await make(browser())).status).toBe(201);
  });

  test.each([
    ['type', { type: 'sms' }],
    ['type', { type: 'email', address: 'a@example.org' }],
    ['name', { type: 'slack', url: SLACK_URL, name: 'a\nb' }],
    ['url', { type: 'slack' }],
    ['url', { type: 'slack', url: 'http://hooks.slack.com/x' }],
    ['url', { type: 'slack', url: 'https://user:password@hooks.slack.com/x' }],
    ['url', { type: 'webhook', url: `${WEBHOOK_URL}?a=b` }],
    ['url', { type: 'webhook', url: `${WEBHOOK_URL}/` }],
    ['url', { ...browser(), url: WEBHOOK_URL }],
    ['address', { type: 'slack', url: SLACK_URL, address: 'a@example.org' }],
    ['subscription', { type: 'push' }],
    ['subscription.endpoint', browser('http://push.example.com/x')],
    [
      'subscription.keys.p256dh',
      {
        type: 'push',
        subscription: {
          endpoint: 'https://push.example.com/x',
          keys: { ...makeBrowser().keys, p256dh: Buffer.alloc(65, 4).toString('base64url') },
        },
      },
    ],
    [
      'subscription.keys.auth',
      {
        type: 'push',
        subscription: { endpoint: 'https://push.example.com/x', keys: { ...makeBrowser().keys, auth: 'YQ' } },
      },
    ],
  ])('with an invalid %s is rejected (%#)', async (path, body) => {
    const { status, json } = await make(body);
    expect([status, json.issues[0].path]).toEqual([422, path]);
  });
});

describe('a browser', () => {
  test('replaces itself, and a sixth one of a person the first', async () => {
    const name = (index: number) => `browser ${index}`;
    for (let made = 1; made <= 6; made += 1)
      await make({ ...browser(`https://push.example.com/${made}`), name: name(made) });
    await make({ ...browser('https://push.example.com/3'), name: 'again' });
    expect((await listBy(service.admin)).map((each) => each.name)).toEqual([
      ...[2, 4, 5, 6].map(name),
      'again',
    ]);
  });

  test('is all that a member may add, see, test and delete', async () => {
    const member = await addMember(service, 'member');
    const other = await addMember(service, 'member');
    const { channel } = (await make({ type: 'slack', url: SLACK_URL })).json;
    expect((await makeBy(member.session, { type: 'slack', url: SLACK_URL })).json.code).toBe('FORBIDDEN');
    const own = (await makeBy(member.session, browser())).json.channel;
    expect(own.userId).toBe(member.id);
    expect(await listBy(member.session)).toEqual([own]);
    expect(await listBy(other.session)).toEqual([]);
    expect((await listBy(service.admin)).map(({ id }) => id)).toEqual([channel.id, own.id]);
    for (const [call, id] of [
      [member.session, channel.id],
      [other.session, own.id],
    ] as const) {
      expect((await call('DELETE', `/api/notifications/${id}`)).json.code).toBe('NOT_FOUND');
      expect((await call('POST', `/api/notifications/${id}/test`)).json.code).toBe('NOT_FOUND');
    }
    expect((await member.session('DELETE', `/api/notifications/${own.id}`)).status).toBe(204);
  });

  test('is gone with its person', async () => {
    const member = await addMember(service, 'member');
    await makeBy(member.session, browser());
    await service.admin('DELETE', `/api/members/${member.id}`);
    expect(await listBy(service.admin)).toEqual([]);
  });
});

test('what channels there can be follows the settings', async () => {
  const { json } = await service.admin('GET', '/api/notifications/options');
  expect(json.types).toEqual(['webhook', 'slack', 'push']);
  expect(Buffer.from(json.pushKey as string, 'base64url')).toHaveLength(65);
});
