import type { ServerResponse } from 'node:http';

/** Writes an answer as fast as it is taken. */
export interface Pouring {
  /** That the connection has accepted. */
  readonly sent: () => number;
}

const PIECE = Buffer.alloc(64 * 1024, 'x');

/** @param bytes of the whole answer, rounded up to pieces of 64 KiB */
export function pour(res: ServerResponse, bytes: number): Pouring {
  let sent = 0;
  const more = (): void => {
    while (sent < bytes && !res.destroyed) {
      sent += PIECE.byteLength;
      if (!res.write(PIECE)) return void res.once('drain', more);
    }
    res.end();
  };
  more();
  return { sent: () => sent };
}

/** Waits until nothing more is accepted: full is what lies in between. */
export async function untilFull({ sent }: Pouring): Promise<number> {
  for (let still = 0, before = -1; still < 10; still += 1) {
    if (sent() !== before) still = 0;
    before = sent();
    // Not a time that anything must be done in: what is on its way needs some turns of other processes.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return sent();
}
