import { approvalChallenge, toBase64url } from '@svault/shared';
import { decisionOptions } from '../../approver/approver.ts';
import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import { json, toolCall } from '../proxy/ruled-record.ts';
import {
  approvalFor,
  ask,
  asked,
  CREDENTIAL,
  freshSub,
  OF_API,
  OF_PROXY,
  setUpApprovedApi,
  setUpApprovedAws,
  setUpApprovedMcp,
  storeApproved,
  type ApprovableCall,
  type ApprovedProxy,
  type Asking,
} from './approved-record.ts';
import { digestOf, expectText, proxyOperation } from './expected-text.ts';
import { storeText } from '../../upstream/proxy-setup.ts';

/** Fields that a decision covers, and such that it does not. */
const FIELDS: Readonly<Record<string, ApprovableCall['headers']>> = {
  'no field': [],
  'fields in another order': [
    ['x-b', '1'],
    ['content-type', 'text/plain'],
    ['a-c', '2'],
  ],
  'names in another letter case': [
    ['X-Amz-Target', 'DynamoDB_20120810.GetItem'],
    ['Stripe-Account', 'acct_1'],
  ],
  'a field twice': [
    ['x-b', '1'],
    ['x-c', '0'],
    ['x-b', '2'],
  ],
  'fields that vary from attempt to attempt': [
    ...['accept-language', 'b3', 'baggage', 'date', 'idempotency-key', 'last-event-id'].map(uncovered),
    ...['mcp-protocol-version', 'mcp-session-id', 'sentry-trace', 'traceparent', 'tracestate'].map(uncovered),
    ...['user-agent', 'x-amz-date', 'x-amz-security-token', 'x-amz-user-agent', 'x-amzn-trace-id'].map(
      uncovered,
    ),
    ...['x-client-request-id', 'x-correlation-id', 'x-goog-api-client', 'x-request-id'].map(uncovered),
    ...['x-ms-client-request-id', 'x-ms-date', 'amz-sdk-request', 'x-b3-traceid'].map(uncovered),
    ...['x-datadog-trace-id', 'x-stainless-retry-count'].map(uncovered),
  ],
  'fields with names that are only like those': [
    ...[
      'accept',
      'accept-version',
      'x-date',
      'x-amz-target',
      'x-b3',
      'mcp-name',
      'mcp-method',
      'idempotency',
      'dated',
      'user-agent-x',
    ].map(uncovered),
  ],
};

function uncovered(name: string): readonly [string, string] {
  return [name, 'x'];
}

const message = (members: string): ApprovableCall => json(`{"jsonrpc":"2.0",${members}}`);

/** Messages whose digests are of other bytes than theirs. */
const MESSAGES: Readonly<Record<string, ApprovableCall>> = {
  'a call of a tool': json(toolCall('drop', { id: 7, _meta: { a: 1 } })),
  'an id that is a text': message('"id":"a-1","method":"tools/call","params":{"name":"drop"}'),
  'a token for its progress': message(
    String.raw`"id":12,"method":"tools/call","params":{"name":"drop","_meta":{"progressToken":["}",{"a":"\""}]},"arguments":{"id":1}}`,
  ),
  'escaped names, white space and another order': message(
    String.raw`"params" : { "_met\u0061" : {"a":[1 , 2]} , "uri":"x:y" } , "\u0069d" : -1.5e3 , "method":"resources/read"`,
  ),
  'no id': message('"method":"resources/read","params":{"_meta":1}'),
  'texts that are no ASCII': message(
    '"id":"ü","method":"tools/call","params":{"name":"löschen","_meta":"é"}',
  ),
  'params that are null': message('"params":null,"id":3,"method":"resources/read"'),
  'a resource': message('"id":3,"method":"resources/read","params":{"uri":"x:y","id":4}'),
};

/** Protocol section 5.10: what a request is known by, and what is signed. */
export const DIGEST_CHECKS: readonly Check[] = [
  {
    id: 'approvals.text',
    title: 'what is signed is the SHA-256 of the text of the request, the decision and the scope',
    requirements: ['APR-22', 'APR-43'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const { name: serviceName } = await storeApproved(tools, 3600);
      const asking = { serviceName, sub: freshSub() };
      await expectText(tools, asking, CREDENTIAL);
      const { url } = await asked(tools, asking);
      for (const [decision, scope] of [
        ['approve', 'once'],
        ['deny', 'once'],
        ['approve', 'standing:60'],
        ['approve', 'standing:3600'],
      ] as const) {
        const { answer, text, publicKey } = await decisionOptions(tools, url, { decision, scope });
        const challenge = toBase64url(approvalChallenge(text, decision, scope));
        expectThat(publicKey.challenge === challenge, answer, `the challenge of ${decision}, ${scope}`);
        const { hostname } = new URL(tools.target.webhookUrl);
        expectThat(publicKey.rpId === hostname, answer, `the relying party id ${hostname}`);
      }
    },
  },
  {
    id: 'approvals.digest',
    title: 'the digest of a request is of its covered fields and of its body, and its URL of all of it',
    requirements: ['APR-15', 'APR-16', 'APR-22'],
    claims: OF_API,
    run: async (tools) => {
      const api = await setUpApprovedApi(tools, { headerTemplates: {}, base: '/v1' });
      const bodies = ['', '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', Buffer.from([0, 255, 128])];
      await eachVariant(FIELDS, async (headers = []) => {
        const method = 'POST';
        for (const [at, body] of bodies.entries())
          await expectCallText(
            tools,
            api,
            'http',
            { method, target: `/a?b=+${at}`, headers, body },
            `/v1/a?b=+${at}`,
          );
      });
      const body = Buffer.alloc(20_000, 'x');
      const { bodyDigest } = digestOf('http', { body });
      const operation = {
        ...api.asking({ target: '/long', headers: OCTETS }).operation,
        bodyDigest,
        bodyBytes: body.byteLength,
      };
      const asking = { ...api.asking({ target: '/long', headers: OCTETS }), operation };
      const call = { method: 'POST', target: '/long', headers: OCTETS, body };
      await expectText(tools, asking, proxyOperation(api, 'http', call, '/v1/long'));
    },
  },
  {
    id: 'approvals.digest-of-templates',
    title: 'templates count with their markers, so that a changed configuration makes another request',
    requirements: ['APR-17'],
    claims: OF_API,
    run: async (tools) => {
      const settings = { ...approvalFor('proxy'), allowedQuery: ['key'] };
      const record = await storeText(tools, settings);
      const api = await setUpApprovedApi(tools, { record, queryTemplates: { key: '${TOKEN}', v: 'a b' } });
      const { operation } = await operationIn(tools, api.asking({ method: 'GET', target: '/a?b=1' }));
      const url = `${api.place.url}/a?b=1&key=%24%7BTOKEN%7D&v=a%20b`;
      const fields = [['authorization', 'Bearer ${TOKEN}']] as const;
      const { digest } = digestOf('http', { method: 'GET', headers: fields });
      const { answer } = await asked(tools, api.asking({ method: 'GET', target: '/a?b=1' }));
      expectThat(operation['url'] === url, answer, `the URL ${url} in the text`);
      expectThat(operation['digest'] === digest, answer, `the digest ${digest} in the text`);
    },
  },
  {
    id: 'approvals.digest-of-aws',
    title:
      'a call that the webhook signs is asked for as it is sent: without its client’s signature and framing',
    requirements: ['APR-06', 'APR-16'],
    claims: [...OF_API, 'aws-sigv4'],
    run: async (tools) => {
      const api = await setUpApprovedAws(tools);
      await eachVariant(SIGNED_CALLS, async ({ call, sent }) => {
        const { target = '' } = call;
        await expectText(tools, api.asking(call, freshSub()), proxyOperation(api, 'http', sent, target));
      });
      await eachVariant(NOT_TO_BE_SIGNED, async (call) =>
        expectRefusal(await ask(tools, api.asking(call)), 'REQUEST_NOT_ALLOWED'),
      );
    },
  },
  {
    id: 'approvals.digest-of-message',
    title: 'the digest of a message of MCP leaves out its id and what is about it, and the text has its tool',
    requirements: ['APR-18', 'APR-22'],
    claims: [...OF_PROXY, 'request-rules'],
    run: async (tools) => {
      const mcp = await setUpApprovedMcp(tools, { isRuled: true });
      await eachVariant(MESSAGES, async (call) => {
        const headers = [...(call.headers ?? []), ['authorization', 'Bearer ${TOKEN}']] as const;
        await expectText(tools, mcp.asking(call), proxyOperation(mcp, 'mcp', { ...call, headers }, ''));
      });
      const long = json(toolCall('drop', { a: 'x'.repeat(20_000) }));
      const headers = [...(long.headers ?? []), ['authorization', 'Bearer ${TOKEN}']] as const;
      const { bodyDigest } = digestOf('mcp', long);
      const asking = mcp.asking({ headers: long.headers ?? [] });
      const operation = { ...asking.operation, body: undefined, bodyDigest, bodyBytes: 20_000 };
      const { digest } = digestOf('mcp', { ...long, headers });
      const { proxyId, place } = mcp;
      const signed = { type: 'proxy', proxyId, method: 'POST', url: place.url, digest } as const;
      await expectText(tools, { ...asking, operation }, signed);
    },
  },
  {
    id: 'approvals.digest-without-rule',
    title: 'where no rule for MCP is there, a message is covered whole, and the text has no tool',
    requirements: ['APR-19', 'APR-22'],
    claims: OF_PROXY,
    run: async (tools) => {
      const rest = '?a=b';
      const mcp = await setUpApprovedMcp(tools, { rest });
      await eachVariant(MESSAGES, async (call) => {
        const headers = [...(call.headers ?? []), ['authorization', 'Bearer ${TOKEN}']] as const;
        await expectText(tools, mcp.asking(call), proxyOperation(mcp, 'http', { ...call, headers }, rest));
      });
    },
  },
];

const OCTETS = [['content-type', 'application/octet-stream']] as const;

const OF_CLIENT = [
  ['authorization', 'AWS4-HMAC-SHA256 Credential=x'],
  ['x-amz-date', '20200101T000000Z'],
] as const;
const CHUNKED = [
  ...OCTETS,
  ...OF_CLIENT,
  ['content-encoding', 'aws-chunked, gzip'],
  ['x-amz-content-sha256', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'],
  ['x-amz-decoded-content-length', '5'],
  ['x-amz-trailer', 'x-amz-checksum-crc32'],
] as const;
const CHUNKS = '5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n';

/** Calls as a client of AWS makes them, and what of them is sent. */
const SIGNED_CALLS: Readonly<
  Record<string, { readonly call: ApprovableCall; readonly sent: ApprovableCall }>
> = {
  'a body': {
    call: { method: 'PUT', target: '/a', headers: [...OCTETS, ...OF_CLIENT], body: 'hello' },
    sent: { method: 'PUT', headers: OCTETS, body: 'hello' },
  },
  'a framed body': {
    call: { method: 'PUT', target: '/b?c=d', headers: CHUNKED, body: CHUNKS },
    sent: {
      method: 'PUT',
      headers: [...OCTETS, ['content-encoding', 'gzip'], ['x-amz-checksum-crc32', 'NhCmhg==']],
      body: 'hello',
    },
  },
};

const NOT_TO_BE_SIGNED: Readonly<Record<string, ApprovableCall>> = {
  'a presigned URL': { method: 'GET', target: '/a?X-Amz-Signature=1' },
  'a body that is not framed as it says': { method: 'PUT', target: '/a', headers: CHUNKED, body: 'hello' },
};

async function expectCallText(
  tools: Tools,
  api: ApprovedProxy,
  kind: 'http' | 'mcp',
  call: ApprovableCall,
  rest: string,
): Promise<void> {
  const { headers = [] } = call;
  const isTyped = headers.some(([name]) => name === 'content-type');
  const sent = { ...call, headers: isTyped ? headers : [...headers, ...OCTETS] };
  await expectText(tools, api.asking(sent, freshSub()), proxyOperation(api, kind, sent, rest));
}

/** `operation` in the text of what is asked. */
async function operationIn(
  tools: Tools,
  asking: Asking,
): Promise<{ readonly operation: Readonly<Record<string, unknown>> }> {
  const { url } = await asked(tools, asking);
  const { text } = await decisionOptions(tools, url);
  return JSON.parse(text) as { readonly operation: Readonly<Record<string, unknown>> };
}
