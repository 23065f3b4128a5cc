import { randomToken } from '@svault/shared';
import type { Capability } from '@svault/shared/schemas';
import type { WebhookCheck } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { text } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { awsMinter, ROLE } from './aws-minter.ts';
import { GCP, GITHUB } from './provider.ts';

/** Each is refused, and none of them leaves a record. */
async function expectRefused(tools: Tools, minters: Readonly<Record<string, object>>): Promise<void> {
  const name = tools.freshName();
  await eachVariant(minters, async (minter) => {
    expectRefusal(await tools.store(name, { tokenType: 'RawCredential', minter }), 'INVALID_REQUEST');
  });
  // Fetching what was stored in spite of that would ask the provider.
  if (!tools.claims.has('storage')) return;
  const left = await tools.storage({ op: 'tokens.get', serviceName: name });
  expectRefusal(left, 'NOT_FOUND', 'a name under which every store was refused');
}

/** Each is stored. */
async function expectStored(tools: Tools, minters: Readonly<Record<string, object>>): Promise<void> {
  await eachVariant(minters, async (minter) => {
    expectOk(await tools.store(tools.freshName(), { tokenType: 'RawCredential', minter }));
  });
}

const github = (settings: object): object => ({ ...GITHUB.settings('https://api.example'), ...settings });

/** A check that a minter with a member too many is refused. */
const refusesUnknown = (
  id: string,
  claim: Capability,
  minters: () => Readonly<Record<string, object>>,
): WebhookCheck => ({
  id: `mint.${id}-unknown-member`,
  title: `a member of ${claim === 'gcp' ? 'gcp-service-account' : claim} that nobody knows is refused, and nothing is stored`,
  requirements: ['SAV-02'],
  claims: [claim],
  run: (tools) => expectRefused(tools, minters()),
});

/** Protocol section 5.5: SAV-28 and SAV-29, settings that would restrict nothing or lead elsewhere; and SAV-02. */
export const MINTER_SETTINGS_CHECKS: readonly WebhookCheck[] = [
  refusesUnknown('github', 'github-app', () => ({
    'a restriction in another letter case': github({ Repositories: ['one'] }),
    'a restriction in the singular': github({ permission: { contents: 'read' } }),
  })),
  refusesUnknown('gcp', 'gcp', () => ({
    'a member in another letter case': {
      ...GCP.settings('https://api.example'),
      TokenUri: 'https://a.example',
    },
    'a member that means nothing': { ...GCP.settings('https://api.example'), comment: 'mine' },
  })),
  refusesUnknown('aws', 'aws-sts', () => ({
    'a restriction in another letter case': awsMinter({ roleArn: ROLE, SessionPolicy: '{}' }),
    'a restriction with underscores': awsMinter({ role_arn: ROLE }),
  })),
  {
    id: 'mint.github-names-nothing',
    title: 'permissions and repositories that name nothing are refused, and nothing is stored',
    requirements: ['SAV-28'],
    claims: ['github-app'],
    run: async (tools) => {
      await expectRefused(tools, {
        'permissions that are empty': github({ permissions: {} }),
        'repositories that are empty': github({ repositories: [] }),
        'permissions that are empty beside a repository': github({ permissions: {}, repositories: ['one'] }),
        'repositories that are empty beside a permission': github({
          permissions: { contents: 'read' },
          repositories: [],
        }),
      });
    },
  },
  {
    id: 'mint.github-ids',
    title: 'an installationId or appId that is not of its form is refused, and nothing is stored',
    requirements: ['SAV-29'],
    claims: ['github-app'],
    run: async (tools) => {
      await expectRefused(tools, {
        'an installation with a path': github({ installationId: '1/../../users' }),
        'an installation with a query': github({ installationId: '1?x=' }),
        'an installation with a fragment': github({ installationId: '1#' }),
        'an installation that is encoded': github({ installationId: '1%2F..' }),
        'an installation with a line': github({ installationId: '1\n' }),
        'an installation with a space': github({ installationId: '1 2' }),
        'an app with a path': github({ appId: '../1' }),
        'an app with a line': github({ appId: '1\r\nx: y' }),
        'an app with a quote': github({ appId: '1","iss":"2' }),
      });
      await expectStored(tools, { 'plain numbers': github({ appId: '1', installationId: '98765432' }) });
    },
  },
  {
    id: 'mint.aws-policy-without-role',
    title: 'a sessionPolicy without roleArn is refused, and one beside it is accepted',
    requirements: ['SAV-28'],
    claims: ['aws-sts'],
    run: async (tools) => {
      const sessionPolicy = JSON.stringify({
        Version: '2012-10-17',
        Statement: [{ Effect: 'Allow', Action: 's3:GetObject', Resource: '*' }],
      });
      await expectRefused(tools, { 'a policy without role': awsMinter({ sessionPolicy }) });
      await expectStored(tools, { 'a policy for a role': awsMinter({ sessionPolicy, roleArn: ROLE }) });
    },
  },
  {
    id: 'mint.aws-region',
    title: 'a region that is none is refused, since it stands in an address',
    requirements: ['SAV-29'],
    claims: ['aws-sts'],
    run: async (tools) => {
      await expectRefused(tools, {
        'another host with a path': awsMinter({ region: 'x.evil.example/' }),
        'another host behind a region': awsMinter({ region: 'us-east-1.evil.example' }),
        'a region with a path': awsMinter({ region: 'us-east-1/' }),
        'a region with userinfo': awsMinter({ region: 'us-east-1@evil.example' }),
        'a region with a fragment': awsMinter({ region: 'us-east-1#' }),
        'a region with a port': awsMinter({ region: 'us-east-1:8080' }),
        'a region with a line': awsMinter({ region: 'us-east-1\n' }),
      });
      await expectStored(tools, {
        'no region': awsMinter({}),
        'us-east-1': awsMinter({ region: 'us-east-1' }),
        'eu-central-1': awsMinter({ region: 'eu-central-1' }),
        'us-gov-west-1': awsMinter({ region: 'us-gov-west-1' }),
      });
    },
  },
  {
    id: 'mint.aws-role',
    title: 'a roleArn that is none is refused',
    requirements: ['SAV-29'],
    claims: ['aws-sts'],
    run: async (tools) => {
      await expectRefused(tools, {
        'a name': awsMinter({ roleArn: 'conformance' }),
        'a user': awsMinter({ roleArn: 'arn:aws:iam::123456789012:user/conformance' }),
        'a bucket': awsMinter({ roleArn: 'arn:aws:s3:::conformance' }),
        'an account that is none': awsMinter({ roleArn: 'arn:aws:iam::12345:role/conformance' }),
        'a role without name': awsMinter({ roleArn: 'arn:aws:iam::123456789012:role/' }),
        'another parameter': awsMinter({ roleArn: `${ROLE}&DurationSeconds=43200` }),
        'a line': awsMinter({ roleArn: `${ROLE}\nx` }),
      });
      await expectStored(tools, {
        'a role': awsMinter({ roleArn: ROLE }),
        'a role with a path': awsMinter({ roleArn: 'arn:aws:iam::123456789012:role/team/one/conformance' }),
        'a role elsewhere': awsMinter({ roleArn: 'arn:aws-us-gov:iam::123456789012:role/conformance' }),
      });
    },
  },
  {
    id: 'mint.aws-unlisted',
    title: 'a secret access key is in no answer of /v1/storage',
    requirements: ['STO-03'],
    claims: ['aws-sts', 'storage'],
    run: async (tools) => {
      const secretAccessKey = randomToken(30);
      const minter = awsMinter({ secretAccessKey, roleArn: ROLE });
      const name = await tools.given.record({ tokenType: 'RawCredential', minter });
      for (const op of ['tokens.get', 'audit.list']) {
        const answer = await tools.storage({ op, serviceName: name });
        expectOk(answer);
        expectThat(!text(answer).includes(secretAccessKey), answer, `nothing of the key in ${op}`);
      }
    },
  },
  {
    id: 'mint.aws-empty',
    title: 'an aws-sts minter with an empty key is an empty record, and nobody is asked',
    requirements: ['CRE-09', 'SAV-05'],
    claims: ['aws-sts', 'credential'],
    run: async (tools) => {
      const minter = awsMinter({ secretAccessKey: '' });
      const name = await tools.given.record({ tokenType: 'RawCredential', minter });
      const answer = await tools.fetchCredential(tools.ticket('credential', name));
      expectRefusal(answer, 'EMPTY_TOKEN');
    },
  },
];
