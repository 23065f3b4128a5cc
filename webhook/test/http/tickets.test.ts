import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { randomToken } from '@svault/shared';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { createTicketAuthenticator } from '../../src/http/authenticate-ticket.ts';
import {
  type Answer,
  type WebhookFixture,
  type ServiceSide,
  credentialTicket,
  startFixture,
  storePlain,
  storeTicket,
} from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
let side: ServiceSide;
beforeEach(async () => {
  fixture = await startFixture();
  side = await fixture.bind();
  await storePlain(fixture, storeTicket(fixture, side));
});
afterEach(() => fixture.stop());

const fetchWith = (ticket: string): Promise<Answer> =>
  fixture.send({ path: `/v1/credential?ticket=${ticket}` });

/** The ticket with one bit of one character turned, for each of its characters. */
const flipsOf = (ticket: string): string[] =>
  Array.from({ length: ticket.length }, (_, at) => {
    const flipped = String.fromCharCode(ticket.charCodeAt(at) ^ 1);
    return ticket.slice(0, at) + flipped + ticket.slice(at + 1);
  });

describe('a ticket', () => {
  it('is consumed by every answer', async () => {
    const ticket = credentialTicket(fixture, side, { svc: 'none such' });
    expect((await fetchWith(ticket)).status).toBe(404);
    expect((await fetchWith(ticket)).status).toBe(401);
    const store = storeTicket(fixture, side);
    const headers = { authorization: `Bearer ${store}`, 'content-type': 'application/json' };
    const bad = await fixture.send({ method: 'POST', path: '/v1/store', headers, body: '{"tokenType":"?"}' });
    expect(bad.status).toBe(400);
    expect((await storePlain(fixture, store)).status).toBe(401);
  });

  it('is consumed for every process on the same data', async () => {
    const [here, there] = [credentialTicket(fixture, side), credentialTicket(fixture, side)];
    const { clock } = fixture;
    const context = await openContext(webhookConfig(fixture.env), { clock, logger: silentLogger });
    try {
      const tickets = createTicketAuthenticator({ ...context, clock, logger: silentLogger });
      expect((await tickets.authenticate('credential', there)).op).toBe('credential');
      expect((await fetchWith(there)).status).toBe(401);
      expect((await fetchWith(here)).status).toBe(200);
      await expect(tickets.authenticate('credential', here)).rejects.toMatchObject({
        code: 'TICKET_INVALID',
      });
    } finally {
      context.close();
    }
  });

  it('blocks every other ticket with its id', async () => {
    const jti = randomToken();
    expect((await fetchWith(credentialTicket(fixture, side, { jti }))).status).toBe(200);
    expect((await fetchWith(credentialTicket(fixture, side, { jti, svc: 'other' }))).status).toBe(401);
    expect((await storePlain(fixture, storeTicket(fixture, side, { jti }))).status).toBe(401);
  });

  it('that fails verification is not consumed, and nothing is written', async () => {
    const ticket = credentialTicket(fixture, side);
    const before = fixture.rows();
    for (const changed of flipsOf(ticket)) {
      expect((await fetchWith(encodeURIComponent(changed))).status).toBe(401);
    }
    expect(fixture.rows()).toEqual(before);
    expect((await fetchWith(ticket)).status).toBe(200);
    expect(fixture.rows()).not.toEqual(before);
  });

  it('that fails verification begins no transaction', async () => {
    const ticket = credentialTicket(fixture, side);
    // Without a serve no checkpoint moves the marks that are looked at.
    await fixture.webhook.close();
    const { clock } = fixture;
    const context = await openContext(webhookConfig(fixture.env), { clock, logger: silentLogger });
    const other = new Database(`${fixture.folder}/webhook.db`, { readonly: true });
    try {
      const tickets = createTicketAuthenticator({ ...context, clock, logger: silentLogger });
      const marks = (): unknown => [
        other.pragma('data_version', { simple: true }),
        context.db.prepare('SELECT total_changes()').pluck().get(),
      ];
      const before = marks();
      for (const changed of flipsOf(ticket)) {
        await expect(tickets.authenticate('credential', changed)).rejects.toMatchObject({
          code: 'TICKET_INVALID',
        });
      }
      expect(marks()).toEqual(before);
      await tickets.authenticate('credential', ticket);
      expect(marks()).not.toEqual(before);
    } finally {
      other.close();
      context.close();
    }
  });

  it('is rejected with the same bytes for every reason', async () => {
    const used = credentialTicket(fixture, side);
    await fetchWith(used);
    const now = Math.floor(fixture.clock.now() / 1000);
    const wrong = [
      used,
      'a.b.c',
      '',
      credentialTicket(fixture, side, { iat: now - 200, exp: now - 140 }),
      credentialTicket(fixture, side, { iat: now + 40, exp: now + 90 }),
      credentialTicket(fixture, side, { aud: 'whk_another' }),
      credentialTicket(fixture, side, { iss: 'https://vault.example/base/' }),
      credentialTicket(fixture, { ...side, key: { ...side.key, secret: Buffer.alloc(32) } }),
      credentialTicket(fixture, { ...side, key: { ...side.key, id: 'unknown' } }),
      storeTicket(fixture, side),
    ];
    const answers = await Promise.all(wrong.map(fetchWith));
    answers.push(await fixture.send({ path: '/v1/credential' }));
    expect(answers[0]!.json).toEqual({ error: expect.any(String), code: 'TICKET_INVALID' });
    for (const { status, text } of answers) expect([status, text]).toEqual([401, answers[0]!.text]);
    expect(fixture.logged()).toContain('"reason":"audience"');
    for (const ticket of wrong.slice(3)) expect(fixture.logged()).not.toContain(ticket);
  });

  // spec: GET /v1/credential | agent, via 307 | Returns the credential after verifying the ticket signature.
  it('is accepted once in the address, or in one bearer header', async () => {
    const ticket = credentialTicket(fixture, side);
    expect((await fixture.send({ path: `/v1/credential?ticket=${ticket}&ticket=${ticket}` })).status).toBe(
      401,
    );
    const twice = ['authorization', `Bearer ${ticket}`, 'authorization', `Bearer ${ticket}`];
    expect((await fixture.send({ path: '/v1/credential', rawHeaders: twice })).status).toBe(401);
    const bearer = await fixture.send({
      path: '/v1/credential',
      headers: { authorization: `Bearer ${ticket}` },
    });
    expect(bearer.status).toBe(200);
  });

  it('in the address is the one that counts; what arrives beside it is neither used nor logged', async () => {
    const [inQuery, inHeader] = [credentialTicket(fixture, side), credentialTicket(fixture, side)];
    const path = `/v1/credential?ticket=${inQuery}`;
    expect((await fixture.send({ path, headers: { authorization: `Bearer ${inHeader}` } })).status).toBe(200);
    expect((await fixture.send({ path, headers: { authorization: `Bearer ${inHeader}` } })).status).toBe(401);
    expect((await fetchWith(inHeader)).status).toBe(200);
    const key = `svagent_${'k'.repeat(43)}`;
    const withKey = { authorization: `Bearer ${key}`, 'x-agent-key': key };
    await fixture.send({
      path: `/v1/credential?ticket=${credentialTicket(fixture, side)}`,
      headers: withKey,
    });
    expect(fixture.logged()).not.toContain('kkkkkkkk');
  });

  it('for the store is not taken from the address', async () => {
    const ticket = storeTicket(fixture, side);
    const answer = await fixture.send({ method: 'POST', path: `/v1/store?ticket=${ticket}`, body: '{}' });
    expect(answer.status).toBe(401);
    expect((await storePlain(fixture, ticket)).status).toBe(200);
  });

  it('is rejected by HEAD and POST without being consumed', async () => {
    const ticket = credentialTicket(fixture, side);
    for (const method of ['HEAD', 'POST', 'OPTIONS']) {
      const answer = await fixture.send({ method, path: `/v1/credential?ticket=${ticket}` });
      expect([answer.status, answer.headers.allow]).toEqual([405, 'GET']);
    }
    expect((await fetchWith(ticket)).status).toBe(200);
  });
});

describe('clocks and restores', () => {
  it('a clock set back lets neither a used nor an unused ticket live again (R5)', async () => {
    const [used, unused] = [credentialTicket(fixture, side), credentialTicket(fixture, side)];
    expect((await fetchWith(used)).status).toBe(200);
    fixture.clock.advance(91_000);
    expect((await fetchWith(unused)).status).toBe(401);
    fixture.clock.jump(-91_000);
    expect((await fetchWith(unused)).status).toBe(401);
    await fixture.restart();
    expect((await fetchWith(used)).status).toBe(401);
    expect((await fetchWith(unused)).status).toBe(401);
  });

  it('30 s of skew are accepted, more are not', async () => {
    const now = Math.floor(fixture.clock.now() / 1000);
    const from = (iat: number): string => credentialTicket(fixture, side, { iat, exp: iat + 60 });
    expect((await fetchWith(from(now + 30))).status).toBe(200);
    expect((await fetchWith(from(now - 90))).status).toBe(200);
    expect((await fetchWith(from(now + 31))).status).toBe(401);
    expect((await fetchWith(from(now - 91))).status).toBe(401);
  });

  it('a restore refuses tickets issued up to 30 s after it', async () => {
    const early = credentialTicket(fixture, side);
    fixture.query(`UPDATE epochs SET restored = 1, started_at = ${fixture.clock.now()}`);
    await fixture.restart();
    expect((await fetchWith(early)).status).toBe(401);
    fixture.clock.advance(31_000);
    expect((await fetchWith(credentialTicket(fixture, side))).status).toBe(200);
  });
});
