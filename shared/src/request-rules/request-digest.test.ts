import { expect, it } from 'vitest';
import { utf8 } from '../bytes.ts';
import { coveredFields, requestDigest } from './request-digest.ts';

// What each request is known by: vectors/approvals.json.

it('Fields are covered by their names in any case and order, one line for each', () => {
  const fields = [
    ['X-B', '2'],
    ['Traceparent', 'x'],
    ['x-a', '1'],
    ['x-b', '3'],
  ] as const;
  expect(coveredFields(fields)).toEqual([
    ['x-a', '1'],
    ['x-b', '2, 3'],
  ]);
});

it('A field that is not known to be volatile makes another request, and another value of it too', () => {
  const digestOf = (fields: readonly (readonly [string, string])[]) =>
    requestDigest({ kind: 'http', method: 'GET', fields, body: utf8('') });
  const digests = [[], [['x-a', '1']], [['x-a', '2']], [['x-b', '1']], [['x-a', '1, x-b: 2']]] as const;
  expect(new Set(digests.map((fields) => JSON.stringify(digestOf(fields)))).size).toBe(digests.length);
});

it('A message of MCP is read as request rules read it', () => {
  const read = (body: string, contentType = 'application/json') =>
    requestDigest({ kind: 'mcp', method: 'POST', fields: [['Content-Type', contentType]], body: utf8(body) });
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}';
  expect(read(call)).toMatchObject({ mcp: 'tools/call', tool: 'a' });
  expect(read(call)).not.toHaveProperty('isHandshake');
  expect(read(call, 'text/plain')).toEqual({ ambiguity: 'content_type' });
  expect(read('[]')).toEqual({ ambiguity: 'json' });
});
