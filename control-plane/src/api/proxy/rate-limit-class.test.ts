import { describe, expect, it } from 'vitest';
import { type MessageClass, classifyMessage } from './rate-limit-class.ts';

const HANDSHAKE = 'mcp_handshake';
const FLOOR = 'proxy_mcp';

const classOf = (body: unknown, mcpMethod?: string): MessageClass =>
  classifyMessage(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), () => ({ mcpMethod }));
const message = (method: unknown, id: unknown = 1): object => ({ jsonrpc: '2.0', id, method });

describe('the methods of exempt messages', () => {
  it.each(['initialize', 'tools/list', 'notifications/initialized', 'notifications/', 'notifications/x/y'])(
    '%s',
    (method) => expect(classOf(message(method))).toEqual({ traffic: HANDSHAKE, id: 1 }),
  );
  it.each(['tools/call', 'ping', 'server/discover', 'Initialize', 'tools/list ', 'notifications', '', 'x'])(
    'exclude %j',
    (method) => expect(classOf(message(method))).toEqual({ traffic: FLOOR, id: 1 }),
  );
});

describe('a batch', () => {
  const [exempt, call] = [message('tools/list'), message('tools/call')];
  // spec: A JSON-RPC batch counts as one unit. It counts against mcp_handshake only if every message in it is exempt. Otherwise the whole batch counts against the floor.
  it.each([
    ['of exempt messages', [exempt, message('initialize'), message('notifications/x')], HANDSHAKE],
    ['of one', [exempt], HANDSHAKE],
    ['with a call', [exempt, call], FLOOR],
    ['of calls', [call, call], FLOOR],
    ['of nothing', [], FLOOR],
    ['of batches', [[exempt]], FLOOR],
    ['with what is no message', [exempt, null, 1], FLOOR],
  ])('%s, and has no id', (_what, body, traffic) => expect(classOf(body)).toEqual({ traffic, id: null }));
});

describe('a message that an upstream could read differently is not exempt', () => {
  it.each([
    ['a name twice', '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}'],
    [
      'a name twice, once escaped',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","m\\u0065thod":"tools/call"}',
    ],
    ['a name twice further in', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":1,"a":2}}'],
    ['__proto__', '{"jsonrpc":"2.0","id":1,"method":"tools/list","__proto__":{"method":"tools/call"}}'],
    ['the method further in', '{"jsonrpc":"2.0","id":1,"params":{"method":"tools/list"}}'],
    ['a method of another type', '{"jsonrpc":"2.0","id":1,"method":["tools/list"]}'],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}'],
    ['no version', '{"id":1,"method":"tools/list"}'],
    // Go's encoding/json takes both for one member, and the last of them counts.
    ['a name in capitals', '{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}'],
    ['a number that is none', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":1e400}'],
  ])('%s', (_what, body) => expect(classOf(body)).toEqual({ traffic: FLOOR, id: 1 }));

  it.each([
    ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    ['two messages', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}{}'],
    ['one that ends early', '{"jsonrpc":"2.0","id":1,"method":"tools/list"'],
    [
      '33 levels',
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'['.repeat(32)}${']'.repeat(32)}}`,
    ],
    ['text', '"tools/list"'],
    ['nothing', ''],
    ['null', 'null'],
  ])('%s: not even an id', (_what, body) => expect(classOf(body)).toEqual({ traffic: FLOOR, id: null }));

  it('UTF-16 and invalid UTF-8', () => {
    const text = JSON.stringify(message('tools/list'));
    for (const body of [Buffer.from(text, 'utf16le'), Buffer.from(`${text}\u00ff`, 'latin1')])
      expect(classifyMessage(body).traffic).toBe(FLOOR);
  });

  it.each([
    ['application/json', HANDSHAKE],
    ['application/json; charset=utf-8', HANDSHAKE],
    ['application/json;charset="UTF-8"', HANDSHAKE],
    ['application/json; charset=utf-7', FLOOR],
    ['application/json; charset=utf-8; charset=utf-7', FLOOR],
    ['application/json; x="; charset=utf-8"; charset=utf-7', FLOOR],
    ["application/json; charset*=utf-8''utf-7", FLOOR],
    ['application/json; CHARSET = utf-16', FLOOR],
  ])('Content-Type %s', (contentType, traffic) => {
    // In UTF-7 `+ACI-` is a quote, so that the text ends there and a second `method` follows.
    const hidden = '+ACI-,+ACI-method+ACI-:+ACI-tools/call';
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"${hidden}"}`);
    expect(classifyMessage(body, () => ({ contentType }))).toEqual({ traffic, id: 1 });
  });

  it('Mcp-Method that names another method', () => {
    expect(classOf(message('tools/list'), 'tools/call').traffic).toBe(FLOOR);
    expect(classOf(message('tools/list'), 'tools/list').traffic).toBe(HANDSHAKE);
    expect(classOf(message('tools/call'), 'tools/list').traffic).toBe(FLOOR);
  });
});

it('a message above 256 KiB is not exempt, and not parsed', () => {
  const padded = (bytes: number): string => JSON.stringify(message('initialize')).padEnd(bytes);
  expect(classOf(padded(256 * 1024))).toEqual({ traffic: HANDSHAKE, id: 1 });
  expect(classOf(padded(256 * 1024 + 1))).toEqual({ traffic: FLOOR, id: null });
});

it.each([
  ['a', 'a'],
  ['', ''],
  [0, 0],
  [-1.5, -1.5],
  [2 ** 53, 2 ** 53],
  [null, null],
  [true, null],
  [[1], null],
  [{ a: 1 }, null],
])('the id %j is returned as %j', (id, expected) => {
  expect(classOf(message('tools/call', id)).id).toBe(expected);
});
