import { expect, test } from 'vitest';
import { createReplyReader } from './reply-reader.ts';

const WITH_LENGTH = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
const CHUNKED =
  'HTTP/1.1 307 Temporary Redirect\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
const EMPTY = 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n';

test.each([1, 2, 7, 1000])('the reader finds every response in chunks of %i bytes', (size) => {
  const statuses: number[] = [];
  const read = createReplyReader((status) => statuses.push(status));
  const bytes = Buffer.from(WITH_LENGTH + CHUNKED + EMPTY + WITH_LENGTH);
  for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size));
  expect(statuses).toEqual([200, 307, 404, 200]);
});
