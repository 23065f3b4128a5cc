import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { SIGNING } from '../../upstream/aws-setup.ts';

const CLAIMS = ['storage', 'http-proxy', 'aws-sigv4'] as const;

type Members = Readonly<Record<string, unknown>>;

const TYPE = { type: 'aws_sigv4' };
const PART_OF_64 = 'a-0'.padEnd(64, 'z');

/** Hosts that imply region and service, without the domain of AWS. */
const TELLING = [
  ...['sqs.eu-central-1', 'dynamodb-fips.us-gov-west-1', 'lambda.dualstack.eu-west-1', 'sts.eu-west-3'],
  ...['email.eu-west-1', 'bedrock-runtime.us-east-1', 'api.ecr.eu-west-1', 'runtime.sagemaker.us-west-2'],
  ...['s3.eu-west-1', 'bucket.s3.eu-west-1', 'my.bucket.s3.dualstack.eu-west-1', 's3-fips.us-east-2'],
  ...[
    'access-1.s3-accesspoint.eu-west-1',
    'access-1.s3-object-lambda.eu-west-1',
    'bucket.s3-fips.us-east-2',
    'api.sagemaker.eu-west-1',
    'a1b2.execute-api.eu-west-1',
  ],
  ...['s3-eu-west-1', 'bucket.s3-eu-west-1', 's3', 'my.bucket.s3', 'access-1.1234.s3-outposts.eu-west-1'],
  ...['budgets', 'cloudfront', 'iam', 'organizations', 'route53', 'sts'],
];
/** Hosts that imply only a region. */
const WITH_REGION = ['a1b2.lambda-url.eu-west-1', 'one.two.sqs.eu-west-1', 'one.s3.two.eu-west-1'];
const TELLING_NOTHING = ['lambda', 'my.iam', 'iam.my', 'eu-west-1.sqs'];
const DOMAINS = ['amazonaws.com', 'amazonaws.com.cn', 'amazonaws.eu', 'api.aws'];

/** A configuration of an HTTP API with a new id. */
function newConfig(tools: Tools, serviceName: string, members: Members): Members {
  const upstreamUrl = 'https://api.example/v1';
  const named = { proxyId: tools.freshProxyId(), serviceName, upstreamUrl };
  return { op: 'proxies.put', ...named, kind: 'http', headerTemplates: {}, ...members };
}

function expectSigning(answer: Answer, returned: Members, signing: Members | undefined): void {
  // A reader ignores other members.
  const known = ({ type, region, service }: Members): string => JSON.stringify([type, region, service]);
  const given = returned['signing'];
  const isSame =
    typeof given === 'object' && given !== null && signing !== undefined
      ? known(given as Members) === known(signing)
      : given === signing;
  expectThat(isSame, answer, signing ? `signing ${JSON.stringify(signing)}` : 'no member signing');
}

/** Protocol section 5.9: stored configurations of signed calls. Only AWS can tell which service a host is. */
export const AWS_CONFIG_CHECKS: readonly Check[] = [
  {
    id: 'aws-signing.config',
    title: 'signing of a configuration is returned as it was put, and left out where there was none',
    requirements: ['AWS-02'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name } = await tools.given.text();
      for (const members of [
        { signing: SIGNING },
        { signing: { ...TYPE, region: PART_OF_64, service: 'a' } },
        { signing: TYPE, upstreamUrl: 'https://s3.eu-west-1.amazonaws.com' },
        {},
      ]) {
        const put = newConfig(tools, name, members);
        const answer = await tools.storage(put);
        expectSigning(answer, expectOk(answer), members.signing);
        const got = await tools.storage({ op: 'proxies.get', proxyId: put['proxyId'] });
        expectSigning(got, expectOk(got), members.signing);
      }
    },
  },
  {
    id: 'aws-signing.config-replaced',
    title: 'a configuration with another signing has a higher version',
    requirements: ['AWS-02', 'STO-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name } = await tools.given.text();
      const put = newConfig(tools, name, {});
      let last = Number(expectOk(await tools.storage(put))['version']);
      const another = { ...SIGNING, service: 'sqs' };
      for (const change of [{ signing: SIGNING }, { signing: another }, {}]) {
        const answer = await tools.storage({ ...put, ...change });
        const returned = expectOk(answer);
        expectSigning(answer, returned, change.signing);
        expectThat(Number(returned['version']) > last, answer, `a version above ${last}`);
        last = Number(returned['version']);
      }
    },
  },
  {
    id: 'aws-signing.bad-config',
    title:
      'signing of another type, with a malformed region or service, for MCP or beside a marker is refused',
    requirements: ['AWS-03'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name } = await tools.given.text();
      const forms = [
        '',
        'EU-CENTRAL-1',
        'eu central',
        'eu/central',
        'eu_central',
        `${PART_OF_64}z`,
        1,
        ['s3'],
      ];
      const variants: Readonly<Record<string, Members>> = {
        'another type': { signing: { ...SIGNING, type: 'aws_sigv4a' } },
        'a type in capitals': { signing: { ...SIGNING, type: 'AWS_SIGV4' } },
        'no type': { signing: { region: 'eu-central-1', service: 's3' } },
        'a text': { signing: 'aws_sigv4' },
        'signing of MCP': { signing: SIGNING, kind: undefined },
        'a marker in a header': { signing: SIGNING, headerTemplates: { 'x-api-key': 'k ${TOKEN}' } },
        'the other marker': { signing: SIGNING, headerTemplates: { authorization: '$<TOKEN>' } },
        'a marker of Basic': { signing: SIGNING, headerTemplates: { authorization: '${BASIC:u}' } },
        'a marker in the query': { signing: SIGNING, queryTemplates: { key: '${TOKEN}' } },
        'a marker of Basic in the query': { signing: SIGNING, queryTemplates: { key: '${BASIC:u}' } },
      };
      await eachVariant(variants, async (members) =>
        expectRefusal(await tools.storage(newConfig(tools, name, members)), 'INVALID_REQUEST'),
      );
      for (const part of ['region', 'service'])
        for (const form of forms) {
          const put = newConfig(tools, name, { signing: { ...SIGNING, [part]: form } });
          expectRefusal(await tools.storage(put), 'INVALID_REQUEST', `the ${part} ${JSON.stringify(form)}`);
        }
      const constants = { headerTemplates: { 'x-one': '${token}' }, queryTemplates: { version: '2' } };
      expectOk(await tools.storage(newConfig(tools, name, { signing: SIGNING, ...constants })));
    },
  },
  {
    id: 'aws-signing.host-tells',
    title: 'region and service may be absent only where the AWS host implies them',
    requirements: ['AWS-03'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name } = await tools.given.text();
      const put = (host: string, signing: object): Promise<Answer> =>
        tools.storage(newConfig(tools, name, { signing, upstreamUrl: `https://${host}/v1` }));
      const [withRegion, withService] = [
        { ...TYPE, region: 'eu-west-1' },
        { ...TYPE, service: 's3' },
      ];
      for (const host of TELLING.map((each) => `${each}.amazonaws.com`)) {
        const answer = await put(host, TYPE);
        expectThat(answer.status === 200, answer, `200, since ${host} implies region and service`);
      }
      for (const domain of DOMAINS) {
        expectOk(await put(`sqs.eu-west-1.${domain}`, TYPE));
        expectRefusal(await put(`lambda.${domain}`, TYPE), 'INVALID_REQUEST', `lambda.${domain}`);
      }
      for (const host of WITH_REGION.map((each) => `${each}.amazonaws.com`)) {
        expectOk(await put(host, withService));
        expectRefusal(await put(host, TYPE), 'INVALID_REQUEST', `${host} without a service`);
      }
      const others = ['api.example', 's3.eu-west-1.amazonaws.com.example', 's3.eu-west-1.notamazonaws.com'];
      for (const host of [...others, ...TELLING_NOTHING.map((each) => `${each}.amazonaws.com`)])
        for (const signing of [TYPE, withRegion, withService])
          expectRefusal(await put(host, signing), 'INVALID_REQUEST', `${JSON.stringify(signing)} at ${host}`);
    },
  },
];
