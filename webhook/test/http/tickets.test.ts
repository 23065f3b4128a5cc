/** What is accepted is accepted once, and nothing that is over: signed requests and tickets alike (R4, R5, R19). */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { createTicketAuthenticator } from '../../src/http/authenticate-ticket.ts';
import {
  type WebhookFixture,
  type ServiceSide,
  credentialTicket,
  fixtureOfTest,
  storePlain,
  storeTicket,
} from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
let side: ServiceSide;
beforeEach(async () => {
  fixture = await fixtureOfTest();
  side = await fixture.bind();
  await storePlain(fixture, storeTicket(fixture, side));
});

const LIST = { path: '/v1/storage', body: { op: 'tokens.list' } };
/** A function that sends one signed message, and returns the status of its answer. */
type Use = () => Promise<number>;
const message: Readonly<Record<string, () => Use>> = {
  'a signed request': () => {
    const headers = fixture.sign({ ...LIST, key: side.key });
    const call = { method: 'POST', path: LIST.path, headers, body: JSON.stringify(LIST.body) };
    return async () => (await fixture.send(call)).status;
  },
  'a ticket for a credential': () => {
    const path = `/v1/credential?ticket=${credentialTicket(fixture, side)}`;
    return async () => (await fixture.send({ path })).status;
  },
  'a ticket for a store': () => {
    const ticket = storeTicket(fixture, side, { exp: Math.floor(fixture.clock.now() / 1000) + 60 });
    return async () => (await storePlain(fixture, ticket)).status;
  },
};

describe.each(Object.entries(message))('%s', (_what, make) => {
  it('is accepted once, also of 20 at a time and after a restart', async () => {
    const [used, unused] = [make(), make()];
    const statuses = await Promise.all(Array.from({ length: 20 }, used));
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, ...Array<number>(19).fill(401)]);
    await fixture.restart();
    expect([await used(), await unused()]).toEqual([401, 200]);
    expect(fixture.logged()).toContain('"reason":"replayed"');
  });

  it('lives again by no clock that is set back, whether it was used or not', async () => {
    const [used, unused] = [make(), make()];
    expect(await used()).toBe(200);
    fixture.clock.advance(91_000);
    expect(await unused()).toBe(401);
    fixture.clock.jump(-91_000);
    expect([await used(), await unused()]).toEqual([401, 401]);
    await fixture.restart();
    expect([await used(), await unused()]).toEqual([401, 401]);
  });

  it('is refused if it was made up to 30 s after a restore from a backup', async () => {
    const early = make();
    fixture.query(`UPDATE epochs SET restored = 1, started_at = ${fixture.clock.now()}`);
    await fixture.restart();
    expect(await early()).toBe(401);
    fixture.clock.advance(30_000);
    expect(await make()()).toBe(401);
    fixture.clock.advance(1_000);
    expect(await make()()).toBe(200);
    expect(fixture.logged()).toContain('"reason":"before_restore"');
  });
});

it('a ticket is consumed for all processes on the same data', async () => {
  const [here, there] = [credentialTicket(fixture, side), credentialTicket(fixture, side)];
  const statusOf = async (ticket: string) =>
    (await fixture.send({ path: `/v1/credential?ticket=${ticket}` })).status;
  const { clock } = fixture;
  const context = await openContext(webhookConfig(fixture.env), { clock, logger: silentLogger });
  const tickets = createTicketAuthenticator({ ...context, clock, logger: silentLogger });
  expect((await tickets.authenticate('credential', there)).op).toBe('credential');
  expect([await statusOf(there), await statusOf(here)]).toEqual([401, 200]);
  await expect(tickets.authenticate('credential', here)).rejects.toMatchObject({ code: 'TICKET_INVALID' });
  context.close();
});

it('a rejected ticket has its reason in the log, and never the ticket itself', async () => {
  const ticket = credentialTicket(fixture, side, { aud: 'whk_another' });
  await fixture.send({ path: `/v1/credential?ticket=${ticket}` });
  await fixture.sendSigned({ ...LIST, key: side.key, nowMs: fixture.clock.now() + 31_000 });
  for (const reason of ['audience', 'not_yet_valid'])
    expect(fixture.logged()).toContain(`"reason":"${reason}"`);
  expect(fixture.logged()).not.toContain(ticket);
});

describe('a clock that ran ahead', () => {
  const statusAt = async (shiftMs: number, ttlSeconds = 60): Promise<number> => {
    const nowMs = fixture.clock.now() + shiftMs;
    return (await fixture.sendSigned({ ...LIST, key: side.key, nowMs, ttlSeconds })).status;
  };

  it('does not block the control plane once it is right', async () => {
    fixture.clock.jump(86_400_000);
    expect(await statusAt(-86_400_000)).toBe(401);
    await fixture.restart();
    fixture.clock.jump(-86_400_000);
    expect(await statusAt(0)).toBe(200);
  });

  it('within the tolerance fails no request once it is right', async () => {
    fixture.clock.jump(89_000);
    expect(await statusAt(-89_000)).toBe(200);
    fixture.clock.jump(-89_000);
    expect([await statusAt(-1_000), await statusAt(-5_000, 30)]).toEqual([200, 200]);
  });
});

it('expired claims are erased', async () => {
  for (let round = 0; round < 5; round += 1) await fixture.sendSigned({ ...LIST, key: side.key });
  fixture.clock.advance(600_000);
  expect((await fixture.sendSigned({ ...LIST, key: side.key })).status).toBe(200);
  await fixture.restart();
  await expect
    .poll(() => fixture.query<{ n: number }>('SELECT count(*) AS n FROM claims')[0]!.n)
    .toBeLessThanOrEqual(1);
});
