const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** Called with status, head and body of each complete answer, in order. */
export type OnReply = (status: number, head: string, body: Buffer) => void;

/** Finds where each HTTP/1.1 answer ends, by its length or its last chunk, at the same cost for every server. */
export function createReplyReader(onReply: OnReply): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (;;) {
      const reply = firstReply(pending);
      if (reply === undefined) return;
      const body = pending.subarray(reply.bodyStart, reply.end);
      pending = pending.subarray(reply.end);
      onReply(Number(reply.head.slice(9, 12)), reply.head, body);
      if (pending.length === 0) return;
    }
  };
}

/** @returns the head of the first answer and where its body is, undefined where it is not complete yet */
function firstReply(
  bytes: Buffer,
): { readonly head: string; readonly bodyStart: number; readonly end: number } | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const bodyStart = headEnd + HEAD_END.length;
  const head = bytes.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    const end = bodyStart + Number(length);
    return end <= bytes.length ? { head, bodyStart, end } : undefined;
  }
  const lastChunk = bytes.indexOf(LAST_CHUNK, bodyStart);
  return lastChunk === -1 ? undefined : { head, bodyStart, end: lastChunk + LAST_CHUNK.length };
}
