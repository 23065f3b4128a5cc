import { createSealingKey } from '@svault/shared/sealed';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import { certificateChain } from '../../forge/certificate-chain.ts';
import { ed25519Key } from '../../forge/ssh-key.ts';
import { GCP, GITHUB } from '../minting/provider.ts';
import { metadataOf, sameTexts } from '../storage/holdings.ts';
import { takesProviders } from './takes-providers.ts';

const CLAIMS = ['store', 'storage'] as const;
type Body = Readonly<Record<string, unknown>>;

const SECRET = 'canary-of-a-setting';
const PROVIDER = { tokenUrl: 'https://provider.example/token', clientId: 'conformance' };

/** A body of each type, and with each minter, that the webhook stores. */
export async function bodiesByType(tools: Tools): Promise<Readonly<Record<string, Body>>> {
  const providers = await takesProviders(tools);
  const minters = [GCP, GITHUB].filter(({ claim }) => tools.claims.has(claim));
  const all: Readonly<Record<string, Body>> = {
    PlainText: { tokenType: 'PlainText', value: SECRET },
    JWT: { tokenType: 'JWT', accessToken: SECRET },
    ...(providers && {
      'JWT with provider': {
        ...{ tokenType: 'JWT', accessToken: SECRET },
        ...{ refreshToken: SECRET, provider: PROVIDER },
      },
    }),
    Certificate: { tokenType: 'Certificate', ...certificateChain() },
    SSHKey: { tokenType: 'SSHKey', privateKey: ed25519Key().privateKey },
    RawCredential: { tokenType: 'RawCredential', value: SECRET },
    ...Object.fromEntries(
      minters.map((each) => [
        `RawCredential of ${each.id}`,
        { tokenType: 'RawCredential', minter: each.settings('https://provider.example') },
      ]),
    ),
    ...(tools.claims.has('totp') && {
      TOTP: { tokenType: 'TOTP', secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', allowShortSecret: true },
    }),
  };
  return Object.fromEntries(Object.entries(all).filter(([, body]) => tools.takes(body)));
}

const SECRET_FIELDS = ['value', 'accessToken', 'certificate', 'privateKey', 'secret'];

const KEPT = {
  delivery: 'proxy-only',
  allowedHosts: ['api.example:8443', 'http://other.example'],
  allowedHeaders: ['x-mine'],
  expiryTime: '2199-01-02T03:04:05.000Z',
};

/** As good as absent (TRN-10). */
const NULLS = {
  delivery: null,
  allowedHosts: null,
  allowedHeaders: null,
  expiryTime: null,
  recipients: null,
};

const REFUSED = (): Readonly<Record<string, Body>> => ({
  'a member that nobody knows': { allowedHost: ['api.example'] },
  'allowedHosts that are no list': { allowedHosts: 'api.example' },
  'allowedHeaders that are no list': { allowedHeaders: 'authorization' },
  'an expiryTime that is no time': { expiryTime: 'soon' },
  'an allowShortSecret that is a text': { allowShortSecret: 'true' },
  'a host that is none': { allowedHosts: ['api.example', 'API.example'] },
  '* with proxy-only': { allowedHosts: ['*'], delivery: 'proxy-only' },
  'a delivery that there is not': { delivery: 'nobody' },
  'recipients without sealed': { recipients: [createSealingKey().publicJwk] },
  'sealed without recipients': { delivery: 'sealed' },
});

/** Protocol section 5.5: settings mean the same beside every type. */
export const SETTINGS_BY_TYPE_CHECKS: readonly Check[] = [
  {
    id: 'store.settings-of-each-type',
    title: 'delivery, hosts, headers and expiry are kept as they were stored, or left out, whatever the type',
    requirements: ['SAV-08', 'SAV-11', 'TRN-10'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const [type, body] of Object.entries(await bodiesByType(tools))) {
        const name = tools.freshName();
        expectOk(await tools.store(name, { ...body, ...KEPT }));
        const { answer, token } = await metadataOf(tools, name);
        const holds =
          token['tokenType'] === body['tokenType'] &&
          token['delivery'] === KEPT.delivery &&
          token['expiryTime'] === KEPT.expiryTime &&
          sameTexts(token['allowedHosts'], KEPT.allowedHosts) &&
          sameTexts(token['allowedHeaders'], KEPT.allowedHeaders);
        expectThat(holds, answer, `the settings that were stored with a ${type}`);
        expectOk(await tools.store(name, { ...body, ...NULLS }));
        const { answer: anew, token: bare } = await metadataOf(tools, name);
        const isDefault = bare['delivery'] === 'any' && sameTexts(bare['allowedHosts'], []);
        expectThat(isDefault, anew, `the defaults for a ${type} whose settings are null`);
        expectOk(await tools.store(name, { ...body, allowedHosts: ['*'] }));
      }
    },
  },
  {
    id: 'store.bad-settings-of-each-type',
    title: 'a setting that is none is refused and nothing is stored, whatever the type',
    requirements: ['SAV-02', 'SAV-04', 'SAV-08', 'SAV-10', 'SAV-12', 'SAV-15', 'SAV-49'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const [type, body] of Object.entries(await bodiesByType(tools))) {
        const serviceName = tools.freshName();
        for (const [what, settings] of Object.entries(REFUSED()))
          expectRefusal(
            await tools.store(serviceName, { ...body, ...settings }),
            'INVALID_REQUEST',
            `${what}, beside a ${type}`,
          );
        for (const field of SECRET_FIELDS.filter((each) => each in body))
          expectRefusal(
            await tools.store(serviceName, { ...body, [field]: 7 }),
            'INVALID_REQUEST',
            `a number as ${field} of a ${type}`,
          );
        expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
      }
    },
  },
];
