import type { HeaderPairs } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectThat } from '../../check/expect.ts';
import type { ProxiedCall } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { text } from '../../http/read-answer.ts';
import { expectSigned, setUpSigned } from '../../upstream/aws-setup.ts';
import { expectUncalled, received } from '../../upstream/proxy-setup.ts';
import type { UpstreamCall } from '../../upstream/upstream.ts';

const CLAIMS = ['storage', 'store', 'proxy', 'http-proxy', 'aws-sigv4'] as const;

const SUM = 'x-amz-checksum-crc32';
const OTHER_SUM = 'x-amz-checksum-sha256';
const SIGNATURE = `;chunk-signature=${'ab'.repeat(32)}`;
const CHUNKS = '6\r\nhello \r\n5\r\nworld\r\n';
const END = '0\r\n\r\n';
const WHOLE = 'hello world';
const SUMMED = `${CHUNKS}0\r\n${SUM}:DUoRhQ==\r\n\r\n`;

/** Names that resemble fields of the framing. */
const NOT_OF_FRAMING: HeaderPairs = [
  ['x-content-encoding', 'stays'],
  ['x-amz-trailers', 'stay'],
];

/** A body with `aws-chunked` framing, and what the fields of the request say about it. */
interface Framed {
  readonly body: string;
  /** `x-amz-content-sha256` without `STREAMING-`. */
  readonly form?: string;
  readonly coding?: string;
  readonly length?: string;
  /** `x-amz-trailer`. */
  readonly trailer?: string;
}

function framed({
  body,
  form = 'UNSIGNED-PAYLOAD-TRAILER',
  coding = 'aws-chunked',
  ...more
}: Framed): Partial<ProxiedCall> {
  const { length = String(WHOLE.length), trailer } = more;
  const headers: HeaderPairs = [
    ['content-encoding', coding],
    ['x-amz-content-sha256', `STREAMING-${form}`],
    ['x-amz-decoded-content-length', length],
    ...NOT_OF_FRAMING,
    ...(trailer === undefined ? [] : [['x-amz-trailer', trailer] as const]),
  ];
  return { method: 'PUT', body, headers: headers.filter(([, value]) => value !== '') };
}

const LEGAL: Readonly<Record<string, Framed & { readonly sums?: HeaderPairs; readonly leaves?: string }>> = {
  'no trailer': { body: CHUNKS + END },
  'a trailer': { body: SUMMED, trailer: SUM, sums: [[SUM, 'DUoRhQ==']] },
  'two checksums': {
    body: `${CHUNKS}0\r\n${SUM}:DUoRhQ==\r\n${OTHER_SUM}:uU0nuZNNPgilLlLX2n2r==\r\n\r\n`,
    // The order does not matter.
    trailer: `${OTHER_SUM}, ${SUM}`,
    sums: [
      [SUM, 'DUoRhQ=='],
      [OTHER_SUM, 'uU0nuZNNPgilLlLX2n2r=='],
    ],
  },
  'two checksums in another order': {
    body: `${CHUNKS}0\r\n${OTHER_SUM}:uU0nuZNNPgilLlLX2n2r==\r\n${SUM}:DUoRhQ==\r\n\r\n`,
    trailer: `${SUM},${OTHER_SUM}`,
    sums: [
      [SUM, 'DUoRhQ=='],
      [OTHER_SUM, 'uU0nuZNNPgilLlLX2n2r=='],
    ],
  },
  'a trailer whose name is in capitals': {
    body: SUMMED.replace(SUM, SUM.toUpperCase()),
    trailer: SUM,
    sums: [[SUM, 'DUoRhQ==']],
  },
  'signed chunks': {
    body: `b${SIGNATURE}\r\n${WHOLE}\r\n0${SIGNATURE}\r\n\r\n`,
    form: 'AWS4-HMAC-SHA256-PAYLOAD',
  },
  'signed chunks and a signed trailer': {
    body: `b${SIGNATURE}\r\n${WHOLE}\r\n0${SIGNATURE}\r\n${SUM}:DUoRhQ==\r\nx-amz-trailer-signature:${'ab'.repeat(32)}\r\n\r\n`,
    form: 'AWS4-HMAC-SHA256-PAYLOAD-TRAILER',
    trailer: SUM,
    sums: [[SUM, 'DUoRhQ==']],
  },
  'chunks with another kind of signature': { body: CHUNKS + END, form: 'AWS4-ECDSA-P256-SHA256-PAYLOAD' },
  'no coding': { body: CHUNKS + END, coding: '' },
  'another coding': { body: CHUNKS + END, coding: 'aws-chunked, gzip', leaves: 'gzip' },
  'another coding before it': { body: CHUNKS + END, coding: 'gzip,aws-chunked', leaves: 'gzip' },
};

const ILLEGAL: Readonly<Record<string, Framed>> = {
  'no end': { body: CHUNKS },
  'a truncated end': { body: `${CHUNKS}0\r\n`.slice(0, -1) },
  'a byte after its end': { body: `${CHUNKS}${END}x` },
  'a negative size': { body: `-6\r\nhello \r\n5\r\nworld\r\n${END}` },
  'a size beyond it': { body: `ffffff\r\n${WHOLE}\r\n${END}` },
  'a chunk longer than its size': { body: `5\r\nhello \r\n5\r\nworld\r\n${END}` },
  'line feeds alone': { body: `${CHUNKS}${END}`.replaceAll('\r', '') },
  'no framing': { body: WHOLE },
  'nothing at all': { body: '', length: '0' },
  'another length than it says': { body: CHUNKS + END, length: '12' },
  'a length that it begins with': { body: CHUNKS + END, length: '1' },
  'a length that begins with it': { body: CHUNKS + END, length: '110' },
  'a length that is no number': { body: CHUNKS + END, length: 'eleven' },
  'no trailer that was announced': { body: CHUNKS + END, trailer: SUM },
  'a trailer that was not announced': { body: SUMMED },
  'a trailer whose name begins so': { body: SUMMED, trailer: `${SUM}c` },
  'another trailer': { body: SUMMED, trailer: OTHER_SUM },
  'a trailer that is no checksum': {
    body: `${CHUNKS}0\r\nx-amz-acl:public-read\r\n\r\n`,
    trailer: 'x-amz-acl',
  },
  'another form': { body: CHUNKS + END, form: 'OTHER' },
  'a form in small letters': { body: CHUNKS + END, form: 'unsigned-payload-trailer' },
  'a form that begins as one': { body: CHUNKS + END, form: 'UNSIGNED-PAYLOAD-TRAILERS' },
  'a form that ends as one': { body: CHUNKS + END, form: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' },
  'a form of events': { body: CHUNKS + END, form: 'AWS4-HMAC-SHA256-EVENTS' },
};

/** @param expected the checksums, and what is left of `content-encoding`; empty where nothing is */
function expectUnframed(
  answer: Answer,
  call: UpstreamCall,
  { sums, leaves }: { readonly sums: HeaderPairs; readonly leaves: string },
): void {
  const body = Buffer.from(call.body).toString();
  expectThat(body === WHOLE, answer, `the body ${WHOLE}, not ${JSON.stringify(body)}`);
  const coding = received(call, 'content-encoding').join();
  expectThat(coding === leaves, answer, `"content-encoding: ${leaves}", not ${coding}`);
  for (const name of [SUM, OTHER_SUM]) {
    const expected = sums.find(([each]) => each === name)?.[1] ?? '';
    const sum = received(call, name).join();
    expectThat(sum === expected, answer, `"${name}: ${expected}", not ${sum}`);
  }
  for (const [name, value] of NOT_OF_FRAMING)
    expectThat(received(call, name).join() === value, answer, `"${name}: ${value}" at the upstream`);
  const ofFraming = ['x-amz-decoded-content-length', 'x-amz-trailer', 'x-amz-trailer-signature'];
  const stray = ofFraming.find((name) => received(call, name).length > 0);
  expectThat(stray === undefined, answer, `no "${stray}" at the upstream`);
}

/** Protocol section 5.9: framed bodies, and request rules. */
export const AWS_CHUNKED_CHECKS: readonly Check[] = [
  {
    id: 'aws-signing.chunked',
    title: 'a body with aws-chunked framing is sent without it, its checksums as header fields',
    requirements: ['AWS-11', 'AWS-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpSigned(tools);
      await eachVariant(LEGAL, async ({ sums = [], leaves = '', ...how }) => {
        const { headers: names = [], ...sent } = framed(how);
        const inCapitals = names.map(([name, value]) => [name.toUpperCase(), value] as const);
        for (const headers of [names, inCapitals]) {
          const { answer, call } = await expectSigned(api, '/bucket/key', { ...sent, headers });
          expectUnframed(answer, call, { sums, leaves });
        }
      });
    },
  },
  {
    id: 'aws-signing.chunked-readings',
    title: 'a body that is not framed as its header says, or in an unknown form, is denied',
    requirements: ['AWS-12', 'PRX-19'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpSigned(tools);
      await eachVariant(ILLEGAL, async (how) =>
        expectUncalled(api, await api.call('/bucket/key', framed(how)), 'REQUEST_NOT_ALLOWED', 'it'),
      );
      for (const hash of ['UNSIGNED-PAYLOAD', undefined]) {
        const headers: HeaderPairs = [
          ['content-encoding', 'gzip, AWS-Chunked'],
          ...(hash === undefined ? [] : [['x-amz-content-sha256', hash] as const]),
        ];
        const answer = await api.call('/bucket/key', { method: 'PUT', body: CHUNKS + END, headers });
        expectUncalled(api, answer, 'REQUEST_NOT_ALLOWED', `aws-chunked beside ${hash ?? 'no hash'}`);
      }
    },
  },
  {
    id: 'aws-signing.rules',
    title: 'request rules are compared with the request without its framing and its signature',
    requirements: ['AWS-13', 'RUL-04'],
    claims: [...CLAIMS, 'request-rules'],
    run: async (tools) => {
      const place = (await tools.given.upstream()).open();
      const paths = [`${new URL(place.url).pathname}/bucket/*`];
      const requests = [{ methods: ['GET', 'PUT', 'POST'], paths }];
      const api = await setUpSigned(tools, { place, settings: { requests } });
      const posted = (body: string, type: string): Partial<ProxiedCall> => {
        const { headers = [] } = framed({ body: '', length: String(body.length) });
        const chunks = `${body.length.toString(16)}\r\n${body}\r\n${END}`;
        return { method: 'POST', body: chunks, headers: [...headers, ['content-type', type]] };
      };
      const { answer } = await expectSigned(api, '/bucket/key', posted('{"a":1}', 'application/json'));
      expectThat(text(answer) === '{"ok":true}', answer, 'the answer of the upstream');
      await expectSigned(api, '/bucket/key', framed({ body: CHUNKS + END }));
      const before = place.calls.length;
      await eachVariant(
        {
          'another path': () => api.call('/other/key'),
          'another method': () => api.call('/bucket/key', { method: 'DELETE' }),
          'another method in a form that is framed': () =>
            api.call('/bucket/key', posted('_method=DELETE', 'application/x-www-form-urlencoded')),
          'another method in JSON that is framed': () =>
            api.call('/bucket/key', posted('{"_method":"DELETE"}', 'application/json')),
          'another method in a header': () =>
            api.call('/bucket/key', { method: 'PUT', headers: [['x-http-method-override', 'DELETE']] }),
        },
        async (call) => expectUncalled(api, await call(), 'REQUEST_NOT_ALLOWED', 'it', before),
      );
    },
  },
];
