import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rotateAnswerSchema } from '@svault/shared/schemas';
import type { HmacKey } from '@svault/shared';
import {
  type WebhookFixture,
  type ServiceSide,
  credentialTicket,
  keyOf,
  startFixture,
  storePlain,
  storeTicket,
} from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
let side: ServiceSide;
beforeEach(async () => {
  fixture = await startFixture();
  side = await fixture.bind();
});
afterEach(() => fixture.stop());

const MINUTE = 60_000;

async function rotate(key: HmacKey = side.key): Promise<HmacKey> {
  const { status, json } = await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key });
  expect(status).toBe(200);
  return keyOf(rotateAnswerSchema.parse(json));
}
const healthStatus = async (key: HmacKey): Promise<number> => (await fixture.sendSigned({ key })).status;
const keyStates = (): string[] =>
  fixture.query<{ state: string }>('SELECT state FROM binding_keys ORDER BY state').map(({ state }) => state);

describe('a rotated key', () => {
  it('is pending until a request under it is accepted; the former then holds ten minutes', async () => {
    const next = await rotate();
    expect(await healthStatus(side.key)).toBe(200);
    expect(keyStates()).toEqual(['current', 'pending']);
    expect(await healthStatus(next)).toBe(200);
    expect(keyStates()).toEqual(['current', 'former']);
    fixture.clock.advance(10 * MINUTE - 1);
    expect(await healthStatus(side.key)).toBe(200);
    fixture.clock.advance(1);
    expect(await healthStatus(side.key)).toBe(401);
    expect(await healthStatus(next)).toBe(200);
  });

  it('is not activated by a ticket, and its tickets are refused while it is pending', async () => {
    const next = await rotate();
    const ahead = { ...side, key: next };
    expect((await storePlain(fixture, storeTicket(fixture, ahead))).json.code).toBe('TICKET_INVALID');
    expect(keyStates()).toEqual(['current', 'pending']);
    expect(await healthStatus(next)).toBe(200);
    expect((await storePlain(fixture, storeTicket(fixture, ahead))).status).toBe(200);
  });

  it('leaves tickets of the former key good for ten minutes', async () => {
    await storePlain(fixture, storeTicket(fixture, side));
    await healthStatus(await rotate());
    const fetchOld = (): Promise<{ status: number }> =>
      fixture.send({ path: `/v1/credential?ticket=${credentialTicket(fixture, side)}` });
    fixture.clock.advance(10 * MINUTE - 1);
    expect((await fetchOld()).status).toBe(200);
    fixture.clock.advance(1);
    expect((await fetchOld()).status).toBe(401);
  });

  it('replaces a pending one and never the current one, so a lost answer costs nothing', async () => {
    const lost = await rotate();
    const next = await rotate();
    expect(await healthStatus(lost)).toBe(401);
    expect(await healthStatus(side.key)).toBe(200);
    expect(await healthStatus(next)).toBe(200);
  });

  it('cannot be asked for with the former key', async () => {
    const next = await rotate();
    await healthStatus(next);
    const byFormer = await fixture.sendSigned({
      path: '/v1/exchange',
      body: { op: 'rotate' },
      key: side.key,
    });
    expect([byFormer.status, byFormer.json.code]).toEqual([401, 'SIGNATURE_INVALID']);
    expect(keyStates()).toEqual(['current', 'former']);
  });

  it('asked for under the pending key activates that and makes another', async () => {
    const second = await rotate();
    const third = await rotate(second);
    expect(await healthStatus(side.key)).toBe(200);
    expect(await healthStatus(third)).toBe(200);
    // Two rotations within ten minutes: the first key of all is gone with the second activation.
    expect(await healthStatus(side.key)).toBe(401);
    expect(await healthStatus(second)).toBe(200);
  });

  it('does not come back to life when the wall clock is set back, nor after a restart', async () => {
    await healthStatus(await rotate());
    fixture.clock.advance(10 * MINUTE);
    fixture.clock.jump(-10 * MINUTE);
    expect(await healthStatus(side.key)).toBe(401);
    await fixture.restart();
    expect(await healthStatus(side.key)).toBe(401);
    expect(keyStates()).toEqual(['current']);
  });

  it('survives a restart while it is pending', async () => {
    const next = await rotate();
    await fixture.restart();
    expect(await healthStatus(next)).toBe(200);
  });

  it('is written into the log when it is activated', async () => {
    await healthStatus(await rotate());
    const events = fixture.query<{ event_type: string }>('SELECT event_type FROM audit_log ORDER BY row');
    expect(events.at(-1)!.event_type).toBe('WEBHOOK_SECRET_ROTATED');
  });

  it('is activated once by many requests at once', async () => {
    const next = await rotate();
    const answers = await Promise.all(Array.from({ length: 10 }, () => healthStatus(next)));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(keyStates()).toEqual(['current', 'former']);
  });
});

describe('a rotation', () => {
  it('refuses another op, and bodies that are no JSON, once the signature holds', async () => {
    const other = await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'other' }, key: side.key });
    expect([other.status, other.json.code]).toEqual([400, 'INVALID_REQUEST']);
    const empty = await fixture.sendSigned({ path: '/v1/exchange', key: side.key });
    expect(empty.status).toBe(400);
  });
});
