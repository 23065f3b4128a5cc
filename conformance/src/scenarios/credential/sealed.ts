import { parseTime, randomToken } from '@svault/shared';
import { createSealingKey, SEALING_CURVES, type SealingKey } from '@svault/shared/sealed';
import type { WebhookCheck } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectRefusal, expectThat } from '../../check/expect.ts';
import { newSeed } from '../../forge/one-time-code.ts';
import type { Answer } from '../../http/client.ts';
import { header, text } from '../../http/read-answer.ts';
import { COORDINATE, expectSealed, opensWith, sealingKeys } from '../../check/opened.ts';
import type { Tools } from '../../check/tools.ts';

/** The settings of a record that only these keys may open. */
const sealedTo = (...keys: readonly SealingKey[]): object => ({
  delivery: 'sealed',
  recipients: keys.map(({ publicJwk }) => publicJwk),
});

/** Fetches a record for the recipient with this thumbprint. */
const fetchFor = (tools: Tools, name: string, jkt: string, claims: object = {}): Promise<Answer> =>
  tools.fetchCredential(tools.ticket('credential', name, { claims: { cnf: { jkt }, ...claims } }));

const claims = ['credential', 'sealed-delivery'] as const;

/** Protocol section 5.4: what is delivered encrypted to a key of the agent's. */
export const SEALED_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'sealed.opens',
    title: 'a sealed record is delivered as a JWE that its recipient opens, with the same JSON inside',
    requirements: ['CRE-18', 'CRE-19', 'CRE-01'],
    claims,
    run: async (tools) => {
      const [key] = sealingKeys();
      const { name, value } = await tools.given.text(sealedTo(key));
      const answer = await fetchFor(tools, name, key.thumbprint);
      const { token } = await expectSealed(answer, key);
      expectThat(token['accessToken'] === value, answer, `accessToken "${value}" inside`);
      expectThat(token['serviceName'] === name, answer, `serviceName "${name}" inside`);
      expectThat(token['tokenType'] === 'PlainText', answer, 'tokenType "PlainText" inside');
      expectThat(typeof token['createdAt'] === 'string', answer, 'createdAt inside');
      const cached = header(answer, 'cache-control')?.toLowerCase().includes('no-store');
      expectThat(cached === true, answer, 'Cache-Control: no-store');
    },
  },
  {
    id: 'sealed.header',
    title: 'a sealed delivery’s header says ECDH-ES, A256GCM, the thumbprint and json, and no zip',
    requirements: ['CRE-19'],
    claims,
    run: async (tools) => {
      const [key] = sealingKeys();
      const { name } = await tools.given.text(sealedTo(key));
      const answer = await fetchFor(tools, name, key.thumbprint);
      const { header: said } = await expectSealed(answer, key);
      const expected = { alg: 'ECDH-ES', enc: 'A256GCM', kid: key.thumbprint, cty: 'json' };
      for (const [member, value] of Object.entries(expected))
        expectThat(said[member] === value, answer, `"${member}": "${value}" in the JWE’s header`);
      expectThat(!('zip' in said), answer, 'no "zip" in the JWE’s header');
      const epk = said['epk'] as Readonly<Record<string, unknown>> | undefined;
      expectThat(epk?.['d'] === undefined, answer, 'a public "epk": its private part is nobody else’s');
    },
  },
  {
    id: 'sealed.recipient',
    title: 'a sealed delivery is for the recipient that cnf.jkt names, and for no other',
    requirements: ['CRE-18', 'TIX-21'],
    claims,
    run: async (tools) => {
      const keys = sealingKeys();
      const { name, value } = await tools.given.text(sealedTo(...keys));
      await eachVariant(
        { 'the third of three': 2, 'the first of three': 0, 'the second of three': 1 },
        async (at) => {
          const key = keys[at] ?? keys[0];
          for (const sub of ['agt_conformance', 'usr_conformance']) {
            const answer = await fetchFor(tools, name, key.thumbprint, { sub });
            const { token } = await expectSealed(answer, key);
            expectThat(token['accessToken'] === value, answer, `accessToken "${value}" inside`);
            const others = await Promise.all(
              keys.filter((each) => each !== key).map((each) => opensWith(answer, each)),
            );
            expectThat(!others.includes(true), answer, 'a JWE that no other recipient opens');
          }
        },
      );
    },
  },
  {
    id: 'sealed.fresh-key',
    title: 'each sealed delivery has an ephemeral key of its own',
    requirements: ['CRE-19', 'CRE-23'],
    claims,
    run: async (tools) => {
      const [key] = sealingKeys();
      const { name } = await tools.given.text(sealedTo(key));
      const seen = new Set<string>();
      for (let time = 1; time <= 3; time++) {
        const answer = await fetchFor(tools, name, key.thumbprint);
        const { header: said } = await expectSealed(answer, key);
        const epk = said['epk'] as Readonly<Record<string, unknown>> | undefined;
        const x = String(epk?.['x']);
        expectThat(!seen.has(x), answer, 'an "epk" that was not in an answer before');
        seen.add(x);
      }
    },
  },
  {
    id: 'sealed.ephemeral-key',
    title: 'the ephemeral key is on the recipient’s curve, with coordinates of full length, and public',
    requirements: ['CRE-19', 'CRE-23'],
    claims,
    run: async (tools) => {
      for (const curve of SEALING_CURVES) {
        const key = createSealingKey(curve);
        const { name } = await tools.given.text(sealedTo(key));
        // A number that is written without regard to its length has another one half of the time.
        for (let time = 1; time <= 5; time++) {
          const answer = await fetchFor(tools, name, key.thumbprint);
          const { header: said } = await expectSealed(answer, key);
          const epk = said['epk'] as Readonly<Record<string, unknown>>;
          const { kty } = key.publicJwk;
          expectThat(epk['kty'] === kty && epk['crv'] === curve, answer, `"epk" of ${kty} on ${curve}`);
          for (const member of kty === 'EC' ? ['x', 'y'] : ['x'])
            expectThat(
              COORDINATE[curve].test(String(epk[member])),
              answer,
              `"${member}" of "epk" in full length, not ${String(epk[member])}`,
            );
        }
      }
    },
  },
  {
    id: 'sealed.curves',
    title: 'one record is sealed to keys of P-256, P-384 and X25519, and each opens what names it',
    requirements: ['SAV-38', 'CRE-18'],
    claims,
    run: async (tools) => {
      const keys = SEALING_CURVES.map((curve) => createSealingKey(curve));
      const { name, value } = await tools.given.text(sealedTo(...keys));
      for (const key of keys) {
        const answer = await fetchFor(tools, name, key.thumbprint);
        const { token } = await expectSealed(answer, key);
        expectThat(token['accessToken'] === value, answer, `accessToken "${value}" inside`);
      }
    },
  },
  {
    id: 'sealed.nothing-outside',
    title: 'nothing of a sealed record stands outside of the JWE, and all of it inside',
    requirements: ['CRE-18'],
    claims,
    run: async (tools) => {
      const [key] = sealingKeys();
      const [accessToken, refreshToken] = [randomToken(), randomToken()];
      const expiryTime = '2099-03-04T05:06:07.890Z';
      const name = await tools.given.record({
        tokenType: 'JWT',
        accessToken,
        refreshToken,
        expiryTime,
        ...sealedTo(key),
      });
      const answer = await fetchFor(tools, name, key.thumbprint);
      const { token } = await expectSealed(answer, key);
      const returned = token['expiryTime'];
      expectThat(token['accessToken'] === accessToken, answer, 'accessToken inside');
      expectThat(token['refreshToken'] === refreshToken, answer, 'refreshToken inside: it is shared');
      expectThat(
        typeof returned === 'string' && parseTime(returned) === parseTime(expiryTime),
        answer,
        `expiryTime ${expiryTime} inside`,
      );
      const outside = outsideOf(answer);
      for (const each of [accessToken, refreshToken, expiryTime.slice(0, 19)])
        expectThat(
          !outside.includes(each),
          answer,
          'nothing of the record in the headers or in the JWE as it is',
        );
    },
  },
  {
    id: 'sealed.refresh-policy',
    title: 'a sealed delivery holds no refresh token where the ticket says rfp auto',
    requirements: ['CRE-10'],
    claims,
    run: async (tools) => {
      const [key] = sealingKeys();
      const body = { tokenType: 'JWT', accessToken: randomToken(), refreshToken: randomToken() };
      const name = await tools.given.record({ ...body, ...sealedTo(key) });
      const answer = await fetchFor(tools, name, key.thumbprint, { rfp: 'auto' });
      const { token } = await expectSealed(answer, key);
      expectThat(typeof token['refreshToken'] !== 'string', answer, 'no refreshToken inside');
    },
  },
  {
    id: 'sealed.one-time-code',
    title: 'a one-time code of a sealed record is sealed too, with what stands beside it',
    requirements: ['CRE-18'],
    claims: [...claims, 'totp'],
    run: async (tools) => {
      const [key] = sealingKeys();
      const name = await tools.given.record({
        tokenType: 'TOTP',
        secret: newSeed().base32,
        ...sealedTo(key),
      });
      const answer = await fetchFor(tools, name, key.thumbprint);
      const { token } = await expectSealed(answer, key);
      const code = token['accessToken'];
      expectThat(typeof code === 'string' && /^\d{6}$/.test(code), answer, 'a code of six digits inside');
      expectThat(Number.isInteger(token['expiresIn']), answer, 'expiresIn inside');
    },
  },
  {
    id: 'sealed.refusals-plain',
    title: 'what is refused of a sealed record is refused in plain JSON',
    requirements: ['TRN-33', 'CRE-09'],
    claims,
    run: async (tools) => {
      const [key] = sealingKeys();
      const name = await tools.given.record({ tokenType: 'PlainText', value: '', ...sealedTo(key) });
      const answer = await fetchFor(tools, name, key.thumbprint);
      expectRefusal(answer, 'EMPTY_TOKEN', 'an empty sealed record');
      const type = header(answer, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase();
      expectThat(type === 'application/json', answer, 'Content-Type: application/json');
    },
  },
];

/** Headers, and the JWE with its parts decoded. */
function outsideOf(answer: Answer): string {
  const parts = text(answer)
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('latin1'));
  return [...answer.headers.map(([, value]) => value), text(answer), ...parts].join('\n');
}
