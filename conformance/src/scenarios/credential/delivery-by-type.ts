import { createSealingKey } from '@svault/shared/sealed';
import type { WebhookCheck } from '../../check/check.ts';
import { expectRefusal, expectThat } from '../../check/expect.ts';
import { expectSealed } from '../../check/opened.ts';
import { text } from '../../http/read-answer.ts';
import { bodiesByType } from '../store/settings-by-type.ts';

/** What is delivered of a body whose secret is not made on demand. */
function secretOf(body: Readonly<Record<string, unknown>>): unknown {
  return body['value'] ?? body['accessToken'] ?? body['certificate'] ?? body['privateKey'];
}

/** Protocol section 5.4: `delivery` means the same for every type. */
export const DELIVERY_BY_TYPE_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'credential.proxy-only-of-each-type',
    title: 'a record for proxies alone is delivered to nobody, whatever its type',
    requirements: ['CRE-21', 'TRU-01'],
    claims: ['store', 'credential'],
    run: async (tools) => {
      for (const [type, body] of Object.entries(await bodiesByType(tools))) {
        const name = await tools.given.record({ ...body, delivery: 'proxy-only' });
        const answer = await tools.fetchCredential(tools.ticket('credential', name));
        expectRefusal(answer, 'DELIVERY_NOT_ALLOWED', `a ${type}`);
      }
    },
  },
  {
    id: 'sealed.of-each-type',
    title: 'a sealed record is delivered encrypted, and refused without its recipient, whatever its type',
    requirements: ['CRE-18', 'CRE-20'],
    claims: ['store', 'credential', 'sealed-delivery'],
    run: async (tools) => {
      const key = createSealingKey();
      const sealed = { delivery: 'sealed', recipients: [key.publicJwk] };
      for (const [type, body] of Object.entries(await bodiesByType(tools))) {
        const name = await tools.given.record({ ...body, ...sealed });
        const without = await tools.fetchCredential(tools.ticket('credential', name));
        expectRefusal(without, 'DELIVERY_NOT_ALLOWED', `a ${type} without cnf`);
        if ('minter' in body) continue;
        const claims = { cnf: { jkt: key.thumbprint } };
        const answer = await tools.fetchCredential(tools.ticket('credential', name, { claims }));
        const { token } = await expectSealed(answer, key);
        const secret = secretOf(body);
        const isIt =
          secret === undefined
            ? /^\d{6}$/.test(String(token['accessToken']))
            : token['accessToken'] === secret;
        expectThat(
          isIt && token['tokenType'] === body['tokenType'],
          answer,
          `the credential of a ${type} inside`,
        );
        const isOpen = typeof secret === 'string' && text(answer).includes(secret);
        expectThat(!isOpen, answer, `nothing of a ${type} outside of the JWE`);
      }
    },
  },
];
