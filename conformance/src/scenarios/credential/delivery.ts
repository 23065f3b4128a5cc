import { parseTime, randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectDelivered } from '../../check/delivered.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { certificateChain } from '../../forge/certificate-chain.ts';
import { ed25519Key } from '../../forge/ssh-key.ts';
import { jsonObject, text } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { emptyBodies } from './empty-bodies.ts';

/** Texts that somebody on the way may read as something else, or tidy up. */
const TEXTS: Readonly<Record<string, string>> = {
  'spaces and lines at both ends': ' \t\n two\r\nlines \n\n',
  'letters beyond ASCII': 'zażółć e\u0301 \u00e9 \u{1f511}\u{1f469}\u200d\u{1f4bb} \u202e\u2028\ufeff',
  'signs with a meaning elsewhere': '%41+&=#?;"\\\'`<b>${TOKEN}{{x}}$(id)\\u0041',
  'control characters': 'a\u0001\u001b\u007fb',
  'a number': '0123',
  'a JSON object': '{"accessToken": 1e3 , "a":null}',
  'a JSON word': 'null',
};

/** One of each type whose secret does not end by itself. */
const EXPIRING = [
  { tokenType: 'JWT', accessToken: 'access' },
  { tokenType: 'Certificate', ...certificateChain() },
  { tokenType: 'SSHKey', privateKey: ed25519Key().privateKey },
  { tokenType: 'RawCredential', value: 'raw' },
];

const isSame = (returned: unknown, stored: string): boolean =>
  typeof returned === 'string' && parseTime(returned) === parseTime(stored);

/** More than these beside an envelope would be CORS (the Fetch standard, section 3.2). */
function expectNoCors(answer: Answer, what: string): void {
  const cors = answer.headers.find(([name]) => name.startsWith('access-control-'));
  expectThat(cors === undefined, answer, `no Access-Control header ${what}`);
}

/** The directives of a header, in lower case. */
const listed = (answer: Answer, name: string): readonly string[] =>
  answer.headers
    .filter(([each]) => each === name)
    .flatMap(([, value]) => value.split(','))
    .map((each) => each.trim().toLowerCase());

/** Protocol section 5.4: the envelope, its headers, and what is not delivered. */
export const CREDENTIAL_CHECKS: readonly Check[] = [
  {
    id: 'credential.round-trip',
    title: 'what was stored as PlainText is delivered in an envelope that says what it is',
    requirements: ['CRE-07'],
    claims: ['credential'],
    run: async (tools) => {
      const { name, value } = await tools.given.text();
      const { answer, token } = await expectDelivered(tools, name);
      expectThat(token['accessToken'] === value, answer, `accessToken "${value}"`);
      expectThat(token['serviceName'] === name, answer, `serviceName "${name}"`);
      expectThat(token['tokenType'] === 'PlainText', answer, 'tokenType "PlainText"');
      expectThat(isTime(token['createdAt']), answer, 'createdAt as a time in UTC');
    },
  },
  {
    id: 'credential.exact-text',
    title: 'a text is delivered byte for byte, whatever it looks like',
    requirements: ['CRE-07'],
    claims: ['credential'],
    run: async (tools) => {
      for (const [what, value] of Object.entries(TEXTS)) {
        const name = await tools.given.record({ tokenType: 'PlainText', value });
        const { answer, token } = await expectDelivered(tools, name, { what });
        expectThat(token['accessToken'] === value, answer, `what was stored, byte for byte, for ${what}`);
      }
    },
  },
  {
    id: 'credential.long-text',
    title: 'a text of 64 KiB is delivered whole',
    requirements: ['CRE-07', 'SAV-07'],
    claims: ['credential'],
    run: async (tools) => {
      const value = 'ż'.repeat(SECRET_BYTES / 2 - 16) + randomToken(24);
      const name = await tools.given.record({ tokenType: 'PlainText', value });
      const { answer, token } = await expectDelivered(tools, name);
      expectThat(token['accessToken'] === value, answer, 'all 65536 bytes of what was stored');
    },
  },
  {
    id: 'credential.no-empty-members',
    title: 'a member of the envelope that has no value is left out',
    requirements: ['TRN-09'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const { answer, token } = await expectDelivered(tools, name);
      const empty = Object.keys(token).filter((each) => token[each] === null);
      expectThat(empty.length === 0, answer, `no ${empty.join(', ')}: it has no value`);
    },
  },
  {
    id: 'credential.expiry-time',
    title: 'the expiryTime that was stored is delivered, as the same instant, whatever the type',
    requirements: ['CRE-07', 'TRN-14'],
    claims: ['credential'],
    run: async (tools) => {
      for (const expiryTime of [
        '2099-01-02T03:04:05.678Z',
        '2099-12-31T23:59:59Z',
        '2099-06-01T00:00:00.250000000Z',
      ]) {
        const { name } = await tools.given.text({ expiryTime });
        const { answer, token } = await expectDelivered(tools, name);
        expectThat(isSame(token['expiryTime'], expiryTime), answer, `expiryTime ${expiryTime}`);
      }
      const expiryTime = '2099-01-02T03:04:05.000Z';
      const seeds = tools.claims.has('totp') ? [{ tokenType: 'TOTP', secret: 'GEZDGNBVGY3TQOJQ' }] : [];
      for (const body of [...EXPIRING.filter(tools.takes), ...seeds]) {
        const name = await tools.given.record({ ...body, expiryTime });
        const { answer, token } = await expectDelivered(tools, name);
        const what = `expiryTime ${expiryTime} for a ${body.tokenType}`;
        expectThat(isSame(token['expiryTime'], expiryTime), answer, what);
      }
    },
  },
  {
    id: 'credential.not-cached',
    title: 'a delivered credential is kept by no cache and no referrer',
    requirements: ['CRE-01', 'CRE-02'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const { answer } = await expectDelivered(tools, name);
      expectThat(listed(answer, 'cache-control').includes('no-store'), answer, 'Cache-Control: no-store');
      const policies = listed(answer, 'referrer-policy');
      expectThat(
        policies.length > 0 && policies.every((each) => each === 'no-referrer'),
        answer,
        'Referrer-Policy: no-referrer',
      );
    },
  },
  {
    id: 'credential.no-cors',
    title: 'no answer of /v1/credential has a CORS header, whatever the origin',
    requirements: ['CRE-03'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const { answer } = await expectDelivered(tools, name);
      expectNoCors(answer, 'without Origin');
      for (const origin of [new URL(tools.target.serviceUrl).origin, 'https://page.example', 'null']) {
        const ticket = tools.ticket('credential', name);
        expectNoCors(await tools.fetchCredential(ticket, [['origin', origin]]), `for ${origin}`);
        expectNoCors(await tools.fetchCredential('x', [['origin', origin]]), `in a refusal for ${origin}`);
        const preflight = await tools.send({
          method: 'OPTIONS',
          path: '/v1/credential',
          headers: [
            ['origin', origin],
            ['access-control-request-method', 'GET'],
          ],
        });
        expectNoCors(preflight, `in the answer to a preflight from ${origin}`);
      }
    },
  },
  {
    id: 'credential.unknown-name',
    title: 'a name that nothing is stored under answers 404, one that only looks like a stored one too',
    requirements: ['CRE-08'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const others = { 'a new name': tools.freshName(), 'another letter case': name.toUpperCase() };
      for (const [what, other] of Object.entries({ ...others, 'a longer name': `${name}x` }))
        expectRefusal(await fetchNamed(tools, other), 'NOT_FOUND', what);
    },
  },
  {
    id: 'credential.deleted',
    title: 'a deleted record answers 404',
    requirements: ['CRE-08'],
    claims: ['credential', 'storage'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      await expectDelivered(tools, name, { what: 'the record before it is deleted' });
      expectOk(await tools.storage({ op: 'tokens.delete', serviceName: name }));
      expectRefusal(await fetchNamed(tools, name), 'NOT_FOUND');
    },
  },
  {
    id: 'credential.replaced',
    title: 'a replaced record delivers what replaced it, and nothing of what was there before',
    requirements: ['SAV-03'],
    claims: ['credential'],
    run: async (tools) => {
      const before = [randomToken(), randomToken(), '2098-07-06T05:04:03.210Z'] as const;
      const [accessToken, refreshToken, expiryTime] = before;
      const name = await tools.given.record({ tokenType: 'JWT', accessToken, refreshToken, expiryTime });
      await expectDelivered(tools, name, { what: 'the record before it is replaced' });
      const value = randomToken();
      expectOk(await tools.store(name, { tokenType: 'PlainText', value }));
      const { answer, token } = await expectDelivered(tools, name);
      expectThat(token['accessToken'] === value, answer, `accessToken "${value}", stored last`);
      expectThat(token['tokenType'] === 'PlainText', answer, 'tokenType "PlainText", stored last');
      const left = before.some((each) => text(answer).includes(each.slice(0, 19)));
      expectThat(!left, answer, 'no token and no expiryTime of the JWT that was replaced');
    },
  },
  {
    id: 'credential.empty',
    title: 'a record without a secret answers 422, whatever its type',
    requirements: ['CRE-09', 'SAV-05'],
    claims: ['credential'],
    run: async (tools) => {
      for (const body of emptyBodies(tools)) {
        const name = await tools.given.record(body);
        expectRefusal(await fetchNamed(tools, name), 'EMPTY_TOKEN', `an empty ${body.tokenType}`);
      }
    },
  },
  {
    id: 'credential.proxy-only',
    title: 'a record for proxies alone is delivered to nobody, its owner included',
    requirements: ['CRE-21', 'TRU-01'],
    claims: ['credential'],
    run: async (tools) => {
      const { name, value } = await tools.given.text({ delivery: 'proxy-only', allowedHosts: ['a.example'] });
      for (const sub of ['agt_conformance', 'usr_conformance', 'prx_conformance']) {
        const answer = await fetchNamed(tools, name, { sub });
        expectThat(!text(answer).includes(value), answer, `nothing of the secret for ${sub}`);
        expectRefusal(answer, 'DELIVERY_NOT_ALLOWED', sub);
      }
    },
  },
  {
    id: 'credential.delivery-replaced',
    title: 'whether a record is delivered is decided by what was stored last',
    requirements: ['CRE-21', 'SAV-03', 'SAV-08'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text({ delivery: 'proxy-only' });
      const value = randomToken();
      expectOk(await tools.store(name, { tokenType: 'PlainText', value }));
      const { answer, token } = await expectDelivered(tools, name, { what: 'a record without delivery' });
      expectThat(token['accessToken'] === value, answer, `accessToken "${value}", stored last`);
      expectOk(await tools.store(name, { tokenType: 'PlainText', value, delivery: 'proxy-only' }));
      expectRefusal(
        await fetchNamed(tools, name),
        'DELIVERY_NOT_ALLOWED',
        'the record that is proxy-only again',
      );
    },
  },
  {
    id: 'credential.settings-decide',
    title: 'no claim of a ticket and no other parameter opens what the stored settings close',
    requirements: ['TRU-01', 'TIX-28'],
    claims: ['credential'],
    run: async (tools) => {
      const { name, value } = await tools.given.text({ delivery: 'proxy-only' });
      const claims = { delivery: 'any', settings: { delivery: 'any' }, scope: 'any admin', proxyOnly: false };
      expectRefusal(await fetchNamed(tools, name, claims), 'DELIVERY_NOT_ALLOWED', 'a ticket that says any');
      const ticket = tools.ticket('credential', name);
      const answer = await tools.fetchCredential(`${ticket}&delivery=any&sub=usr_owner`);
      expectThat(
        answer.status >= 400 && jsonObject(answer)?.['token'] === undefined && !text(answer).includes(value),
        answer,
        'a refusal, whatever stands beside the ticket',
      );
    },
  },
];

/** In each secret field (SAV-07). */
const SECRET_BYTES = 64 * 1024;

const isTime = (value: unknown): boolean => typeof value === 'string' && parseTime(value) !== undefined;

const fetchNamed = (
  tools: Tools,
  name: string,
  claims?: Readonly<Record<string, unknown>>,
): Promise<Answer> => tools.fetchCredential(tools.ticket('credential', name, claims && { claims }));
