/** CORS of `/v1/store` beyond the conformance suite: a base URL with a path, and answers before the ticket is read. */
import { expect, it } from 'vitest';
import { fixtureOfTest, storePlain, storeTicket } from '../support/webhook-fixture.ts';

/** Scheme, host and port of the service's base URL, which has a path as well. */
const ORIGIN = 'https://vault.example';

// spec: POST /v1/store | browser | Direct credential storage with a signed ticket issued by the service.
it('the origin of the bound control plane can read every response, once the binding is complete', async () => {
  const fixture = await fixtureOfTest();
  expect((await storePlain(fixture, 'a.b.c', { origin: ORIGIN })).json.code).toBe('ORIGIN_NOT_ALLOWED');
  const ticket = storeTicket(fixture, await fixture.bind());
  const headers = { origin: ORIGIN, 'content-type': 'application/json' };
  const body = Buffer.alloc(1024 * 1024 + 1, 32);
  const answers = [
    await storePlain(fixture, ticket, { origin: ORIGIN }),
    await storePlain(fixture, ticket, { origin: ORIGIN }),
    await fixture.send({ method: 'PUT', path: '/v1/store', headers }),
    await fixture.send({ method: 'POST', path: '/v1/store', headers, body }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 405, 413]);
  for (const { headers: given } of answers)
    expect([given['access-control-allow-origin'], given['vary']]).toEqual([ORIGIN, 'Origin']);
});

it('no other spelling of the origin can, nor two origins, and the ticket stays unused', async () => {
  const fixture = await fixtureOfTest();
  const ticket = storeTicket(fixture, await fixture.bind());
  for (const origin of [
    `${ORIGIN}:8443`,
    'https://VAULT.example',
    `${ORIGIN}/base`,
    `${ORIGIN}.evil.test`,
    '',
  ]) {
    const refused = await storePlain(fixture, ticket, { origin });
    expect([origin, refused.status, refused.json.code]).toEqual([origin, 403, 'ORIGIN_NOT_ALLOWED']);
    expect(refused.headers['access-control-allow-origin']).toBeUndefined();
  }
  const rawHeaders = ['origin', ORIGIN, 'origin', ORIGIN];
  const twice = await fixture.send({ method: 'POST', path: '/v1/store', rawHeaders });
  expect(twice.json.code).toBe('ORIGIN_NOT_ALLOWED');
  expect((await storePlain(fixture, ticket)).status).toBe(200);
});
