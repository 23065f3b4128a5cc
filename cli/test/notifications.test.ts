import { newKey } from '@svault/shared';
import { expect, test } from 'vitest';
import { someone } from './command-line.ts';
import { type Received, fakeServer } from './fake-servers.ts';

const OPS = {
  ...{ id: 'nch_1', type: 'webhook', name: 'ops', target: 'https://hooks.example.com/approvals' },
  createdAt: '2026-11-20T12:00:00.000Z',
};

/** What an admin says to a control plane with this channel, and what it gets. */
async function svault(line: string, options: { readonly input?: string; readonly channel?: object } = {}) {
  const { input = '', channel = {} } = options;
  const { url, received } = await fakeServer(({ method, path }: Received) => {
    const ops = { ...OPS, ...channel };
    if (path.endsWith('/test')) return { body: ops };
    return method === 'POST'
      ? { status: 201, body: { channel: ops, ...(ops.type === 'webhook' && { secret: 'the-secret' }) } }
      : { body: { items: [ops] } };
  });
  const env = { SVAULT_BASE_URL: url, SVAULT_KEY: newKey('svadmin') };
  const outcome = await someone().svault(line.split(' '), { env, input });
  return { ...outcome, received };
}

test('create of a webhook prints its key alone on stdout, once', async () => {
  const line = 'notifications create --type webhook --name ops --url https://hooks.example.com/approvals';
  expect(await svault(line)).toMatchObject({
    code: 0,
    out: 'the-secret\n',
    err: 'the channel ops (nch_1) is created; its key, which signs its messages and is shown only once:\n',
  });
});

test('create of a Slack channel reads its address, and shows it in no dry run', async () => {
  const line = 'notifications create --type slack --name ops';
  const input = 'https://hooks.slack.example/services/T/B/secret\n';
  const { code, received } = await svault(line, { input, channel: { type: 'slack' } });
  expect(code).toBe(0);
  expect(JSON.parse(received[0]?.body ?? '')).toEqual({ type: 'slack', name: 'ops', url: input.trim() });
  const dry = await svault(`${line} --dry-run`, { input });
  expect(dry.out + dry.err).not.toContain('secret');
});

test.each([
  ['--name a', 'a channel needs a type'],
  ['--type email --name a', '--address is needed for email'],
  ['--type webhook --name a --address a@b.example', '--address is needed for email, and for nothing else'],
  ['--type webhook --name a', 'a webhook needs its address'],
  [
    '--type email --name a --address a@b.example --url https://c.example',
    '--url is of a webhook or of slack',
  ],
  ['--type slack', 'a channel needs a name'],
])('create %s is refused before anything is sent', async (flags, said) => {
  const { code, err, received } = await svault(`notifications create ${flags}`);
  expect({ code, received }).toEqual({ code: 2, received: [] });
  expect(err).toContain(said);
});

test('a message that is not delivered fails a test, and is a problem in the list until one is', async () => {
  const failure = { lastFailedAt: '2026-11-20T12:01:00.000Z', lastError: 'The server answered 500.' };
  const tested = await svault('notifications test ops', { channel: failure });
  expect(tested).toMatchObject({
    code: 1,
    err: 'ops was sent a test message\nerror: it was not delivered: The server answered 500.\n',
  });
  expect((await svault('notifications list', { channel: failure })).out).toContain(
    'The server answered 500.',
  );
  const mended = { ...failure, lastDeliveredAt: '2026-11-20T12:02:00.000Z' };
  expect((await svault('notifications list', { channel: mended })).out).not.toContain('500');
  expect(await svault('notifications test ops', { channel: mended })).toMatchObject({
    code: 0,
    err: 'ops got a test message\n',
  });
});
