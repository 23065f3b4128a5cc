import { describe, expect, it } from 'vitest';
import {
  answerFieldsThatTravel,
  fillMarkers,
  httpRequestFieldsThatTravel,
  isFieldValue,
  markersIn,
  requestFieldsThatTravel,
} from './proxy-headers.ts';

const named = (names: readonly string[]): [string, string][] => names.map((name) => [name, `of ${name}`]);

describe('request headers that are forwarded', () => {
  const travelling = [
    'accept',
    'accept-language',
    'content-type',
    'user-agent',
    'mcp-protocol-version',
    'mcp-session-id',
    'last-event-id',
    'mcp-method',
    'mcp-name',
    'mcp-param-region',
    'traceparent',
    'tracestate',
  ];

  it('are those of the list, unchanged', () => {
    expect(requestFieldsThatTravel(named(travelling))).toEqual(named(travelling));
  });

  it.each([
    'authorization',
    'x-mcp-key',
    'x-agent-key',
    'x-api-key',
    'cookie',
    'host',
    'content-length',
    'content-encoding',
    'transfer-encoding',
    'connection',
    'te',
    'upgrade',
    'expect',
    'via',
    'forwarded',
    'x-forwarded-for',
    'proxy-authorization',
    'origin',
    'referer',
    'accept-encoding',
    'range',
    'sv-ticket',
    'signature',
    'signature-input',
    'content-digest',
    'mcp-parameter',
    'mcp-params',
    'x-accept',
  ])('are not %s', (name) => {
    expect(requestFieldsThatTravel([[name, 'x']])).toEqual([]);
    expect(requestFieldsThatTravel([[name.toUpperCase(), 'x']])).toEqual([]);
  });

  it('have names in lower case, and may be repeated', () => {
    const pairs = [
      ['Accept', 'a'],
      ['ACCEPT', 'b'],
      ['Mcp-Param-X', 'c'],
    ] as const;
    expect(requestFieldsThatTravel(pairs)).toEqual([
      ['accept', 'a'],
      ['accept', 'b'],
      ['mcp-param-x', 'c'],
    ]);
  });

  it('do not include those that Connection names', () => {
    const pairs = [
      ['Connection', 'keep-alive, Mcp-Name'],
      ['mcp-name', 'x'],
      ['accept', 'a'],
    ] as const;
    expect(requestFieldsThatTravel(pairs)).toEqual([['accept', 'a']]);
  });
});

describe('response headers that are forwarded', () => {
  it('are all except the withheld ones', () => {
    const names = [
      'content-type',
      'content-length',
      'location',
      'mcp-session-id',
      'x-whatever',
      'etag',
      'vary',
      'cache-control',
      'x-accel-buffering',
    ];
    expect(answerFieldsThatTravel(named(names))).toEqual(named(names));
  });

  it.each([
    'connection',
    'keep-alive',
    'proxy-connection',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'set-cookie',
    'www-authenticate',
    'proxy-authenticate',
    'clear-site-data',
    'strict-transport-security',
    'content-security-policy',
    'content-security-policy-report-only',
    'access-control-allow-origin',
    'access-control-allow-credentials',
    'alt-svc',
    'refresh',
    'report-to',
    'nel',
    'service-worker-allowed',
    'x-accel-redirect',
    'x-accel-expires',
    'x-sendfile',
    'surrogate-control',
    'cdn-cache-control',
    'cloudflare-cdn-cache-control',
    'sv-proxy-origin',
    'sv-anything',
  ])('are not %s', (name) => {
    expect(answerFieldsThatTravel([[name, 'x']])).toEqual([]);
    expect(answerFieldsThatTravel([[name.toUpperCase(), 'x']])).toEqual([]);
  });

  it('do not include those that any Connection field names', () => {
    const pairs = [
      ['x-one', '1'],
      ['Connection', 'close, X-One'],
      ['connection', ' x-two ,'],
      ['X-Two', '2'],
      ['x-three', '3'],
    ] as const;
    expect(answerFieldsThatTravel(pairs)).toEqual([['x-three', '3']]);
  });
});

it.each([
  ['', true],
  ['Bearer abc', true],
  ['a\tb', true],
  ['~!{}', true],
  ['a\rb', false],
  ['a\nb', false],
  ['a\r\nX-Y: z', false],
  ['a\0b', false],
  ['a\u001bb', false],
  ['a\u007fb', false],
  ['a\u00e4b', false],
  ['a\u{1f600}b', false],
  ['a\u010ab', false],
  ['abc\n', false],
])('%j as a header value: %s', (text, legal) => {
  expect(isFieldValue(text)).toBe(legal);
});

describe('headers of a request to an HTTP API', () => {
  it('are forwarded, whatever they are called', () => {
    const travelling = named([
      'accept',
      'range',
      'content-encoding',
      'x-api-key',
      'if-none-match',
      'dpop',
      'a.b',
    ]);
    expect(httpRequestFieldsThatTravel(travelling)).toEqual(travelling);
  });

  it.each([
    'authorization',
    'x-mcp-key',
    'x-agent-key',
    'cookie',
    'cookie2',
    'host',
    'content-length',
    'transfer-encoding',
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'upgrade',
    'http2-settings',
    'expect',
    'accept-encoding',
    'origin',
    'referer',
    'forwarded',
    'x-forwarded-for',
    'x-real-ip',
    'via',
    'proxy-authorization',
    'proxy-connection',
    'sec-fetch-mode',
    'sv-ticket',
    'sv-target',
    'content-digest',
    'signature',
    'signature-input',
    'not a token',
    '',
  ])('are not forwarded as %j', (name) => {
    expect(httpRequestFieldsThatTravel([[name, 'x']])).toEqual([]);
    expect(httpRequestFieldsThatTravel([[name.toUpperCase(), 'x']])).toEqual([]);
  });

  it('are not forwarded where Connection names them, nor with a value that is none', () => {
    expect(
      httpRequestFieldsThatTravel([
        ['X-A', '1'],
        ['Connection', 'close, X-A'],
        ['x-b', 'ä'],
        ['x-c', 'a\nb'],
        ['x-d', ''],
      ]),
    ).toEqual([['x-d', '']]);
  });
});

describe('the marker for HTTP Basic', () => {
  it.each([
    ['Basic ${BASIC:aladdin}', 'opensesame', 'Basic YWxhZGRpbjpvcGVuc2VzYW1l'],
    ['${BASIC:}', 'k', 'Oms='],
    ['${BASIC:a} ${TOKEN}', '${TOKEN}', 'YToke1RPS0VOfQ== ${TOKEN}'],
    ['${BASIC:a:b}', 'k', '${BASIC:a:b}'],
    ['${BASIC:a b}', 'k', '${BASIC:a b}'],
    [`\${BASIC:${'u'.repeat(129)}}`, 'k', `\${BASIC:${'u'.repeat(129)}}`],
  ])('%j with %j is %j', (template, token, value) => {
    expect(fillMarkers(template, token)).toBe(value);
    expect(markersIn(template) > 0).toBe(value !== template);
  });
});
