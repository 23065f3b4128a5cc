import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectThat } from '../../check/expect.ts';
import type { ProxiedCall, Tools } from '../../check/tools.ts';
import { clockAheadMs } from '../../check/webhook-clock.ts';
import { header } from '../../http/read-answer.ts';
import { openElsewhere, setUpApi } from '../../upstream/api-setup.ts';
import { expectSigned, newKeys, newSession, setUpSigned, SIGNING } from '../../upstream/aws-setup.ts';
import { expectUncalled, received, storeTextOf } from '../../upstream/proxy-setup.ts';
import type { UpstreamAnswer } from '../../upstream/upstream.ts';

const CLAIMS = ['storage', 'store', 'proxy', 'http-proxy', 'aws-sigv4'] as const;

const FORM = 'application/x-www-form-urlencoded; charset=utf-8';
const CALLS: Readonly<Record<string, { readonly target: string } & Partial<ProxiedCall>>> = {
  'nothing behind the base': { target: '' },
  'a name without a value': { target: '/bucket?acl' },
  'names in another order': { target: '/bucket?prefix=b%2Fc&list-type=2&A=%E2%82%AC' },
  'names that differ in letter case': { target: '/bucket?a=1&A=2' },
  'a name twice': { target: '/bucket?tag=b&tag=a&tag=a' },
  'a name that begins as another': { target: '/bucket?a-b=1&a=2&ab=3' },
  'a value with an equals sign': { target: '/bucket?token=a=b==&marker=' },
  'what could be encoded and is not': { target: "/bucket?q=!'()*&r=-._~" },
  'a body': { target: '/bucket/key', method: 'PUT', body: 'content' },
  'a body that is no text': { target: '/bucket/key', method: 'PUT', body: new Uint8Array(70_000) },
  'a form': { target: '/', method: 'POST', body: 'Action=Get&Version=1', headers: [['content-type', FORM]] },
  'an empty body': { target: '/bucket/key', method: 'POST' },
  'a DELETE': { target: '/bucket/key?versionId=1', method: 'DELETE' },
  'a HEAD': { target: '/bucket/key', method: 'HEAD' },
};

/** Fields that an agent's AWS client signs with. */
const OF_A_CLIENT = [
  ['authorization', 'AWS4-HMAC-SHA256 Credential=stray/20010101/eu-west-1/s3/aws4_request'],
  ['date', 'Mon, 01 Jan 2001 00:00:00 GMT'],
  ['x-amz-date', '20010101T000000Z'],
  ['x-amz-content-sha256', 'UNSIGNED-PAYLOAD'],
  ['x-amz-security-token', 'stray'],
  ['x-amz-region-set', 'stray'],
  ['x-amz-s3session-token', 'stray'],
] as const;
const PRESIGNED = [
  ...['X-Amz-Algorithm', 'X-Amz-Credential', 'X-Amz-Date', 'X-Amz-Expires', 'X-Amz-SignedHeaders'],
  ...[
    'X-Amz-Signature',
    'X-Amz-Security-Token',
    'X-Amz-Content-Sha256',
    'X-Amz-Region-Set',
    'AWSAccessKeyId',
  ],
];
/** Each has a long value besides its mistake, since a short secret is refused in any case. */
const NO_KEYS: Readonly<Record<string, unknown>> = {
  'no JSON': 'AKIACONFORMANCE00000:canary-of-no-json',
  'JSON that breaks off': '{"AccessKeyId":"AKIACONFORMANCE00000","SecretAccessKey":"canary',
  'a list': [newKeys()],
  'no id': { ...newKeys(), AccessKeyId: undefined },
  'no secret': { ...newKeys(), SecretAccessKey: undefined },
  'an empty secret': { ...newKeys(), SecretAccessKey: '' },
  'an id that is no text': { ...newKeys(), AccessKeyId: 12 },
  'a secret that is no text': { ...newKeys(), SecretAccessKey: 1e30 },
  'a session token that is no text': { ...newKeys(), SessionToken: 1e30 },
  'names in another letter case': { accessKeyId: 'AKIACONFORMANCE00000', secretAccessKey: 'canary-of-keys' },
};

/** `x-amz-date` in milliseconds since 1970. */
const timeOf = (date: string): number =>
  Date.parse(date.replace(/^(.{4})(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));

/** Protocol section 5.9: signatures and access keys. */
export const AWS_SIGNATURE_CHECKS: readonly Check[] = [
  {
    id: 'aws-signing.signature',
    title: 'a call is signed as it is sent, by AWS Signature Version 4, for the region and the service',
    requirements: ['AWS-04', 'AWS-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpSigned(tools);
      await eachVariant(CALLS, async ({ target, ...how }) => {
        const { answer, signature, call } = await expectSigned(api, target, how);
        const { region, service } = signature;
        const isScope = region === SIGNING.region && service === SIGNING.service;
        expectThat(isScope, answer, `a scope of ${SIGNING.region} and ${SIGNING.service}`);
        const shown = call.headers.find(([, value]) => value.includes(api.keys.SecretAccessKey));
        expectThat(shown === undefined, answer, `no secret access key in "${shown?.[0]}"`);
        const token = received(call, 'x-amz-security-token');
        expectThat(token.length === 0, answer, 'no "x-amz-security-token" without a session');
      });
    },
  },
  {
    id: 'aws-signing.signed-fields',
    title: 'each x-amz-* field of the agent reaches the upstream and is covered, as are those of templates',
    requirements: ['AWS-14', 'HTP-18'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpSigned(tools, { headerTemplates: { 'X-Amz-Expected-Owner': '1234' } });
      const headers = [
        ['x-amz-meta-note', 'two  spaces, "and" more'],
        ['x-amz-target', 'Service_2026.Operation'],
        ['x-amz-acl', 'private'],
        ['x-date', 'no field of a signature'],
        ['x-amz-dates', 'nor this one'],
        ['content-type', 'application/x-amz-json-1.1'],
        ['user-agent', 'a client  of AWS'],
        ['range', 'bytes=0-9'],
      ] as const;
      const { answer, call, signature } = await expectSigned(api, '/a', {
        method: 'PUT',
        body: '{}',
        headers,
      });
      for (const [name, value] of headers)
        expectThat(received(call, name).join() === value, answer, `"${name}: ${value}" at the upstream`);
      const covers = signature.signedHeaders.includes('x-amz-expected-owner');
      expectThat(covers, answer, 'a signature that covers the field of a template');
    },
  },
  {
    id: 'aws-signing.path',
    title: 'the path is signed as it is sent for S3, and encoded once more for other services',
    requirements: ['AWS-16', 'AWS-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const { direct } = await tools.given.upstream();
      const targets = [
        '/bucket/key',
        '/a%20b/c?x=1',
        ...(direct ? ['/a%2Bb/%C3%A9', "/a:b/c~d(1)!'*,@$"] : []),
      ];
      for (const service of ['s3', 's3-outposts', 's3-object-lambda', 'bedrock', 's3-tables', 'not-s3']) {
        const api = await setUpSigned(tools, { signing: { ...SIGNING, service }, base: '/base' });
        // For S3 a key may have an empty segment.
        const inS3 = direct && service === 's3' ? ['/bucket//key'] : [];
        for (const target of [...targets, ...inS3]) {
          const { answer, call, signature } = await expectSigned(api, target);
          expectThat(signature.service === service, answer, `a scope of ${service}`);
          expectThat(call.rest === `/base${target}`, answer, `a call of /base${target}, not of ${call.rest}`);
        }
      }
    },
  },
  {
    id: 'aws-signing.session-token',
    title: 'a session token is sent as x-amz-security-token, signed',
    requirements: ['AWS-15', 'AWS-04'],
    claims: CLAIMS,
    run: async (tools) => {
      const keys = { Version: 1, ...newSession(), Expiration: '2100-01-01T00:00:00Z' };
      const api = await setUpSigned(tools, { keys });
      const { answer, call } = await expectSigned(api, '/bucket');
      const token = received(call, 'x-amz-security-token').join();
      expectThat(token === keys.SessionToken, answer, 'the session token in "x-amz-security-token"');
    },
  },
  {
    id: 'aws-signing.agent-signature',
    title: 'no field of the agent’s own signature reaches the upstream',
    requirements: ['AWS-08', 'AWS-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpSigned(tools);
      const inCapitals = OF_A_CLIENT.map(([name, value]) => [name.toUpperCase(), value] as const);
      for (const headers of [OF_A_CLIENT, inCapitals]) {
        const { answer, call } = await expectSigned(api, '/bucket', { headers });
        for (const [name, stray] of OF_A_CLIENT)
          expectThat(!received(call, name).includes(stray), answer, `no "${name}: ${stray}" at the upstream`);
      }
    },
  },
  {
    id: 'aws-signing.clock',
    title: 'x-amz-date is the time of the webhook’s own clock',
    requirements: ['AWS-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const aheadMs = await clockAheadMs(tools);
      const api = await setUpSigned(tools);
      const from = Date.now();
      const { answer, signature } = await expectSigned(api, '/', { headers: OF_A_CLIENT });
      const [earliest, latest] = [from + aheadMs - 2000, Date.now() + aheadMs + 1000];
      const at = timeOf(signature.date);
      expectThat(
        at >= earliest && at <= latest,
        answer,
        `the present in "x-amz-date", not ${signature.date}`,
      );
    },
  },
  {
    id: 'aws-signing.no-keys',
    title: 'where the credential is not an access key, nothing is signed and the upstream is not called',
    requirements: ['AWS-04', 'PRX-19'],
    claims: CLAIMS,
    run: async (tools) => {
      await eachVariant(NO_KEYS, async (keys) => {
        const text = typeof keys === 'string' ? keys : JSON.stringify(keys);
        const record = await storeTextOf(tools, text);
        const api = await setUpApi(tools, { record, headerTemplates: {}, signing: SIGNING });
        expectUncalled(api, await api.call('/'), 'NOT_INJECTABLE', 'it');
      });
    },
  },
  {
    id: 'aws-signing.keys-in-marker',
    title: 'an access key replaces no marker, in a header or in the query',
    requirements: ['AWS-05', 'PRX-19'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const keys of [newKeys(), newSession()]) {
        const record = await storeTextOf(tools, JSON.stringify(keys), { allowedQuery: ['key'] });
        for (const templates of [
          { headerTemplates: { authorization: 'Bearer ${TOKEN}' } },
          { headerTemplates: { authorization: 'Basic ${BASIC:u}' } },
          { headerTemplates: {}, queryTemplates: { key: '${TOKEN}' } },
        ]) {
          const api = await setUpApi(tools, { record, ...templates });
          expectUncalled(api, await api.call('/'), 'NOT_INJECTABLE', JSON.stringify(templates));
        }
      }
    },
  },
  {
    id: 'aws-signing.authorization-not-allowed',
    title: 'a call is not signed where allowedHeaders of the record do not name authorization',
    requirements: ['AWS-06', 'PRX-19'],
    claims: CLAIMS,
    run: async (tools) => {
      const without = await setUpSigned(tools, { settings: { allowedHeaders: ['x-api-key'] } });
      expectUncalled(without, await without.call('/'), 'DESTINATION_NOT_ALLOWED', 'other allowedHeaders');
      const named = await setUpSigned(tools, {
        settings: { allowedHeaders: ['x-api-key', 'Authorization'] },
      });
      await expectSigned(named, '/');
    },
  },
  {
    id: 'aws-signing.no-secret-in-headers',
    title: 'a header of the answer that holds the secret access key or the session token does not come back',
    requirements: ['AWS-07', 'PRX-26'],
    claims: CLAIMS,
    run: async (tools) => {
      const keys = newSession();
      await expectKeptBack(tools, keys, (secret) => ({
        'x-as-it-is': secret,
        'x-within': `token=${secret};a`,
      }));
    },
  },
  {
    id: 'aws-signing.no-encoded-secret-in-headers',
    title: 'a header that holds one of them in base64, base64url or percent-encoding does not come back',
    requirements: ['AWS-07', 'PRX-34'],
    claims: CLAIMS,
    run: async (tools) => {
      const keys = newSession();
      await expectKeptBack(tools, keys, (secret) => ({
        'x-base64': Buffer.from(secret).toString('base64'),
        'x-base64url': Buffer.from(secret).toString('base64url'),
        'x-percent': encodeURIComponent(secret),
      }));
    },
  },
  {
    id: 'aws-signing.short-secret',
    title: 'a short secret access key or session token is used only where its owner permitted it',
    requirements: ['AWS-07', 'PRX-47'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const keys of SHORT) {
        const refusing = await setUpSigned(tools, { keys });
        expectUncalled(refusing, await refusing.call('/'), 'NOT_INJECTABLE', JSON.stringify(keys));
        const permitting = await setUpSigned(tools, { keys, settings: { allowShortSecret: true } });
        await expectSigned(permitting, '/');
      }
    },
  },
  {
    id: 'aws-signing.short-secret-echo',
    title: 'few headers of the answer to a call that was signed with a short secret come back',
    requirements: ['AWS-07', 'PRX-48'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const keys of SHORT) {
        const api = await setUpSigned(tools, {
          keys,
          settings: { allowShortSecret: true },
          answer: (response) => response.writeHead(200, { etag: '"1"', 'content-language': 'de' }).end('{}'),
        });
        const { answer } = await expectSigned(api, '/');
        expectThat(header(answer, 'etag') === undefined, answer, 'no "etag" beside a short secret');
        expectThat(header(answer, 'content-language') === 'de', answer, '"content-language: de"');
      }
    },
  },
  {
    id: 'aws-signing.presigned',
    title: 'a query with a parameter of a presigned URL is denied, however it is spelled',
    requirements: ['AWS-09', 'PRX-19'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpSigned(tools);
      const spelt = PRESIGNED.flatMap((name) => [`${name}=1`, `a=1&${name.toLowerCase()}`]);
      for (const query of [...spelt, 'x-amz-%53ignature=1', '%58-AMZ-DATE=1', 'awsaccesskeyid=1'])
        expectUncalled(api, await api.call(`/a?${query}`), 'REQUEST_NOT_ALLOWED', query);
      await expectSigned(
        api,
        '/a?x-amz-meta=1&old-x-amz-date=1&X-Amz-Dates=1&AWSAccessKeyIds=1&q=X-Amz-Signature',
      );
    },
  },
  {
    id: 'aws-signing.query-readings',
    title: 'a query that its readers decode differently is denied',
    requirements: ['AWS-10', 'PRX-19'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpSigned(tools);
      for (const query of ['a=b+c', 'a+b=c', '+', 'a=%ff', '%C3=1', 'a=%4', 'a=%zz', 'a=%'])
        expectUncalled(api, await api.call(`/a?${query}`), 'REQUEST_NOT_ALLOWED', query);
      await expectSigned(api, '/a?a=%2B&b=%25');
    },
  },
  {
    id: 'aws-signing.redirect',
    title: 'a redirect that is followed is not signed',
    requirements: ['AWS-17', 'HTP-31'],
    claims: CLAIMS,
    run: async (tools) => {
      const elsewhere = await openElsewhere(tools);
      const location = `${elsewhere.url}/file`;
      const redirects = 'follow-without-credential';
      const redirect: UpstreamAnswer = (response) => response.writeHead(307, { location }).end();
      const api = await setUpSigned(tools, { keys: newSession(), redirects, answer: redirect });
      const { answer } = await expectSigned(api, '/bucket/key');
      const [hop] = elsewhere.calls;
      expectThat(hop !== undefined, answer, 'a call of where the redirect leads');
      const stray = hop.headers.find(([name]) => name === 'authorization' || name.startsWith('x-amz-'));
      expectThat(stray === undefined, answer, `no "${stray?.[0]}" where the redirect leads`);
    },
  },
];

/** Keys with one short secret. */
const SHORT = [
  { ...newSession(), SecretAccessKey: 'short/+' },
  { ...newSession(), SessionToken: '482913' },
];

/** @param headersOf the headers of the upstream's answer, by the secret that they hold */
async function expectKeptBack(
  tools: Tools,
  keys: ReturnType<typeof newSession>,
  headersOf: (secret: string) => Readonly<Record<string, string>>,
): Promise<void> {
  for (const secret of [keys.SecretAccessKey, keys.SessionToken]) {
    const headers = headersOf(secret);
    const api = await setUpSigned(tools, {
      keys,
      answer: (response) => response.writeHead(403, { ...headers, 'x-plain': keys.AccessKeyId }).end('{}'),
    });
    const { answer } = await expectSigned(api, '/');
    for (const name of Object.keys(headers))
      expectThat(header(answer, name) === undefined, answer, `no "${name}" with a secret in it`);
    expectThat(header(answer, 'x-plain') === keys.AccessKeyId, answer, 'the headers that do not hold it');
  }
}
