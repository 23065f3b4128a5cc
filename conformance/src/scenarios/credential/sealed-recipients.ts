import { randomToken } from '@svault/shared';
import { createSealingKey } from '@svault/shared/sealed';
import type { WebhookCheck } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { jsonObject, text } from '../../http/read-answer.ts';
import { expectSealed, opensWith, sealingKeys } from '../../check/opened.ts';
import type { Tools } from '../../check/tools.ts';

const fetchWith = (tools: Tools, name: string, claims: object): Promise<Answer> =>
  tools.fetchCredential(tools.ticket('credential', name, { claims: { ...claims } }));

/** A webhook may refuse a `cnf` that is not of its form as part of the ticket (TIX-21). */
function expectClosed(answer: Answer): void {
  const ticket = jsonObject(answer)?.['code'] === 'TICKET_INVALID';
  expectRefusal(answer, ticket ? 'TICKET_INVALID' : 'DELIVERY_NOT_ALLOWED');
}

const claims = ['credential', 'sealed-delivery'] as const;
const SUBJECTS = ['agt_conformance', 'usr_conformance'];

/** Protocol section 5.4: who is not a recipient gets nothing of a sealed record. */
export const SEALED_RECIPIENT_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'sealed.no-recipient',
    title: 'a ticket that names no key delivers nothing of a sealed record, whatever its subject',
    requirements: ['CRE-20', 'TRU-01'],
    claims,
    run: async (tools) => {
      const [key] = sealingKeys();
      const { name, value } = await tools.given.text({ delivery: 'sealed', recipients: [key.publicJwk] });
      for (const sub of SUBJECTS) {
        const answer = await fetchWith(tools, name, { sub });
        expectThat(!text(answer).includes(value), answer, `nothing of the secret for ${sub} without cnf`);
        expectRefusal(answer, 'DELIVERY_NOT_ALLOWED', `${sub} without cnf`);
      }
    },
  },
  {
    id: 'sealed.other-recipient',
    title:
      'a ticket that names a key which is none of the record’s delivers nothing of it, whatever its subject',
    requirements: ['CRE-20', 'TRU-01'],
    claims,
    run: async (tools) => {
      const [one, two, other] = sealingKeys();
      const recipients = [one.publicJwk, two.publicJwk];
      const { name, value } = await tools.given.text({ delivery: 'sealed', recipients });
      // Another record's recipient is nobody here.
      await tools.given.text({ delivery: 'sealed', recipients: [other.publicJwk] });
      for (const sub of SUBJECTS) {
        const answer = await fetchWith(tools, name, { sub, cnf: { jkt: other.thumbprint } });
        expectThat(!text(answer).includes(value), answer, `nothing of the secret for ${sub}`);
        expectRefusal(answer, 'DELIVERY_NOT_ALLOWED', `${sub} with the thumbprint of another key`);
      }
    },
  },
  {
    id: 'sealed.bad-thumbprint',
    title: 'a cnf that is not of its form delivers nothing of a sealed record',
    requirements: ['CRE-20', 'TIX-21'],
    claims,
    run: async (tools) => {
      const [key] = sealingKeys();
      const { name, value } = await tools.given.text({ delivery: 'sealed', recipients: [key.publicJwk] });
      const { thumbprint: jkt, publicJwk } = key;
      const bad = {
        'without members': {},
        'an empty thumbprint': { jkt: '' },
        'a thumbprint that is null': { jkt: null },
        'a list of thumbprints': { jkt: [jkt] },
        'the start of the thumbprint': { jkt: jkt.slice(0, 22) },
        'the thumbprint in hex': { jkt: Buffer.from(jkt, 'base64url').toString('hex') },
        'the thumbprint in capitals': { jkt: jkt.toUpperCase() },
        'the thumbprint in small letters': { jkt: jkt.toLowerCase() },
        'the key in place of its thumbprint': { jwk: publicJwk },
      };
      await eachVariant(bad, async (cnf) => {
        const answer = await fetchWith(tools, name, { cnf });
        expectThat(!text(answer).includes(value), answer, 'nothing of the secret');
        expectClosed(answer);
      });
    },
  },
  {
    id: 'sealed.key-in-ticket',
    title: 'nothing is sealed to a key that a ticket brings along',
    requirements: ['TIX-22', 'TRU-01'],
    claims,
    run: async (tools) => {
      const [key, other] = sealingKeys();
      const { name } = await tools.given.text({ delivery: 'sealed', recipients: [key.publicJwk] });
      const jwk = other.publicJwk;
      const brought = {
        'a key alone in cnf': { cnf: { jwk } },
        'a key in cnf beside its own thumbprint': { cnf: { jkt: other.thumbprint, jwk } },
        'a key in cnf beside a recipient’s thumbprint': { cnf: { jkt: key.thumbprint, jwk } },
        'a key and recipients as claims': { cnf: { jkt: other.thumbprint }, jwk, recipients: [jwk] },
      };
      await eachVariant(brought, async (each) => {
        const answer = await fetchWith(tools, name, each);
        expectThat(!(await opensWith(answer, other)), answer, 'nothing that the ticket’s key opens');
        if (answer.status === 200) await expectSealed(answer, key);
        else expectClosed(answer);
      });
    },
  },
  {
    id: 'sealed.replaced',
    title: 'a sealed record that is stored anew is for its new recipients alone',
    requirements: ['CRE-20', 'SAV-03'],
    claims,
    run: async (tools) => {
      const [before, after] = sealingKeys();
      const { name } = await tools.given.text({ delivery: 'sealed', recipients: [before.publicJwk] });
      await expectSealed(await fetchWith(tools, name, { cnf: { jkt: before.thumbprint } }), before);
      const value = randomToken();
      const body = { tokenType: 'PlainText', value, delivery: 'sealed', recipients: [after.publicJwk] };
      expectOk(await tools.store(name, body));
      const former = await fetchWith(tools, name, { cnf: { jkt: before.thumbprint } });
      expectRefusal(former, 'DELIVERY_NOT_ALLOWED', 'the recipient of before');
      const answer = await fetchWith(tools, name, { cnf: { jkt: after.thumbprint } });
      const { token } = await expectSealed(answer, after);
      expectThat(token['accessToken'] === value, answer, `accessToken "${value}", stored last`);
    },
  },
  {
    id: 'sealed.many-recipients',
    title: 'a record may be sealed to twenty keys, and each of them opens it',
    requirements: ['SAV-09', 'CRE-18'],
    claims,
    run: async (tools) => {
      const keys = Array.from({ length: MAX_RECIPIENTS }, createSealingKey);
      const recipients = keys.map(({ publicJwk }) => publicJwk);
      const { name } = await tools.given.text({ delivery: 'sealed', recipients });
      for (const key of [keys[0], keys.at(-1)].filter((each) => each !== undefined)) {
        const answer = await fetchWith(tools, name, { cnf: { jkt: key.thumbprint } });
        await expectSealed(answer, key);
      }
    },
  },
];

/** SAV-09. */
const MAX_RECIPIENTS = 20;
