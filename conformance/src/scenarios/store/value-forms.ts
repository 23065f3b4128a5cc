import type { WebhookCheck } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { certificateChain } from '../../forge/certificate-chain.ts';
import { newSeed } from '../../forge/one-time-code.ts';
import { header } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { awsMinter, ROLE } from '../minting/aws-minter.ts';
import { GCP } from '../minting/provider.ts';
import { metadataOf } from '../storage/holdings.ts';

type Bodies = Readonly<Record<string, object>>;

/** Each is refused. A text is sent, so that a value that no type has goes out as it is. */
async function expectRefused(tools: Tools, bodies: Bodies): Promise<void> {
  const name = tools.freshName();
  await eachVariant(bodies, async (body) =>
    expectRefusal(await tools.store(name, JSON.stringify(body)), 'INVALID_REQUEST'),
  );
}

const expectStored = (tools: Tools, bodies: Bodies): Promise<void> =>
  eachVariant(bodies, async (body) => expectOk(await tools.store(tools.freshName(), body)));

const minting = (minter: object): object => ({ tokenType: 'RawCredential', minter });
const policyOf = (characters: number): string => `{"a":"${'x'.repeat(characters - '{"a":""}'.length)}"}`;

/** Protocol section 5.5: values of settings, and which of them are none. */
export const VALUE_FORM_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'totp.ranges',
    title: 'codes have 6 to 8 digits and live 1 second to a day; any other number, and no number, is refused',
    requirements: ['SAV-43'],
    claims: ['store', 'totp'],
    run: async (tools) => {
      const seed = { tokenType: 'TOTP', secret: newSeed().base32 };
      await expectStored(tools, {
        'eight digits': { ...seed, digits: 8 },
        'seven digits': { ...seed, digits: 7 },
        'a second': { ...seed, period: 1 },
        'a day': { ...seed, period: 86_400 },
      });
      await expectRefused(tools, {
        'five digits': { ...seed, digits: 5 },
        'nine digits': { ...seed, digits: 9 },
        'six digits and a half': { ...seed, digits: 6.5 },
        'digits as a text': { ...seed, digits: '6' },
        'no second': { ...seed, period: 0 },
        'a second more than a day': { ...seed, period: 86_401 },
        'half a minute and a half second': { ...seed, period: 30.5 },
        'a period as a text': { ...seed, period: '30' },
      });
    },
  },
  {
    id: 'mint.aws-duration',
    title: 'a session of AWS lasts 15 minutes to 36 hours, one with a role at most 12 hours',
    requirements: ['SAV-44'],
    claims: ['store', 'aws-sts'],
    run: async (tools) => {
      const lasting = (durationSeconds: unknown, beside: object = {}): object =>
        minting(awsMinter({ durationSeconds, ...beside }));
      await expectStored(tools, {
        '15 minutes': lasting(900),
        '36 hours': lasting(129_600),
        '12 hours with a role': lasting(43_200, { roleArn: ROLE }),
      });
      await expectRefused(tools, {
        'less than 15 minutes': lasting(899),
        'more than 36 hours': lasting(129_601),
        'more than 12 hours with a role': lasting(43_201, { roleArn: ROLE }),
        'a part of a second': lasting(900.5),
        'a text': lasting('900'),
      });
    },
  },
  {
    id: 'mint.aws-policy-form',
    title: 'a sessionPolicy is the text of one JSON object of at most 2048 characters',
    requirements: ['SAV-45'],
    claims: ['store', 'aws-sts'],
    run: async (tools) => {
      const under = (sessionPolicy: unknown): object => minting(awsMinter({ sessionPolicy, roleArn: ROLE }));
      await expectStored(tools, { '2048 characters': under(policyOf(2048)) });
      await expectRefused(tools, {
        '2049 characters': under(policyOf(2049)),
        'no JSON': under('{"Version":'),
        'a list': under('[]'),
        'an empty text': under(''),
        'an object that is no text': under({ Version: '2012-10-17' }),
      });
    },
  },
  {
    id: 'mint.gcp-scopes',
    title: 'scopes are a list of 1 to 100 scope tokens of at most 512 characters',
    requirements: ['SAV-46'],
    claims: ['store', 'gcp'],
    run: async (tools) => {
      const { tokenUri: _, ...settings } = GCP.settings('https://api.example');
      const within = (scopes: unknown): object => minting({ ...settings, scopes });
      const many = (count: number): readonly string[] =>
        Array.from({ length: count }, (_each, at) => `scope-${at}`);
      await expectStored(tools, {
        '100 scopes': within(many(100)),
        '512 characters': within(['x'.repeat(512)]),
        'one character': within(['x']),
      });
      await expectRefused(tools, {
        'no scope': within([]),
        '101 scopes': within(many(101)),
        '513 characters': within(['x'.repeat(513)]),
        'an empty scope': within(['']),
        'an empty scope behind another': within(['email', '']),
        'two scopes in one': within(['a b']),
        'a quote': within(['a"b']),
        'a text': within('https://www.googleapis.com/auth/devstorage.read_only'),
        'a number': within([1]),
      });
    },
  },
  {
    id: 'store.empty-certificate',
    title: 'a Certificate of which one part is empty is called empty',
    requirements: ['SAV-47', 'SAV-05'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const parts = certificateChain();
      await eachVariant(
        {
          'a chain without key': { ...parts, privateKey: '' },
          'a key without chain': { ...parts, certificate: '' },
        },
        async (body) => {
          const name = tools.freshName();
          expectOk(await tools.store(name, { tokenType: 'Certificate', ...body }));
          const { answer, token } = await metadataOf(tools, name);
          expectThat(token['empty'] === true, answer, 'empty true');
        },
      );
    },
  },
  {
    id: 'cors.options-of-a-program',
    title: 'OPTIONS without Origin is a method that /v1/store does not have',
    requirements: ['SAV-48', 'TRN-31'],
    claims: ['store'],
    run: async ({ send }) => {
      const answer = await send({ method: 'OPTIONS', path: '/v1/store' });
      expectRefusal(answer, 'METHOD_NOT_ALLOWED');
      const allowed = header(answer, 'allow')
        ?.split(',')
        .map((each) => each.trim().toUpperCase());
      expectThat(allowed?.includes('POST') === true, answer, 'Allow with POST');
    },
  },
];
