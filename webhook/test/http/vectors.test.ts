import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock } from '@svault/shared';
import { keyPurpose } from '../../src/binding/binding-store.ts';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { createBindingStore } from '../../src/sqlite/binding-store.ts';
import { type Answer, type WebhookFixture, startFixture } from '../support/webhook-fixture.ts';

/**
 * The frozen vectors of shared/vectors, made by openssl, sent to the webhook over HTTP: what the library refuses must
 * not be let in by the way it is mounted, nor the other way round.
 */

interface Expected {
  readonly name: string;
  readonly expect: 'accept' | 'refuse';
  readonly reason?: string;
  readonly now: number;
}
interface RequestVector extends Expected {
  readonly key: string;
  readonly request: {
    readonly method: string;
    readonly authority: string;
    readonly path: string;
    readonly query: string;
    readonly headers: ReadonlyArray<readonly [string, string]>;
    readonly body: string;
  };
}
interface TicketVector extends Expected {
  readonly op: string;
  readonly keys: Readonly<Record<string, string>>;
  readonly ticket: string;
}

const read = <T>(name: string): readonly T[] => {
  const file = new URL(`../../../shared/vectors/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { vectors: T[] }).vectors;
};

/** A webhook bound to a service that has the vectors' ids and one of their keys. */
async function startBound(webhookUrl: string, keyId: string, secretHex: string): Promise<WebhookFixture> {
  const fixture = await startFixture({
    env: { SV_WEBHOOK_URL: webhookUrl, SV_WEBHOOK_SERVICE_URL: 'https://service.example' },
    clock: new ManualClock(1_767_225_600_000),
  });
  const { clock } = fixture;
  const context = await openContext(webhookConfig(fixture.env), { clock, logger: silentLogger });
  const store = createBindingStore(context.db, context.keyring);
  context.db.transaction(() => {
    const wrappedSecret = context.keyring.wrap(Buffer.from(secretHex, 'hex'), keyPurpose(keyId));
    const binding = { webhookId: 'whk_1', serviceBaseUrl: 'https://service.example', vaultId: 'vlt_1' };
    store.startBinding(binding, { id: keyId, wrappedSecret });
    store.activatePendingKey(0);
  })();
  context.close();
  return fixture;
}

const lastReason = (fixture: WebhookFixture): string | undefined =>
  [...fixture.logged().matchAll(/"reason":"([a-z_]+)"/g)].at(-1)?.[1];

const ENDPOINT = /\/v1\/(?:storage|health)$/;
/** What these two say is decided before the signature: there is no such method, or no such endpoint, here. */
const DECIDED_BEFORE = new Set([
  'another method',
  'the method in other letter case',
  'the same path in another spelling',
]);

const requests = read<RequestVector>('request-signatures').filter(
  ({ name, request }) => ENDPOINT.test(request.path) && !DECIDED_BEFORE.has(name),
);
const keyIdOf = ({ request }: RequestVector): string =>
  /keyid="(k+)"/.exec(request.headers.flat().join(' '))?.[1] ?? 'k1';
const addressOf = ({ request }: RequestVector): string =>
  `https://${request.authority}${request.path.replace(ENDPOINT, '')}`;
const homes = Map.groupBy(requests, (vector) => `${addressOf(vector)} ${keyIdOf(vector)}`);

describe.each([...homes])('request vectors of %s', (_home, vectors) => {
  let fixture: WebhookFixture;
  beforeAll(async () => {
    const [first] = vectors;
    fixture = await startBound(
      addressOf(first!),
      keyIdOf(first!),
      '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
    );
  });
  afterAll(() => fixture.stop());

  it.each(vectors.map((vector) => [vector.expect, vector.name, vector] as const))(
    '%s: %s',
    async (_expected, _name, { request, expect: expected, reason, now }) => {
      fixture.clock.jump(now * 1000 - fixture.clock.now());
      fixture.query('DELETE FROM claims');
      const { status, json } = await fixture.send({
        method: request.method,
        path: request.path + request.query,
        rawHeaders: request.headers.flat(),
        ...(request.body !== '' && { body: request.body }),
      });
      if (expected === 'accept') {
        expect(json.code).not.toBe('SIGNATURE_INVALID');
        expect(status).toBeLessThan(500);
      } else {
        expect([status, json.code]).toEqual([401, 'SIGNATURE_INVALID']);
        expect(lastReason(fixture)).toBe(reason);
      }
    },
  );
});

describe('ticket vectors', () => {
  let fixture: WebhookFixture;
  beforeAll(async () => {
    fixture = await startBound(
      'https://hook.example',
      'k1',
      '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
    );
  });
  afterAll(() => fixture.stop());

  const tickets = read<TicketVector>('tickets').filter(({ op }) => op !== 'proxy');
  it.each(tickets.map((vector) => [vector.expect, vector.name, vector] as const))(
    '%s: %s',
    async (_expected, _name, { op, ticket, expect: expected, reason, now }) => {
      fixture.clock.jump(now * 1000 - fixture.clock.now());
      fixture.query('DELETE FROM claims');
      const answer = op === 'credential' ? await fetchWith(ticket) : await storeWith(ticket);
      if (expected === 'accept') expect(answer.status).not.toBe(401);
      else {
        expect([answer.status, answer.json.code]).toEqual([401, 'TICKET_INVALID']);
        expect(lastReason(fixture)).toBe(reason);
      }
    },
  );

  const fetchWith = (ticket: string): Promise<Answer> =>
    fixture.send({ path: `/v1/credential?ticket=${encodeURIComponent(ticket)}` });
  const storeWith = (ticket: string): Promise<Answer> =>
    fixture.send({
      method: 'POST',
      path: '/v1/store',
      headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
      body: '{"tokenType":"PlainText","value":"v"}',
    });
});
