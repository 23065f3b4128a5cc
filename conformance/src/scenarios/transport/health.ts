import { randomBytes } from 'node:crypto';
import { CAPABILITIES } from '@svault/shared/schemas';
import { parseTime } from '@svault/shared';
import { VAULT_ID } from '../../binding/handshake.ts';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { STORED_TYPES } from '../../check/token-types.ts';
import { text } from '../../http/read-answer.ts';
import { PLAINLY_AN_ID, mentionIn } from '../../check/mention-in.ts';

const signedHealth = { method: 'POST', path: '/v1/health' } as const;

/** Protocol section 5.2. */
export const HEALTH_CHECKS: readonly Check[] = [
  {
    id: 'health.open',
    title: 'GET /v1/health answers 200 with status ok to anyone',
    requirements: ['HEA-01'],
    run: async ({ send }) => {
      const answer = await send({ method: 'GET', path: '/v1/health' });
      expectThat(expectOk(answer)['status'] === 'ok', answer, 'status "ok"');
    },
  },
  {
    id: 'health.anonymous',
    title: 'GET /v1/health says nothing that identifies the owner',
    requirements: ['HEA-02'],
    run: async ({ send, target }) => {
      const answer = await send({ method: 'GET', path: '/v1/health' });
      const headers = answer.headers.map((each) => each.join(': ')).join('\n');
      const ids = [target.webhookId, target.key.id, VAULT_ID];
      // A header may allow the service's origin, which is no owner's.
      const returned =
        mentionIn(text(answer), { ...target, ids }) ??
        ids.find((each) => PLAINLY_AN_ID.test(each) && headers.includes(each));
      expectThat(
        returned === undefined,
        answer,
        `neither the webhook’s id, nor the service’s address, nor a key or an account, such as ${returned ?? ''}`,
      );
    },
  },
  {
    id: 'health.needs-signature',
    title: 'POST /v1/health without a signature, or under another key, is refused',
    requirements: ['HEA-03'],
    run: async ({ send, signed, target }) => {
      expectRefusal(await send(signedHealth), 'SIGNATURE_INVALID');
      const json = { ...signedHealth, headers: [['content-type', 'application/json']], body: '{}' } as const;
      expectRefusal(await send(json), 'SIGNATURE_INVALID');
      const key = { ...target.key, secret: randomBytes(32) };
      expectRefusal(await signed(signedHealth, { key }), 'SIGNATURE_INVALID');
    },
  },
  {
    id: 'health.signed',
    title: 'POST /v1/health answers protocol, version, id, capabilities and time',
    requirements: ['HEA-04'],
    run: async ({ signed, target }) => {
      const answer = await signed(signedHealth);
      const body = expectOk(answer);
      expectOk(await signed({ ...signedHealth, body: {} }));
      expectThat(typeof body['status'] === 'string', answer, 'status as text');
      expectThat(body['protocol'] === 'v1', answer, 'protocol "v1"');
      expectThat(typeof body['version'] === 'string', answer, 'version as text');
      expectThat(body['webhookId'] === target.webhookId, answer, `webhookId ${target.webhookId}`);
      expectThat(
        typeof body['time'] === 'string' && parseTime(body['time']) !== undefined,
        answer,
        'time, in UTC',
      );
    },
  },
  {
    id: 'health.capabilities',
    title: 'POST /v1/health claims capabilities of the closed list',
    requirements: ['HEA-05'],
    run: async ({ signed }) => {
      const answer = await signed(signedHealth);
      const claimed: unknown = expectOk(answer)['capabilities'];
      const known: readonly unknown[] = CAPABILITIES;
      expectThat(
        Array.isArray(claimed) && claimed.every((each) => known.includes(each)),
        answer,
        `capabilities out of ${CAPABILITIES.join(', ')}`,
      );
    },
  },
  {
    id: 'health.token-types',
    title: 'a webhook that does not store every type lists those that it stores, PlainText among them',
    requirements: ['HEA-07'],
    claims: ['store'],
    run: async ({ signed }) => {
      const answer = await signed(signedHealth);
      const listed: unknown = expectOk(answer)['tokenTypes'] ?? STORED_TYPES;
      const known: readonly unknown[] = STORED_TYPES;
      expectThat(
        Array.isArray(listed) && listed.every((each) => known.includes(each)) && listed.includes('PlainText'),
        answer,
        `tokenTypes out of ${STORED_TYPES.join(', ')} with PlainText among them, or none`,
      );
    },
  },
];
