import { newKey } from '@svault/shared';
import { afterEach, expect, test } from 'vitest';
import { type CommandLine, commandLine } from './command-line.ts';
import { type FakeServer, fakeServer } from './fake-servers.ts';

let service: FakeServer;
let admin: CommandLine;
afterEach(async () => {
  await service.close();
  admin.remove();
});

/** A service whose history is pages of so many events, without an end. */
async function historyOf(size: (limit: number) => number): Promise<void> {
  let events = 0;
  service = await fakeServer(({ path }) => {
    const limit = Number(new URL(path, 'http://service').searchParams.get('limit'));
    const items = Array.from({ length: size(limit) }, () => ({
      id: `evt_${(events += 1)}`,
      eventType: 'TOKEN_CREATED',
      timestamp: '2026-11-20T12:00:00.000Z',
      outcome: 'success',
    }));
    return { status: 200, body: { items, nextCursor: `after-${events}` } };
  });
  admin = commandLine({ SVAULT_BASE_URL: service.url, SVAULT_KEY: newKey('svadmin') });
}

const history = async (limit: number): Promise<number> => {
  const { out } = await admin.svault(['tk', 'history', 'x', '--limit', String(limit), '--format', 'name']);
  return out.split('\n').length - 1;
};
const asked = (): (string | undefined)[] => service.received.map(({ path }) => path.split('?')[1]);

test('a list is asked for page by page, and for no more than is wanted', async () => {
  await historyOf((limit) => limit);
  expect(await history(250)).toBe(250);
  expect(asked()).toEqual(['limit=100', 'limit=100&cursor=after-100', 'limit=50&cursor=after-200']);
});

test('what a control plane gives beyond what was asked for is left out', async () => {
  await historyOf((limit) => limit + 7);
  expect(await history(3)).toBe(3);
  expect(asked()).toEqual(['limit=3']);
});
