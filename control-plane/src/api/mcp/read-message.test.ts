import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { readMessage } from './read-message.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

function requestWith(
  body: string | Uint8Array,
  headers: Record<string, string> = JSON_TYPE,
): IncomingMessage {
  const bytes = Buffer.from(body);
  return Object.assign(Readable.from([bytes]), {
    headers: { 'content-length': String(bytes.length), ...headers },
  }) as unknown as IncomingMessage;
}
const anybody = (): Promise<undefined> => Promise.resolve(undefined);

const protocolError = async (...parameters: Parameters<typeof requestWith>) => {
  const read = await readMessage(requestWith(...parameters), anybody);
  return read.readable !== false ? undefined : [read.error.status, read.error.code, read.id];
};

it('readMessage reads a message', async () => {
  expect(await readMessage(requestWith('{"id":1.0}'), anybody)).toEqual({
    readable: true,
    message: { id: 1 },
  });
});

it('errors come in the order coding, size, type, Accept, text', async () => {
  const all = { 'content-encoding': 'gzip', 'content-type': 'text/plain', accept: 'text/plain' };
  const tooLarge = 'x'.repeat(1024 * 1024 + 1);
  expect(await protocolError(tooLarge, all)).toEqual([415, -32_000, null]);
  expect(await protocolError(tooLarge, { ...all, 'content-encoding': 'identity' })).toEqual([
    413,
    -32_000,
    null,
  ]);
  expect(await protocolError('x', { ...all, 'content-encoding': 'identity' })).toEqual([415, -32_000, null]);
  expect(await protocolError('x', { ...JSON_TYPE, accept: 'text/plain' })).toEqual([406, -32_000, null]);
  for (const text of ['x', '\ufeff{}', Uint8Array.of(0x22, 0xff, 0x22)])
    expect(await protocolError(text)).toEqual([400, -32_700, null]);
});

describe('the id of JSON that is no valid message', () => {
  it.each<readonly [string, unknown]>([
    ['{"id":7,"a":1,"a":2}', 7],
    ['{"id":"7","__proto__":{}}', '7'],
    ['{"id":1.5,"a":"\\ud800"}', 1.5],
    ['{"id":{},"a":1,"a":2}', null],
    ['{"id":1e400}', null],
    [`{"id":7,"a":[${'1,'.repeat(1_001)}1]}`, 7],
    ['{"__proto__":{"id":7}}', null],
    [`{"id":7,"a":${'['.repeat(40)}${']'.repeat(40)}}`, null],
  ])('%s', async (text, id) => expect(await protocolError(text)).toEqual([400, -32_600, id]));
});

it.each(['[{"a":1,"a":2}]', ` \t\n[${'1,'.repeat(1_001)}1]`, `${'['.repeat(40)}${']'.repeat(40)}`])(
  'an invalid batch is still a batch',
  async (text) =>
    expect(await readMessage(requestWith(text), anybody)).toEqual({ readable: true, message: [] }),
);

it('readMessage reads 64 KiB of an unauthenticated sender, and admits it before it reads more', async () => {
  const padded = (bytes: number): string => JSON.stringify({ id: 1, pad: 'x'.repeat(bytes - 17) });
  let asked = 0;
  const nobody = (): Promise<undefined> => (asked++, Promise.reject(new Error('not known')));
  const most = padded(64 * 1024);
  expect(most).toHaveLength(64 * 1024);
  expect((await readMessage(requestWith(most), nobody)).readable).toBe(true);
  expect(asked).toBe(0);
  await expect(readMessage(requestWith(padded(64 * 1024 + 1)), nobody)).rejects.toThrow('not known');
  expect(asked).toBe(1);
  expect((await readMessage(requestWith(padded(64 * 1024 + 1)), anybody)).readable).toBe(true);
});

it('a body that ends early is INVALID_REQUEST', async () => {
  const broken = Object.assign(new Readable({ read() {} }), {
    headers: { ...JSON_TYPE, 'content-length': '9' },
  });
  const read = readMessage(broken as unknown as IncomingMessage, anybody);
  broken.destroy();
  await expect(read).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
});
