import { afterEach, beforeEach, expect, it } from 'vitest';
import { type WebhookFixture, credentialTicket, startFixture } from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.stop());

const REQUESTS = 300;
const lines = (message: string): Record<string, unknown>[] =>
  fixture
    .logged()
    .split('\n')
    .filter((line) => line.includes(`"${message}"`) && !line.includes('"level":"debug"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

it('wrong tickets and signatures without any key take two lines a minute for each reason', async () => {
  const side = await fixture.bind();
  const ticket = credentialTicket(fixture, side);
  for (let n = 0; n < REQUESTS; n += 1) {
    await fixture.send({ path: `/v1/credential?ticket=${ticket.slice(0, -n % 20 || -1)}x` });
    await fixture.send({ method: 'POST', path: '/v1/health', headers: { signature: `x${n}` } });
    await fixture.sendSigned({ key: { id: `unknown-${n}`, secret: Buffer.alloc(32, 1) } });
  }
  const [tickets, requests] = [lines('a ticket was refused'), lines('a signed request was refused')];
  expect(tickets.length).toBeLessThan(10);
  expect(requests.length).toBeLessThan(10);

  fixture.clock.advance(60_000);
  await fixture.send({ path: '/v1/credential?ticket=x' });
  const counted = (found: Record<string, unknown>[]): number =>
    found.reduce((sum, { further }) => sum + (typeof further === 'number' ? further : 1), 0);
  expect(counted(lines('a ticket was refused'))).toBe(REQUESTS + 1);
  expect(counted(lines('a signed request was refused'))).toBeGreaterThanOrEqual(REQUESTS);
});
