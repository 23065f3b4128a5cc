import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { certificateChain } from '../../forge/certificate-chain.ts';
import { ed25519Key } from '../../forge/ssh-key.ts';
import type { Tools } from '../../check/tools.ts';
import { expectDelivered, metadataOf, sameTexts, storedVersion } from '../storage/holdings.ts';
import { resultsOf } from '../storage/batches.ts';
import { takesProviders } from './takes-providers.ts';

type Variant = readonly [what: string, body: object];

const provider = { tokenUrl: 'https://provider.example/token', clientId: 'conformance' };
const requests = [{ methods: ['GET'], paths: ['/**'] }];
const plain = { tokenType: 'PlainText', value: 'canary-of-a-refused-store' };
const jwt = { tokenType: 'JWT', accessToken: 'canary-of-a-refused-store' };

/** A check that each of these bodies is refused and leaves the record that it would have replaced as it was. */
function refuses(
  id: string,
  title: string,
  requirements: Check['requirements'],
  bodies: (tools: Tools) => readonly Variant[],
): Check {
  return {
    id: `store.${id}`,
    title,
    requirements,
    claims: ['store', 'storage', 'credential'],
    run: async (tools) => {
      const name = tools.freshName();
      const version = await storedVersion(tools, name, { tokenType: 'PlainText', value: 'canary-before' });
      // As texts, so that those of a type that is not claimed are sent too.
      for (const [what, body] of bodies(tools))
        expectRefusal(await tools.store(name, JSON.stringify(body)), 'INVALID_REQUEST', what);
      const { answer, token } = await metadataOf(tools, name);
      expectThat(token['version'] === version, answer, `version ${version} still`);
      await expectDelivered(tools, name, 'canary-before', 'the record as it was before the refused stores');
    },
  };
}

/** What a webhook need not know: a type or a minter by the capability that names it. */
const seed = { tokenType: 'TOTP', secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' };
const MINTERS = [
  [
    'aws-sts',
    {
      type: 'aws-sts',
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    },
  ],
  ['gcp', { type: 'gcp-service-account', clientEmail: 'a@b.example', privateKey: 'canary', scopes: ['x'] }],
  ['github-app', { type: 'github-app', appId: '1', installationId: '2', privateKey: 'canary' }],
] as const;

const OF_EACH_TYPE: readonly Variant[] = [
  ['JWT', jwt],
  ['Certificate', { tokenType: 'Certificate', ...certificateChain() }],
  ['SSHKey', { tokenType: 'SSHKey', privateKey: ed25519Key().privateKey }],
  ['RawCredential', { tokenType: 'RawCredential', value: 'canary-of-a-refused-store' }],
];

/** Protocol section 5.5, the bodies of stores. */
export const STORE_BODY_CHECKS: readonly Check[] = [
  refuses(
    'unknown-member',
    'a member that nobody knows is refused, and nothing is stored',
    ['SAV-02'],
    ({ claims }) => [
      ['a restriction in lower case', { ...plain, allowedhosts: ['api.example'] }],
      ['a restriction in another case', { ...plain, Delivery: 'proxy-only' }],
      ['a restriction with underscores', { ...plain, allowed_headers: ['authorization'] }],
      ['a member that means nothing', { ...plain, comment: 'mine' }],
      ['the secret in another case beside the secret', { ...plain, Value: 'canary' }],
      ['such a member beside an access token', { ...jwt, sharerefreshtoken: false }],
      ['beside a certificate', { tokenType: 'Certificate', ...certificateChain(), allowedhosts: [] }],
      [
        'beside an SSH key',
        { tokenType: 'SSHKey', privateKey: ed25519Key().privateKey, Delivery: 'proxy-only' },
      ],
      [
        'beside a RawCredential’s value',
        { tokenType: 'RawCredential', value: 'canary', Delivery: 'proxy-only' },
      ],
      ...(claims.has('totp') ? [['beside a TOTP seed', { ...seed, Digits: 8 }] as const] : []),
      // Stored and not enforced, they would restrict nothing.
      ...(claims.has('request-rules')
        ? []
        : [['request rules that are not claimed', { ...plain, requests }] as const]),
      ...(claims.has('http-proxy')
        ? []
        : [['query parameters that are not claimed', { ...plain, allowedQuery: ['key'] }] as const]),
      ...(claims.has('approvals')
        ? []
        : [
            [
              'an approval that is not claimed',
              { ...plain, approval: { by: 'passkey', for: ['proxy'] } },
            ] as const,
          ]),
    ],
  ),
  refuses(
    'unknown-provider-member',
    'a member of a provider that nobody knows is refused, and nothing is stored',
    ['SAV-02'],
    () => [
      [
        'a misspelt member of a provider',
        { ...jwt, refreshToken: 'canary', provider: { ...provider, Mediated: true } },
      ],
    ],
  ),
  refuses(
    'missing-secret',
    'a body without its type’s secret is refused, and nothing is stored',
    ['SAV-04'],
    ({ claims }) => [
      ['PlainText', { tokenType: 'PlainText' }],
      ['PlainText whose value is null', { tokenType: 'PlainText', value: null }],
      ['JWT with a refresh token alone', { tokenType: 'JWT', refreshToken: 'canary' }],
      ['Certificate without private key', { tokenType: 'Certificate', certificate: 'canary' }],
      ['Certificate without certificate', { tokenType: 'Certificate', privateKey: 'canary' }],
      ['SSHKey with a public key alone', { tokenType: 'SSHKey', publicKey: 'ssh-ed25519 AAAA' }],
      ['RawCredential', { tokenType: 'RawCredential', allowedHosts: ['api.example'] }],
      ...(claims.has('totp') ? ([['TOTP', { tokenType: 'TOTP', digits: 6 }]] as const) : []),
      ['another type’s secret', { tokenType: 'JWT', value: 'canary' }],
    ],
  ),
  refuses(
    'unclaimed-type',
    'a type that is not claimed is refused, and nothing is stored',
    ['SAV-06'],
    ({ claims, takes }) => [
      ['a type that nobody knows', { ...plain, tokenType: 'Password' }],
      ['a type in another letter case', { ...plain, tokenType: 'plaintext' }],
      ['no type', { value: 'canary' }],
      ...(claims.has('totp') ? [] : ([['TOTP', seed]] as const)),
      ...OF_EACH_TYPE.filter(([, body]) => !takes(body)),
    ],
  ),
  refuses(
    'unclaimed-minter',
    'a minter that is not claimed is refused, and nothing is stored',
    ['SAV-06'],
    ({ claims }) => [
      ['a minter that nobody knows', { tokenType: 'RawCredential', minter: { type: 'minter-of-nobody' } }],
      ...MINTERS.filter(([capability]) => !claims.has(capability)).map(([, minter]): Variant => [
        minter.type,
        { tokenType: 'RawCredential', minter },
      ]),
    ],
  ),
  {
    id: 'store.null-members',
    title: 'a setting that is null is one that is absent',
    requirements: ['TRN-10'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const name = tools.freshName();
      const settings = {
        allowedHosts: null,
        allowedHeaders: null,
        delivery: null,
        recipients: null,
        expiryTime: null,
      };
      expectOk(await tools.store(name, { ...plain, ...settings }));
      const { answer, token } = await metadataOf(tools, name);
      expectThat(token['delivery'] === 'any', answer, 'delivery "any"');
      expectThat(sameTexts(token['allowedHosts'], []), answer, 'no allowedHosts');
      expectThat(
        sameTexts(token['allowedHeaders'], ['authorization', 'x-api-key']),
        answer,
        'allowedHeaders as by default',
      );
    },
  },
  {
    id: 'store.empty',
    title: 'an empty secret is accepted, and the record called empty',
    requirements: ['SAV-05'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const all: readonly object[] = [
        { tokenType: 'PlainText', value: '' },
        { tokenType: 'JWT', accessToken: '' },
        { tokenType: 'RawCredential', value: '' },
        { tokenType: 'SSHKey', privateKey: '' },
        { tokenType: 'Certificate', certificate: '', privateKey: '' },
        ...(tools.claims.has('totp') ? [{ tokenType: 'TOTP', secret: '' }] : []),
      ];
      const bodies = all.filter(tools.takes);
      const gets: object[] = [];
      for (const body of bodies) {
        const serviceName = tools.freshName();
        expectOk(await tools.store(serviceName, body));
        gets.push({ op: 'tokens.get', serviceName });
      }
      const answer = await tools.storage({ batch: gets });
      for (const { empty, tokenType } of resultsOf(answer, gets.length))
        expectThat(empty === true, answer, `empty true, for ${String(tokenType)}`);
    },
  },
  {
    id: 'store.filled-again',
    title: 'a record with a secret is not called empty, also where it replaces an empty one',
    requirements: ['SAV-05'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const name = tools.freshName();
      await storedVersion(tools, name, { tokenType: 'PlainText', value: '' });
      expectOk(await tools.store(name, { tokenType: 'PlainText', value: 'canary' }));
      const { answer, token } = await metadataOf(tools, name);
      expectThat(token['empty'] === false, answer, 'empty false');
    },
  },
  {
    id: 'store.longest-secrets',
    title: 'secrets of 64 KiB are accepted and delivered whole',
    requirements: ['SAV-07'],
    claims: ['store', 'credential'],
    run: async (tools) => {
      const long = 'x'.repeat(64 * 1024 - 1) + 'y';
      const withClientSecret = {
        ...jwt,
        refreshToken: 'canary',
        provider: { ...provider, clientSecret: long },
      };
      const wide = '語'.repeat((64 * 1024 - 1) / 3) + 'y';
      for (const [body, value] of [
        [{ tokenType: 'PlainText', value: long }, long],
        [{ tokenType: 'PlainText', value: wide }, wide],
        [{ tokenType: 'RawCredential', value: long }, long],
        [{ tokenType: 'JWT', accessToken: long, refreshToken: long }, long],
        ...((await takesProviders(tools)) ? [[withClientSecret, jwt.accessToken] as const] : []),
      ] as const) {
        if (!tools.takes(body)) continue;
        const name = tools.freshName();
        expectOk(await tools.store(name, body));
        await expectDelivered(tools, name, value, 'the secret, whole');
      }
    },
  },
];
