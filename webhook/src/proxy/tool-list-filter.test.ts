import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { withoutHiddenTools } from './tool-list-filter.ts';

const isShown = (name: string): boolean => name.startsWith('get_');
const JSON_HEAD = [['content-type', 'application/json']] as const;
const EVENTS_HEAD = [['content-type', 'text/event-stream; charset=utf-8']] as const;

/** What a client gets of an answer that arrives in the given pieces. */
async function passed(
  fields: readonly (readonly [string, string])[],
  pieces: readonly (string | Buffer)[],
): Promise<{ readonly fields: readonly (readonly [string, string])[]; readonly body: string }> {
  const taker = new PassThrough();
  let head: typeof fields = [];
  const filter = withoutHiddenTools(isShown, (taken) => {
    head = taken.fields;
    return taker;
  })({ status: 200, fields });
  const [body] = await Promise.all([text(taker), pipeline(pieces, filter)]);
  return { fields: head, body };
}

const listOf = (...names: readonly string[]) => ({
  jsonrpc: '2.0',
  id: 1,
  result: { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })), nextCursor: 'c' },
});

describe('a list of tools in JSON', () => {
  it('has the tools that may be called, and all else as it was', async () => {
    const { fields, body } = await passed(
      [...JSON_HEAD, ['content-length', '999']],
      [JSON.stringify(listOf('get_a', 'delete_b', 'get_c'))],
    );
    expect(JSON.parse(body)).toEqual(listOf('get_a', 'get_c'));
    expect(fields).toEqual(JSON_HEAD);
  });

  it('is filtered in each message of an array', async () => {
    const { body } = await passed(JSON_HEAD, [JSON.stringify([listOf('delete_a'), listOf('get_b')])]);
    expect(JSON.parse(body)).toEqual([listOf(), listOf('get_b')]);
  });

  it.each([
    [
      'a name twice',
      '{"result":{"tools":[{"name":"get_a"}],"tools":[{"name":"delete_b"}]}}',
      '{"result":{"tools":[]}}',
    ],
    ['names in another case', '{"Result":{"TOOLS":[{"Name":"delete_b"}]}}', '{"Result":{"TOOLS":[]}}'],
    ['two names', '{"result":{"tools":[{"name":"get_a","NAME":"delete_b"}]}}', '{"result":{"tools":[]}}'],
    ['no name', '{"result":{"tools":[{"title":"x"},null,1]}}', '{"result":{"tools":[]}}'],
    [
      'an error',
      '{"error":{"code":-32601,"message":"no tools"}}',
      '{"error":{"code":-32601,"message":"no tools"}}',
    ],
    ['nothing', '', ''],
  ])('with %s hides what a client could take for a tool', async (_what, sent, expected) => {
    expect((await passed(JSON_HEAD, [sent])).body).toBe(expected);
  });

  it.each([
    ['what is no JSON', JSON_HEAD, '{"result":'],
    ['what is too long', JSON_HEAD, `"${'x'.repeat(8 * 1024 * 1024)}"`],
    ['a compressed answer', [...JSON_HEAD, ['content-encoding', 'gzip']] as const, '{}'],
    ['an event that is no JSON', EVENTS_HEAD, 'data: {"tools"\n\n'],
    ['an event that is too long', EVENTS_HEAD, `data: ${'x'.repeat(8 * 1024 * 1024)}`],
  ])('breaks off on %s', async (_what, fields, sent) => {
    await expect(passed(fields, [sent])).rejects.toThrow();
  });
});

describe('a list of tools in an event stream', () => {
  const event = `event: message\nid: 7\ndata: ${JSON.stringify(listOf('get_a', 'delete_b'))}\n\n`;

  it('is filtered, with the event’s type and id, and other events pass', async () => {
    const { body } = await passed(EVENTS_HEAD, [`: hello\nretry: 100\n\n${event}data: {"n":\ndata: 1}\n\n`]);
    expect(body).toBe(
      `: hello\nretry: 100\nid: 7\nevent: message\ndata: ${JSON.stringify(listOf('get_a'))}\n\ndata: {"n":\ndata: 1}\n\n`,
    );
  });

  test('wherever the pieces end, and with each line ending', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat(event.length * 2), { maxLength: 12 }),
        async (newline, cuts) => {
          const bytes = Buffer.from(`${event}: é\n${event}`.replaceAll('\n', newline) + newline);
          const at = [0, ...cuts.filter((cut) => cut < bytes.length), bytes.length].toSorted((a, b) => a - b);
          const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
          const { body } = await passed(EVENTS_HEAD, pieces);
          expect(body).not.toContain('delete_b');
          expect(body.match(/get_a/g)).toHaveLength(2);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('leaves out an event that is cut off, as a reader of events does', async () => {
    expect((await passed(EVENTS_HEAD, [event.trimEnd()])).body).toBe('');
  });
});

it('an answer of another type passes as it is', async () => {
  const fields = [
    ['content-type', 'text/html'],
    ['content-length', '5'],
  ] as const;
  expect(await passed(fields, ['tools'])).toEqual({ fields, body: 'tools' });
});
