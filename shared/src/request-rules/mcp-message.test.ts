import { describe, expect, it } from 'vitest';
import { utf8 } from '../bytes.ts';
import { type McpMessage, pointerTokens, readMcpMessage, valueAt } from './mcp-message.ts';
import { AmbiguousRequest } from './request-denial.ts';

const JSON_TYPE = new Map([['content-type', 'application/json']]);
const read = (message: object): McpMessage => readMcpMessage(JSON_TYPE, utf8(JSON.stringify(message)));

describe('readMcpMessage', () => {
  it('reads a call of a tool with its arguments', () => {
    const params = { name: 'get_issue', arguments: { repo: 'acme/site' } };
    expect(read({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })).toMatchObject({
      kind: 'tool',
      name: 'get_issue',
      arguments: { repo: 'acme/site' },
    });
  });

  it('reads a call of a tool without arguments as one with none', () => {
    expect(read({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } })).toMatchObject({
      kind: 'tool',
      arguments: {},
    });
  });

  it('reads another method and a response', () => {
    expect(read({ jsonrpc: '2.0', method: 'ping' })).toEqual({ kind: 'request', method: 'ping' });
    expect(read({ jsonrpc: '2.0', id: 1, result: {} })).toEqual({ kind: 'response' });
  });

  it('takes a number that is not written as an integer for none, and leaves texts alone', () => {
    const given = '{"b":[1,2.0,3e0,41,-7],"c":"5.0","d":-6.0,"e":\n8E0}';
    const body = utf8(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","arguments":${given}}}`);
    expect(readMcpMessage(JSON_TYPE, body)).toEqual({
      kind: 'tool',
      name: 'a',
      arguments: { b: [1, Number.NaN, Number.NaN, 41, -7], c: '5.0', d: Number.NaN, e: Number.NaN },
    });
  });
});

describe('valueAt', () => {
  // RFC 6901 section 5.
  const document = {
    foo: ['bar', 'baz'],
    '': 0,
    'a/b': 1,
    'c%d': 2,
    'e^f': 3,
    'g|h': 4,
    'i\\j': 5,
    'k"l': 6,
    ' ': 7,
    'm~n': 8,
  };

  it.each([
    ['', document],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
    ['/foo/2', undefined],
    ['/foo/-', undefined],
    ['/foo/00', undefined],
    ['/foo/length', undefined],
    ['/foo/0/0', undefined],
    ['/toString', undefined],
    ['/constructor/name', undefined],
  ])('follows %j as RFC 6901 says', (pointer, value) => {
    expect(valueAt(document, pointerTokens(pointer))).toEqual(value);
  });

  it('unescapes ~01 to ~1', () => {
    expect(pointerTokens('/~01')).toEqual(['~1']);
  });

  it('denies a neighbour whose name differs in case alone, on the way and at the end', () => {
    expect(() => valueAt({ a: { b: 1 }, A: {} }, ['a', 'b'])).toThrow(AmbiguousRequest);
    expect(() => valueAt({ a: { b: 1, B: 1 } }, ['a', 'b'])).toThrow(AmbiguousRequest);
    expect(valueAt({ a: { b: 1 }, c: 1, C: 1 }, ['a', 'b'])).toBe(1);
  });
});
