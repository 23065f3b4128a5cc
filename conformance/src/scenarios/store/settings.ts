import { generateKeyPairSync } from 'node:crypto';
import type { Capability } from '@svault/shared/schemas';
import { createSealingKey } from '@svault/shared/sealed';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { rsaPair } from '../../forge/rsa-pair.ts';
import type { Tools } from '../../check/tools.ts';
import { metadataOf, sameTexts } from '../storage/holdings.ts';

const plain = { tokenType: 'PlainText', value: 'canary-of-a-setting' };
const CLAIMS = ['store', 'storage'] as const;
type Settings = Readonly<Record<string, unknown>>;
type Variant = readonly [what: string, settings: Settings];

/** Stores a text with settings. @returns its metadata */
async function taken(tools: Tools, settings: Settings): ReturnType<typeof metadataOf> {
  const name = tools.freshName();
  expectOk(await tools.store(name, { ...plain, ...settings }));
  return metadataOf(tools, name);
}

/** Expects that each of these is refused and nothing is stored. */
async function expectRefused(tools: Tools, variants: readonly Variant[]): Promise<void> {
  const serviceName = tools.freshName();
  for (const [what, settings] of variants)
    expectRefusal(await tools.store(serviceName, { ...plain, ...settings }), 'INVALID_REQUEST', what);
  expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
}

const refuses = (
  id: string,
  title: string,
  requirements: Check['requirements'],
  variants: () => readonly Variant[],
  claims: readonly Capability[] = CLAIMS,
): Check => ({
  id: `store.${id}`,
  title,
  requirements,
  claims,
  run: (tools) => expectRefused(tools, variants()),
});

const key = (curve = 'P-256'): Settings => {
  const { kty, crv, x, y } = generateKeyPairSync('ec', { namedCurve: curve }).publicKey.export({
    format: 'jwk',
  });
  return { kty, crv, x, y };
};
const privateKey = (): Settings => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
});
const ed25519Key = (): Settings => ({
  ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
});
const x25519Key = (): Settings => ({ ...createSealingKey('X25519').publicJwk });
/** Points of X25519 with which every secret is zero (RFC 7748 section 6.1): 0, 1, one of order 8, p - 1 and p. */
const SMALL_ORDER = [
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
];
const rsaKey = (): Settings => ({ ...rsaPair().publicKey.export({ format: 'jwk' }) });
/** Coordinates of the right length that no point of the curve has. */
function offCurve(curve: 'P-256' | 'P-384'): Settings {
  const jwk = key(curve);
  const y = Buffer.from(String(jwk['y']), 'base64url');
  y[y.length - 1] = (y.at(-1) ?? 0) ^ 1;
  return { ...jwk, y: y.toString('base64url') };
}
const sealedTo = (...recipients: readonly Settings[]): Settings => ({ delivery: 'sealed', recipients });
const keys = (count: number): readonly Settings[] => Array.from({ length: count }, () => key());

const HOSTS = [
  'api.example.com',
  'api.example.com:8443',
  'xn--bcher-kva.example',
  '8.8.8.8',
  '8.8.8.8:8080',
  '[2606:4700::1111]',
  '[2606:4700::1111]:8443',
  'http://api.example.com',
  'http://8.8.8.8:8080',
  'http://[2606:4700::1111]:8080',
];

/** Protocol section 5.5, what is sealed with a secret. */
export const STORE_SETTING_CHECKS: readonly Check[] = [
  {
    id: 'store.deliveries',
    title: 'delivery is any where nothing is said, and otherwise what was said',
    requirements: ['SAV-08'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const [settings, delivery] of [
        [{}, 'any'],
        [{ delivery: 'any' }, 'any'],
        [{ delivery: 'proxy-only' }, 'proxy-only'],
      ] as const) {
        const { answer, token } = await taken(tools, settings);
        expectThat(token['delivery'] === delivery, answer, `delivery "${delivery}"`);
      }
    },
  },
  refuses(
    'other-delivery',
    'a delivery that there is not is refused, and nothing is stored',
    ['SAV-08'],
    () => [
      ['a delivery in another letter case', { delivery: 'Proxy-Only' }],
      ['a delivery that there is not', { delivery: 'none' }],
      ['an empty delivery', { delivery: '' }],
      ['a delivery that is no text', { delivery: true }],
      ['a delivery that is a list', { delivery: ['any'] }],
    ],
  ),
  {
    id: 'store.recipients',
    title: 'one and twenty recipients are accepted',
    requirements: ['SAV-08', 'SAV-09'],
    claims: ['store', 'storage', 'sealed-delivery'],
    run: async (tools) => {
      for (const count of [1, 20]) {
        const { answer, token } = await taken(tools, sealedTo(...keys(count)));
        expectThat(token['delivery'] === 'sealed', answer, 'delivery "sealed"');
      }
    },
  },
  refuses(
    'other-recipients',
    'recipients that are none, too many, private or of another kind are refused',
    ['SAV-09'],
    () => [
      ['no recipient', sealedTo()],
      ['21 recipients', sealedTo(...keys(21))],
      ['a private key', sealedTo(privateKey())],
      ['a private key behind a public one', sealedTo(key(), privateKey())],
      ['a private key of X25519', sealedTo({ ...createSealingKey('X25519').privateJwk.reveal() })],
      ['a key of P-521', sealedTo(key('P-521'))],
      ['a key of Ed25519, which signs', sealedTo(ed25519Key())],
      ['a key of X25519 that says EC', sealedTo({ ...x25519Key(), kty: 'EC' })],
      ['a key of P-256 that says OKP', sealedTo({ ...key(), kty: 'OKP' })],
      ['a key of P-384 without y', sealedTo({ ...key('P-384'), y: undefined })],
      ['a key of RSA', sealedTo(rsaKey())],
      ['no key', sealedTo({ kty: 'EC', crv: 'P-256' })],
      ['a key outside a list', { delivery: 'sealed', recipients: key() }],
      ['a text in place of a key', { delivery: 'sealed', recipients: ['P-256'] }],
      ['null in place of a key', { delivery: 'sealed', recipients: [key(), null] }],
    ],
    ['store', 'storage', 'sealed-delivery'],
  ),
  refuses(
    'recipient-off-curve',
    'a recipient whose coordinates are no point of its curve is refused',
    ['SAV-09', 'SAV-39'],
    () => [
      ['a key off P-256', sealedTo(offCurve('P-256'))],
      ['a key off P-384', sealedTo(offCurve('P-384'))],
      ['a key of P-384 that says P-256', sealedTo({ ...key('P-384'), crv: 'P-256' })],
      ['a key of X25519 with 31 bytes', sealedTo({ ...x25519Key(), x: 'A'.repeat(42) })],
    ],
    ['store', 'storage', 'sealed-delivery'],
  ),
  refuses(
    'recipient-of-small-order',
    'a recipient of X25519 that agrees on a secret of zeros with every key is refused',
    ['SAV-39'],
    () =>
      SMALL_ORDER.map((hex) => {
        const x = Buffer.from(hex, 'hex').toString('base64url');
        return [`the point ${hex}`, sealedTo({ kty: 'OKP', crv: 'X25519', x })];
      }),
    ['store', 'storage', 'sealed-delivery'],
  ),
  refuses(
    'recipients-with-sealed',
    'recipients stand with delivery sealed, and with no other',
    ['SAV-10'],
    () => [
      ['sealed without recipients', { delivery: 'sealed' }],
      ['recipients without delivery', { recipients: [key()] }],
      ['recipients with any', { delivery: 'any', recipients: [key()] }],
      ['recipients with proxy-only', { delivery: 'proxy-only', recipients: [key()] }],
    ],
    ['store', 'storage', 'sealed-delivery'],
  ),
  {
    id: 'store.allowed-hosts',
    title: 'hosts, hosts with ports, addresses and * are accepted and returned as they were stored',
    requirements: ['SAV-11', 'SAV-12'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const allowedHosts of [HOSTS, ['*'], ['api.example.com', '*'], []]) {
        const { answer, token } = await taken(tools, { allowedHosts });
        expectThat(
          sameTexts(token['allowedHosts'], allowedHosts),
          answer,
          'allowedHosts as they were stored',
        );
      }
    },
  },
  refuses(
    'other-hosts',
    'what is no host, host:port, one of these behind http:// or * is refused, and nothing is stored',
    ['SAV-11'],
    () =>
      [
        'https://api.example.com',
        'http://',
        'http://*',
        'http://http://api.example.com',
        'http://api.example.com/',
        'api.example.com/v1',
        '*.example.com',
        'me@api.example.com',
        'api.example.com:',
        'api.example.com:port',
        'api.example.com:65536',
        '',
      ].map((entry) => [JSON.stringify(entry), { allowedHosts: [entry] }]),
  ),
  refuses('unlisted-host', 'a host outside a list is refused, and nothing is stored', ['SAV-11'], () => [
    ['a text', { allowedHosts: 'api.example.com' }],
    ['a wrong host behind a right one', { allowedHosts: ['api.example.com', 'https://api.example.com'] }],
  ]),
  refuses(
    'host-spelling',
    'a host that is not spelt in lower-case A-labels without trailing dot is refused',
    ['SAV-12'],
    () =>
      [
        'API.example.com',
        'api.example.com.',
        'bücher.example',
        '2001:db8::1',
        'api.Example.com:8443',
        'api.example.com.:443',
        'HTTP://api.example.com',
        'http://API.example.com',
        'http://api.example.com.',
      ].map((entry) => [JSON.stringify(entry), { allowedHosts: [entry] }]),
  ),
  refuses('anywhere', '* is refused with proxy-only', ['SAV-15'], () => [
    ['*', { allowedHosts: ['*'], delivery: 'proxy-only' }],
    ['* behind a host', { allowedHosts: ['api.example.com', '*'], delivery: 'proxy-only' }],
  ]),
  refuses(
    'anywhere-sealed',
    '* is refused with sealed',
    ['SAV-15'],
    () => [
      ['*', { ...sealedTo(key()), allowedHosts: ['*'] }],
      ['* behind a host', { ...sealedTo(key()), allowedHosts: ['api.example.com', '*'] }],
    ],
    ['store', 'storage', 'sealed-delivery'],
  ),
  {
    id: 'store.allowed-headers',
    title:
      'allowedHeaders are authorization and x-api-key where nothing is said, and otherwise what was said',
    requirements: ['SAV-18'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const [settings, headers] of [
        [{}, ['authorization', 'x-api-key']],
        [{ allowedHeaders: ['x-key'] }, ['x-key']],
        [{ allowedHeaders: [] }, []],
      ] as const) {
        const { answer, token } = await taken(tools, settings);
        const returned: unknown = token['allowedHeaders'];
        const lower: unknown = Array.isArray(returned)
          ? returned.map((each) => String(each).toLowerCase())
          : returned;
        expectThat(sameTexts(lower, headers), answer, `allowedHeaders ${JSON.stringify(headers)}`);
      }
    },
  },
];
