import { formatTime } from '@svault/shared';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HandMade } from '../support/faulty-webhook.ts';
import { twoAccounts } from '../isolation/accounts.ts';
import { LARGEST_RULES, refreshableRecord } from '../support/refreshable-record.ts';
import { DONE, FAILED, type SchedulerFixture, startSchedulerFixture } from '../support/scheduler-fixture.ts';

/* The refresh scheduler of one process. Several processes, and the reference webhook: refresh-scheduler.test.ts. */

let bench: SchedulerFixture;
beforeAll(async () => {
  bench = await startSchedulerFixture();
});
afterAll(() => bench.close());
beforeEach(() => bench.clear());

/** Nothing is asked for until so many minutes have passed, and then it is. */
async function expectAfter(minutes: number, serviceName: string): Promise<void> {
  if (minutes > 1) expect([minutes - 1, await bench.pass(minutes - 1)]).toEqual([minutes - 1, []]);
  expect([minutes, await bench.pass(1)]).toEqual([minutes, [serviceName]]);
}

describe('the refresh scheduler', () => {
  test('refreshes the tokens that expire within the hour and can be refreshed, and no others', async () => {
    const { hold, inMinutes, pass, record, webhook } = bench;
    await hold('soon');
    await hold('ended', { expiryTime: inMinutes(-600) });
    await hold('later', { expiryTime: inMinutes(63) });
    await hold('without', { hasRefreshToken: false });
    await hold('needs-its-owner', { reauthNeeded: true });
    await hold('endless');
    const { expiryTime: _none, ...endless } = record('endless');
    webhook.tokens.set('endless', endless);
    expect(await pass(0.99)).toEqual([]);
    expect(await pass(0.01)).toEqual(['ended', 'soon']);
    expect(await pass(1)).toEqual([]);
    expect(await pass(1)).toEqual(['later']);
  });

  test('reads page by page, and refreshes only tokens of the account', async () => {
    const { attempts, hold, inMinutes, pass, record, webhook } = bench;
    const lists: Record<string, unknown>[] = [];
    const names = ['a', 'b', 'c'];
    for (const name of names) await hold(name);
    webhook.list = (operation) => {
      lists.push(operation);
      const page = Number(operation['cursor'] ?? '0');
      const items = [record(names[page] ?? 'x'), record(`made-up-${page}`)];
      return { items, ...(page < 2 && { nextCursor: String(page + 1) }) };
    };
    expect(await pass(1)).toEqual(names);
    const list = { op: 'tokens.list', limit: 100, expiresBefore: inMinutes(60) };
    expect(lists).toEqual([list, { ...list, cursor: '1' }, { ...list, cursor: '2' }]);
    expect((await attempts()).map((row) => row.service_name)).toEqual(names);
  });

  test('is not blocked by an endless or malformed list', async () => {
    const { hold, pass, webhook } = bench;
    await hold('soon');
    let pages = 0;
    webhook.list = () => ({ items: [], nextCursor: String(++pages) });
    expect([await pass(1), pages]).toEqual([[], 200]);
    webhook.list = () => ({ items: [{ serviceName: 'soon' }] });
    expect(await pass(1)).toEqual([]);
    webhook.list = undefined;
    expect(await pass(1)).toEqual(['soon']);
  });

  test('serves a list whose pages take 9 s each for one slice of 10 s, and then at ever longer intervals', async () => {
    const { backstage, hold, pass, record, webhook } = bench;
    await hold('soon');
    let pages = 0;
    webhook.list = () => {
      backstage.clock.advance(9_000);
      return { items: [record(`made-up-${pages}`)], nextCursor: String(++pages) };
    };
    const turns: [number, number][] = [];
    for (let minute = 1; minute <= 16; minute++) {
      pages = 0;
      await pass(1);
      if (pages > 0) turns.push([minute, pages]);
    }
    expect(turns).toEqual([
      [1, 2],
      [2, 2],
      [4, 2],
      [8, 2],
      [16, 2],
    ]);
    expect((await bench.look()).setAside.reason).toBe('slow');
    webhook.list = undefined;
    expect(await pass(17)).toEqual(['soon']);
    expect(await bench.look()).not.toHaveProperty('setAside');
  });

  test('serves slow tokens after those of other accounts', async () => {
    const { backstage, hold, pass } = bench;
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((letter) => `patient-${letter}`);
    for (const name of names) await hold(name);
    bench.outcome = (name) => {
      backstage.clock.advance(1_900);
      return bench.renew(name, 600);
    };
    expect(await pass(1)).toEqual(names);
    expect(await bench.look()).not.toHaveProperty('setAside');
  });

  test('reads a page that is too large in smaller ones', async () => {
    const { hold, inMinutes, pass, record, webhook } = bench;
    const limits: unknown[] = [];
    const names = Array.from({ length: 5 }, (_, index) => `large-${index}`);
    for (const name of names) await hold(name);
    const allowedHosts = Array.from(
      { length: 100 },
      (_, n) => `${String(n).padStart(3, '0')}.${'x'.repeat(250)}`,
    );
    const provider = { tokenUrl: `https://${'x'.repeat(2_040)}`, clientId: 'c'.repeat(2_048) };
    webhook.list = ({ limit, cursor = '0' }) => {
      limits.push(limit);
      const [from, to] = [Number(cursor), Number(cursor) + Number(limit)];
      const items = names.slice(from, to).map((name) => {
        const one = record(name, { allowedHosts, requests: LARGEST_RULES, expiryTime: inMinutes(30) });
        return { ...one, provider: { ...one.provider, ...provider } };
      });
      return { items, ...(to < names.length && { nextCursor: String(to) }) };
    };
    expect(await pass(1)).toEqual(names);
    expect(limits).toEqual([100, 20, 2, 2, 2]);
  });

  test('reads an endless answer up to its limit, and sets the webhook aside', async () => {
    const { hold, pass, webhook } = bench;
    await hold('soon');
    webhook.list = () => ({ items: Array.from({ length: 100_000 }, () => 0) });
    expect(await pass(1)).toEqual([]);
    expect((await bench.look()).setAside.reason).toBe('unusable_answers');
    const lists = () => webhook.served.filter(({ op }) => op === 'tokens.list').length;
    expect(lists()).toBe(3);
    await pass(1);
    await pass(1);
    expect(lists()).toBe(6);
  });

  test('refreshes a token of an hour each time that a third of its life is left', async () => {
    await bench.hold('hourly');
    bench.outcome = (name) => bench.renew(name, 60);
    await expectAfter(1, 'hourly');
    await expectAfter(40, 'hourly');
    await expectAfter(40, 'hourly');
    // The same where the webhook accepts the notice and refreshes a moment later.
    bench.outcome = (name) => (bench.renew(name, 60), { status: 202, answer: { accepted: true } });
    await expectAfter(40, 'hourly');
    await expectAfter(40, 'hourly');
  });
});

describe('the refresh scheduler after failures', () => {
  test('doubles the pause from a minute to an hour, across a restart', async () => {
    await bench.hold('failing');
    bench.outcome = () => FAILED;
    await expectAfter(1, 'failing');
    for (const minutes of [1, 2, 4, 8, 16]) await expectAfter(minutes, 'failing');
    bench.startScheduler();
    for (const minutes of [32, 60, 60]) await expectAfter(minutes, 'failing');
    expect(await bench.attempts()).toMatchObject([{ failures: 9 }]);
    bench.outcome = (name) => bench.renew(name, 600);
    await expectAfter(60, 'failing');
    expect(await bench.attempts()).toMatchObject([{ failures: 0 }]);
  });

  test('shortens a pause by up to a random quarter', async () => {
    await bench.hold('failing');
    bench.outcome = () => FAILED;
    bench.startScheduler(0.8);
    await bench.pass(1);
    const nextAt = formatTime(bench.backstage.clock.now() + 48_000);
    expect(await bench.attempts()).toMatchObject([{ next_at: nextAt }]);
  });

  test('ignores pauses from before the clock was set back a year', async () => {
    const { clock } = bench.backstage;
    const yearMs = 365 * 24 * 3_600_000;
    await bench.hold('failing');
    bench.outcome = () => FAILED;
    clock.jump(yearMs);
    expect(await bench.pass(1)).toEqual(['failing']);
    clock.jump(-yearMs);
    expect(await bench.pass(1)).toEqual(['failing']);
  });

  test('deletes attempts after a day', async () => {
    await bench.hold('gone');
    bench.outcome = () => FAILED;
    await bench.pass(1);
    bench.webhook.tokens.delete('gone');
    expect([await bench.pass(5), (await bench.attempts()).length]).toEqual([[], 1]);
    await bench.pass(25 * 60);
    expect(await bench.attempts()).toEqual([]);
  });
});

describe('token_refresh', () => {
  // spec: token_refresh | 10 per hour per token/service | Scheduled and on-demand refresh.
  test('is shared with the owner: the scheduler waits for the next window and counts no failure', async () => {
    const { admin } = bench.backstage;
    await bench.hold('popular');
    bench.outcome = () => DONE;
    for (let n = 0; n < 10; n++) {
      const answer = await admin('POST', '/api/tokens/popular/refresh');
      expect([n, answer.json.outcome]).toEqual([n, 'refreshed']);
    }
    const { status, json } = await admin('POST', '/api/tokens/popular/refresh');
    expect([status, json.code, json.retryAfter]).toEqual([429, 'RATE_LIMITED', 3_600]);
    bench.outcome = (name) => bench.renew(name, 600);
    await expectAfter(60, 'popular');
    expect(await bench.attempts()).toMatchObject([{ failures: 0 }]);
  });
});

describe('the refresh scheduler and a vault', () => {
  test('that is locked or unbound makes no call', async () => {
    const { backstage, pass, webhook } = bench;
    await bench.hold('soon');
    const lists = () => webhook.served.filter(({ op }) => op === 'tokens.list').length;
    await backstage.admin('POST', '/api/vault/lock');
    expect([await pass(1), lists()]).toEqual([[], 0]);
    await backstage.admin('POST', '/api/vault/unlock');
    await backstage.admin('DELETE', '/api/webhook');
    expect([await pass(1), lists()]).toEqual([[], 0]);
    await bench.bind();
    expect([await pass(1), lists()]).toEqual([['soon'], 1]);
  });

  test.each([
    ['locked', 'POST', '/api/vault/lock'],
    ['unbound', 'DELETE', '/api/webhook'],
  ])('that is %s during its slice makes no further call', async (_what, method, path) => {
    const { admin } = bench.backstage;
    for (const name of ['a', 'b', 'c']) await bench.hold(name);
    bench.outcome = async (name) => {
      if (bench.asked.length === 1) await admin(method, path);
      return bench.renew(name, 600);
    };
    const asked = await bench.pass(1);
    await admin('POST', '/api/vault/unlock');
    await bench.bind();
    expect(asked).toEqual(['a']);
  });

  test('whose webhook goes offline makes no further call in that minute, and loses nothing', async () => {
    const names = ['a', 'b', 'c'];
    for (const name of names) await bench.hold(name);
    let broken = 0;
    bench.webhook.fault = (path) => (path === '/v1/refresh-notify' && ++broken > 0 ? 'break' : undefined);
    expect([await bench.pass(1), broken]).toEqual([[], 1]);
    bench.webhook.fault = undefined;
    await bench.look();
    const asked = [...(await bench.pass(1)), ...(await bench.pass(1))];
    expect(asked.toSorted()).toEqual(names);
  });
});

test('a webhook that never answers does not delay the tokens of other accounts', async () => {
  const { owner, stranger, service, stop } = await twoAccounts();
  const calls: string[] = [];
  const slow = Promise.withResolvers<undefined>();
  for (const { call, webhook } of [owner, stranger]) {
    await call('POST', '/api/tokens', { body: { serviceName: 'soon', tokenType: 'JWT' } });
    webhook.tokens.set('soon', refreshableRecord('soon'));
    webhook.refresh = (path) => (calls.push(path), DONE);
  }
  let first = true;
  for (const { webhook } of [owner, stranger])
    webhook.fault = (path) => {
      const waits = first && path === '/v1/refresh-notify';
      if (waits) first = false;
      return waits ? slow.promise : undefined;
    };
  service.clock.advance(60_000);
  await expect.poll(() => calls).toEqual(['/v1/refresh-notify']);
  slow.resolve(undefined);
  await expect.poll(() => calls.length).toBe(2);
  await stop();
});

test('stop starts nothing new, and waits for the refresh in flight', async () => {
  for (const name of ['a', 'b']) await bench.hold(name);
  const scheduler = bench.startScheduler();
  const gate = Promise.withResolvers<HandMade>();
  bench.outcome = () => gate.promise;
  const ticking = bench.pass(1);
  await expect.poll(() => bench.asked).toEqual(['a']);
  const stopping = scheduler.stop();
  gate.resolve(DONE);
  await stopping;
  expect(await ticking).toEqual(['a']);
});
