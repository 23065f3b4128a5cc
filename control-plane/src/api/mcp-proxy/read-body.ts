import type { IncomingMessage } from 'node:http';
import { readBody } from '@svault/server-kit/raw-body';
import type { Admittance, Denied, ProxyAccess } from '../../access/decision.ts';

/** protocol.md section 2. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** As much as is kept for somebody of whom nothing is known yet but that a key has the right form. */
const STRANGERS_BYTES = 64 * 1024;

/** A body that is there, whole; `release` is to be called when the exchange is over. */
export interface ReceivedBody {
  readonly outcome: 'received';
  readonly body: Buffer;
  release(): void;
}

/** @throws AppError as `readBody` */
export type ReceiveBody = (req: IncomingMessage, keyHash: string) => Promise<ReceivedBody | Denied>;

/** Why no more of a body is read. */
class BodyRejectedEarly extends Error {
  readonly denied: Denied;

  constructor(denied: Denied) {
    super(`kept out: ${denied.denial.code}`);
    this.denied = denied;
  }
}

/**
 * Reads the body of a proxy's request. Of a larger one the key is looked up before the rest is read; it has a place among
 * the proxy's streams while it is received, and room in memory until the exchange is over.
 */
export const createReceiveBody =
  ({ access }: { readonly access: Pick<ProxyAccess, 'admit'> }): ReceiveBody =>
  async (req, keyHash) => {
    let admission: Promise<Admittance> | undefined;
    const admit = async (): Promise<void> => {
      admission = access.admit(keyHash, declaredBytes(req));
      const admittance = await admission;
      if (admittance.outcome === 'denied') throw new BodyRejectedEarly(admittance);
    };
    try {
      const large = { bytes: STRANGERS_BYTES, admit };
      const body = await readBody(req, { maxBytes: MAX_BODY_BYTES, large });
      const admittance = await admission;
      if (admittance?.outcome !== 'admitted') return { outcome: 'received', body, release: () => undefined };
      const { stream, room } = admittance;
      stream.close();
      room.keep(body.byteLength);
      return { outcome: 'received', body, release: () => room.close() };
    } catch (error) {
      // It may be let in after its sender is gone.
      void admission?.then(giveBack, () => undefined);
      if (error instanceof BodyRejectedEarly) return error.denied;
      throw error;
    }
  };

function giveBack(admittance: Admittance): void {
  if (admittance.outcome === 'denied') return;
  admittance.stream.close();
  admittance.room.close();
}

/** As many as there may be, where the request does not say. */
const declaredBytes = ({ headers }: IncomingMessage): number =>
  Math.min(Number(headers['content-length'] ?? MAX_BODY_BYTES), MAX_BODY_BYTES);
