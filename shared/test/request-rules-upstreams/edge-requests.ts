import type { HttpRequest } from '@svault/shared/request-rules';

/** The same numbers for the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 up to a number, without it. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  happens(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}

const origin = new URL('https://api.example');

const PATHS = ['/repos/acme/issues', '/repos/a-b.c/issues', '/files/', '/files/a/b', '/files/é/日'];
const MCP_PATHS = ['/mcp', '/mcp', '/search', '/resources'];
const PATH_PIECES = [
  ...[
    '/',
    '//',
    '.',
    '..',
    './',
    '../',
    '/./',
    '/../',
    '%2e',
    '%2E%2e',
    '%2f',
    '%2F',
    '%5c',
    '\\',
    ';',
    '%3b',
  ],
  ...[
    '%00',
    '%0d%0a',
    '%25',
    '%252e',
    '%252f',
    '%25%32%66',
    '%c0%ae',
    '%ef%bc%8e',
    '%ef%bc%8f',
    '%u002e',
    '%',
    '%2',
  ],
  ...[
    '*',
    '**',
    '~',
    '@',
    ':',
    '+',
    '%20',
    '%41',
    '%7e',
    '%E9',
    '%c3%a9',
    ' ',
    '\t',
    '\u00e9',
    'a',
    'A',
    '-',
    "'",
  ],
  ...['?', '#', '?_method=PUT', '?a=b', '?%5fmethod=PUT', '?a;_method=PUT', '?a=%2e%2e/', '?_METHOD=PUT'],
];
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE', 'get', 'Post', 'PUT', 'TRACE', 'GET '];
const FIELDS = [
  ['accept', '*/*'],
  ['x-http-method-override', 'DELETE'],
  ['X_HTTP_Method_Override', 'DELETE'],
  ['x-original-url', '/files/../admin'],
  ['X-Original_URL', '/admin'],
  ['content-length', '5'],
  ['content_length', '0'],
  ['content-type', 'application/x-www-form-urlencoded'],
  ['content_type', 'text/plain'],
  ['mcp-method', 'tools/call'],
  ['mcp-name', 'get_issue'],
  ['mcp_name', 'delete_repo'],
  ['x-a', 'b\r\nx-original-url: /admin'],
  ['x-a', '\u00e9'],
  ['x a', 'b'],
  ['traceparent', '00-1-2-01'],
  ['user-agent', 'a\tb'],
] as const;
const TYPES = [
  ...['application/json', 'application/json', 'application/json', 'application/json; charset=utf-8'],
  ...['application/json; charset=utf-16', 'application/jsonp', 'Application/JSON', 'text/plain'],
];
const FORMS = [
  'a=b',
  '_method=PUT',
  'a=b&%5Fmethod=PUT',
  'a=%',
  '%=a',
  'a=b;_method=PUT',
  '_METHOD=PUT',
  'a[b]=c',
];

/** A request at the edge of what rules allow: one that they do, changed in none to three places. */
export function edgeRequest(random: Random): HttpRequest {
  const isMessage = random.happens(60);
  const target = encodeURI(isMessage ? random.pick(MCP_PATHS) : random.pick(PATHS));
  const type = isMessage ? random.pick(TYPES) : 'application/x-www-form-urlencoded';
  let method: string = isMessage ? 'POST' : random.pick(['GET', 'POST', 'HEAD']);
  if (random.happens(5)) method = random.pick(METHODS);
  const body =
    method === 'POST' ? Buffer.from(isMessage ? messageText(random) : random.pick(FORMS)) : Buffer.alloc(0);
  return {
    origin,
    method,
    target: changedTarget(random, target),
    fields: [
      ...(body.byteLength > 0 ? [['content-type', type] as const] : []),
      ...(random.happens(15) ? [random.pick(FIELDS)] : []),
    ],
    body: random.happens(5) ? changedBytes(random, body) : body,
  };
}

/** The bytes of a request. */
export function rawRequest({ method, target, fields, body }: HttpRequest): Buffer {
  const length = fields.some(([name]) => name === 'content-length')
    ? []
    : [['content-length', String(body.byteLength)] as const];
  const head = [['host', origin.host] as const, ...fields, ...length].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${head.join('')}\r\n`), body]);
}

function changedTarget(random: Random, target: string): string {
  let changed = target;
  while (random.happens(45)) {
    const at = random.below(changed.length + 1);
    const [before, after] = [changed.slice(0, at), changed.slice(at)];
    const triplet = `%${after.charCodeAt(0).toString(16).padStart(2, '0')}`;
    changed = random.pick([
      () => before + random.pick(PATH_PIECES) + after,
      () => `${changed}${random.pick(PATH_PIECES)}`,
      () => before + (after === '' ? '' : triplet) + after.slice(1),
      () => before + (after === '' ? '' : triplet.toUpperCase()) + after.slice(1),
      () => before + after.slice(0, 1) + after,
      () => before + after.slice(0, 1).toUpperCase() + after.slice(1),
      () => before + after.slice(1),
    ])();
  }
  return changed;
}

function changedBytes(random: Random, body: Buffer): Buffer {
  const at = random.below(body.byteLength + 1);
  const byte = random.pick([
    0, 9, 10, 0x20, 0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x7b, 0x7d, 0x80, 0xc3, 0xef, 0xff,
  ]);
  return Buffer.concat([body.subarray(0, at), Buffer.from([byte]), body.subarray(at + random.below(2))]);
}

type Member = readonly [name: string, value: string];

function messageText(random: Random): string {
  const given = objectText(random, [
    ['repo', textOf(random, random.pick(['acme/site', 'acme/site', 'é', 'acme/other', 'Acme/site']))],
    [
      'number',
      random.pick([
        '7',
        '7',
        '-3',
        '7.0',
        '7e0',
        '70e-1',
        '6.99999999999999999999',
        '"7"',
        'null',
        '8',
        '+7',
      ]),
    ],
  ]);
  const params = objectText(random, [
    ['name', textOf(random, random.pick(['get_issue', 'get_issue', 'search_code', 'delete_repo', 'get_é']))],
    ['arguments', given],
  ]);
  const message = objectText(random, [
    ['jsonrpc', '"2.0"'],
    ['id', random.pick(['1', '"a"', 'null', '1.5'])],
    [
      'method',
      textOf(random, random.pick(['tools/call', 'tools/call', 'tools/call', 'ping', 'resources/read'])),
    ],
    ['params', params],
  ]);
  return random.happens(3)
    ? random.pick([`[${message}]`, `\ufeff${message}`, message + message, `${message}\n`])
    : message;
}

function objectText(random: Random, members: readonly Member[]): string {
  const changed = random.happens(12) ? changedMembers(random, members) : members;
  const space = random.happens(10) ? random.pick([' ', '\n', '\t', '\u00a0']) : '';
  return `{${space}${changed.map(([name, value]) => `${textOf(random, name)}${space}:${value}`).join(`,${space}`)}}`;
}

function changedMembers(random: Random, members: readonly Member[]): readonly Member[] {
  const at = random.below(members.length);
  const [name, value] = members[at] ?? ['', ''];
  const respelt = random.pick([
    name.toUpperCase(),
    name.slice(0, 1).toUpperCase() + name.slice(1),
    name.replace('s', '\u017f'),
    ` ${name}`,
    `${name}\0`,
    name,
  ]);
  const other = random.pick(['"delete_repo"', '"tools/call"', '{"name":"delete_repo"}', '9', value]);
  return random.pick<() => readonly Member[]>([
    () => [...members, [respelt, other]],
    () => [[respelt, other], ...members],
    () => members.with(at, [respelt, value]),
    () => members.with(at, [name, other]),
    () => members.toSpliced(at, 1),
    () => members.toReversed(),
    () => [...members, ['a', '{"method":"tools/call"}']],
    () => [...members, ['result', '{}']],
  ])();
}

/** JSON of a text, in which characters may be escaped. */
function textOf(random: Random, text: string): string {
  if (!random.happens(15)) return JSON.stringify(text);
  const characters = Array.from(text, (character) => {
    if (!random.happens(25)) return JSON.stringify(character).slice(1, -1);
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${characters.join('')}"`;
}
