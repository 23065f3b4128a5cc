import { gzipSync } from 'node:zlib';
import type { Check } from '../../check/check.ts';
import { CheckSkipped } from '../../check/outcome.ts';
import { expectRefusal, expectThat } from '../../check/expect.ts';
import { NoAnswer, type Answer } from '../../http/client.ts';
import { header, text } from '../../http/read-answer.ts';
import { setUpProxy, calledOnce, storeTextOf } from '../../upstream/proxy-setup.ts';
import type { UpstreamAnswer } from '../../upstream/upstream.ts';
import { WITHHELD } from './withheld-headers.ts';

const STATUSES = [200, 201, 204, 304, 400, 401, 403, 404, 429, 500, 502, 503];
/** What a webhook says itself, which an upstream may say too. */
const LOOKS_LIKE_OURS = '{"error":"said by the upstream","code":"TICKET_INVALID"}';
const ANY_BYTES = Buffer.from(Uint8Array.from({ length: 1024 }, (_, at) => (at * 11) % 256));

const TRAVELLING: ReadonlyArray<readonly [name: string, value: string]> = [
  ['content-type', 'application/vnd.conformance+json; charset=utf-8'],
  ['mcp-session-id', 'session-9c1e'],
  ['mcp-protocol-version', '2025-06-18'],
  ['etag', 'W/"5f1c"'],
  ['last-modified', 'Thu, 01 Jan 2026 00:00:00 GMT'],
  ['retry-after', '17'],
  ['location', '/v1/things/7?x=1'],
  ['content-language', 'de-AT'],
  ['content-disposition', 'attachment; filename="a b.txt"'],
  ['x-ratelimit-remaining', '41'],
  ['x-request-id', 'req-1f'],
  ['x-custom', 'a, b;c="d"'],
];

/** Protocol section 5.6: what comes back of an upstream's answer. */
export const PROXY_ANSWER_CHECKS: readonly Check[] = [
  {
    id: 'proxy.status',
    title: 'the upstream’s status comes back unchanged, with sv-proxy-origin: upstream',
    requirements: ['PRX-27'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      for (const [before, status] of STATUSES.entries()) {
        const empty = status === 204 || status === 304;
        proxy.place.answerWith((response) => {
          response.writeHead(status, empty ? {} : { 'content-type': 'application/json' });
          response.end(empty ? '' : LOOKS_LIKE_OURS);
        });
        const answer = await proxy.call();
        calledOnce(proxy, answer, before);
        expectThat(answer.status === status, answer, `the upstream's status ${status}`);
        const origin = header(answer, 'sv-proxy-origin');
        expectThat(origin === 'upstream', answer, `"sv-proxy-origin: upstream" with ${status}`);
        expectThat(empty || text(answer) === LOOKS_LIKE_OURS, answer, `the upstream's body with ${status}`);
      }
    },
  },
  {
    id: 'proxy.forged-origin',
    title: 'an upstream cannot say that it is the webhook',
    requirements: ['PRX-25', 'PRX-27'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, {
        answer: (response) => {
          const forged = { 'SV-Proxy-Origin': 'webhook', 'content-type': 'application/json' };
          response.writeHead(403, forged).end(LOOKS_LIKE_OURS);
        },
      });
      const answer = await proxy.call();
      calledOnce(proxy, answer);
      const values = answer.headers.filter(([name]) => name === 'sv-proxy-origin').map(([, value]) => value);
      const holds = values.length === 1 && values[0] === 'upstream';
      expectThat(holds, answer, '"sv-proxy-origin: upstream" once, and nothing else of that name');
    },
  },
  {
    id: 'proxy.answer-body',
    title: 'the upstream’s body comes back byte for byte',
    requirements: ['PRX-24'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const bodies = [
        ['bytes of every value', 'application/octet-stream', ANY_BYTES],
        ['JSON with spaces', 'application/json', Buffer.from('{"a" :1, "a":2 }\r\n\r\n')],
        ['text', 'text/plain; charset=iso-8859-1', Buffer.from('gr\u00fc\u00dfe', 'latin1')],
        ['nothing', 'text/plain', Buffer.alloc(0)],
      ] as const;
      for (const [what, type, body] of bodies) {
        for (const chunked of [false, true]) {
          proxy.place.answerWith(
            bodyOf(body, { 'content-type': type, ...(!chunked && { 'content-length': body.byteLength }) }),
          );
          const answer = await proxy.call();
          const form = chunked ? ' without a length' : '';
          expectThat(
            body.equals(answer.body),
            answer,
            `the upstream's ${body.byteLength} bytes${form}: ${what}`,
          );
        }
      }
    },
  },
  {
    id: 'proxy.compressed-answer',
    title: 'an answer that is compressed although nobody asked for it can still be read',
    requirements: ['PRX-25'],
    claims: ['proxy'],
    run: async (tools) => {
      const plain = Buffer.from('compressed '.repeat(100));
      const packed = gzipSync(plain);
      const headers = { 'content-encoding': 'gzip', 'content-length': packed.byteLength };
      const proxy = await setUpProxy(tools, { answer: bodyOf(packed, headers) });
      const answer = await proxy.call();
      calledOnce(proxy, answer);
      const holds =
        header(answer, 'content-encoding') === 'gzip'
          ? packed.equals(answer.body)
          : header(answer, 'content-encoding') === undefined && plain.equals(answer.body);
      expectThat(holds, answer, 'the bytes of the upstream with its content-encoding: gzip');
    },
  },
  {
    id: 'proxy.headers-back',
    title: 'the upstream’s headers come back',
    requirements: ['PRX-25'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, {
        answer: (response) => {
          const fields = [...TRAVELLING.flat(), 'link', '<a>; rel="next"', 'link', '<b>; rel="prev"'];
          response.writeHead(201, fields).end('{}');
        },
      });
      const answer = await proxy.call();
      calledOnce(proxy, answer);
      for (const [name, value] of TRAVELLING)
        expectThat(header(answer, name) === value, answer, `the upstream's "${name}: ${value}"`);
      const links = answer.headers.filter(([name]) => name === 'link').map(([, value]) => value);
      const both = links.join(', ').replace(/\s+/g, ' ') === '<a>; rel="next", <b>; rel="prev"';
      expectThat(both, answer, 'both of the upstream’s "link" headers, in their order');
    },
  },
  {
    id: 'proxy.headers-withheld',
    title:
      'no header comes back that is about one connection, about browsers, or an order to what stands between',
    requirements: ['PRX-25'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, {
        answer: (response) => {
          response.writeHead(200, WITHHELD.flat());
          // Chunked, as an answer with trailers has to be.
          response.write('x');
          response.end();
        },
      });
      const answer = await proxy.call();
      calledOnce(proxy, answer);
      for (const [name, value] of WITHHELD) {
        const came = answer.headers.find(
          ([each, said]) => each === name.toLowerCase() && said.includes(value),
        );
        expectThat(came === undefined, answer, `no "${name}" of the upstream's`);
      }
    },
  },
  {
    id: 'proxy.no-secret-in-headers',
    title: 'a header of the answer that holds the credential does not come back',
    requirements: ['PRX-26'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, {
        answer: (response, call) => {
          const [, sent = ''] = call.headers.find(([name]) => name === 'authorization') ?? [];
          const secret = sent.replace(/^Bearer /, '');
          response.writeHead(200, [
            ...['x-echo', secret, 'x-echo-all', sent, 'x-echo-within', `a=1;key=${secret};b=2`],
            ...['location', `https://else.example/?token=${secret}`, 'x-plain', 'stays'],
            ...['x-list', 'first', 'x-list', `second ${secret}`],
          ]);
          response.end('{}');
        },
      });
      const answer = await proxy.call();
      calledOnce(proxy, answer);
      const [name = ''] = answer.headers.find(([, value]) => value.includes(proxy.value)) ?? [];
      expectThat(name === '', answer, `no header with the credential in it, such as "${name}"`);
      expectThat(header(answer, 'x-plain') === 'stays', answer, 'the headers that do not hold it');
    },
  },
  {
    id: 'proxy.no-encoded-secret-in-headers',
    title: 'nor does one that holds the credential in base64, base64url or percent-encoding',
    requirements: ['PRX-34'],
    claims: ['proxy'],
    run: async (tools) => {
      const secret = 'canary/?>~ +&=%canary/?>~';
      const encoded = {
        'x-base64': Buffer.from(secret).toString('base64'),
        'x-base64url': Buffer.from(secret).toString('base64url'),
        'x-percent': encodeURIComponent(secret),
      };
      const proxy = await setUpProxy(tools, {
        record: await storeTextOf(tools, secret),
        answer: (response) => response.writeHead(200, { ...encoded, 'x-plain': 'stays' }).end('{}'),
      });
      const answer = await proxy.call();
      calledOnce(proxy, answer);
      for (const name of Object.keys(encoded))
        expectThat(header(answer, name) === undefined, answer, `no "${name}" with the credential in it`);
    },
  },
  {
    id: 'proxy.upstream-error',
    title: 'an upstream that gives no answer, or none of HTTP, is a 502 UPSTREAM_ERROR',
    requirements: ['PRX-29', 'PRX-28'],
    claims: ['proxy'],
    run: async (tools) => {
      const { direct } = await tools.given.upstream();
      if (!direct)
        throw new CheckSkipped('what --upstream-url leads through would answer in the place of the suite');
      const proxy = await setUpProxy(tools);
      const failures: ReadonlyArray<readonly [what: string, answer: UpstreamAnswer]> = [
        ['an upstream that hangs up', (response) => response.destroy()],
        ['an upstream that speaks no HTTP', ({ socket }) => socket?.end('SSH-2.0-OpenSSH_9.2\r\n')],
      ];
      for (const [what, failing] of failures) {
        proxy.place.answerWith(failing);
        const answer = await proxy.call();
        expectRefusal(answer, 'UPSTREAM_ERROR', what);
        const origin = header(answer, 'sv-proxy-origin');
        expectThat(origin === 'webhook', answer, `"sv-proxy-origin: webhook" for ${what}`);
      }
    },
  },
  {
    id: 'proxy.broken-off',
    title:
      'an answer that the upstream breaks off is broken off, so that nobody takes the piece for the whole',
    requirements: ['PRX-36'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      for (const headers of [{ 'content-length': 1000 }, {}]) {
        proxy.place.answerWith((response) => {
          response.writeHead(200, { 'content-type': 'text/plain', ...headers });
          response.write('a piece', () => response.destroy());
        });
        const answer = await proxy.call().catch(brokenOff);
        const form = 'content-length' in headers ? 'with a length' : 'without a length';
        const whole = answer !== undefined && answer.status < 500;
        if (whole) expectThat(false, answer, `a connection that breaks off, for an answer ${form}`);
      }
    },
  },
];

function bodyOf(body: Uint8Array, headers: Readonly<Record<string, string | number>>): UpstreamAnswer {
  return (response) => {
    response.writeHead(200, headers);
    // Written apart from its end, so that it goes without a length where none is named.
    if (body.byteLength > 0) response.write(body);
    response.end();
  };
}

/** That no whole answer came is what was asked for, unless nothing came to an end at all. */
function brokenOff(error: unknown): Answer | undefined {
  if (error instanceof NoAnswer && !error.timedOut) return undefined;
  throw error;
}
