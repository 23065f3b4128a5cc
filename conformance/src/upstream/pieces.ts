import type { Answer, OpenAnswer } from '../http/client.ts';

/** Reads an answer as far as is wanted. */
export interface PieceReader {
  /** Reads on until this text has come, or the end. @throws NoAnswer */
  until(expected: string): Promise<void>;
  /** Reads the rest. @returns the whole answer @throws NoAnswer */
  rest(): Promise<Answer>;
}

/** Whatever comes after this is not kept: what answers endlessly must not fill the memory. */
const MAX_BYTES = 1024 * 1024;

/** Reads an open answer piece by piece, short ones only. */
export function piecesUntil({ pieces, end, ...head }: OpenAnswer): PieceReader {
  const iterator = pieces[Symbol.asyncIterator]();
  let body = Buffer.alloc(0);
  /** @returns whether there was more */
  const more = async (): Promise<boolean> => {
    const next = await iterator.next();
    if (next.done === true) return false;
    body = Buffer.concat([body, next.value]);
    if (body.byteLength <= MAX_BYTES) return true;
    end();
    return false;
  };
  return {
    until: async (expected) => {
      while (!body.includes(expected) && (await more()));
    },
    rest: async () => {
      while (await more());
      return { ...head, body };
    },
  };
}
