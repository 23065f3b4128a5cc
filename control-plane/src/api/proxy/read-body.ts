import type { IncomingMessage } from 'node:http';
import type { BodyBounds } from '@svault/server-kit/raw-body';
import type { Admittance, Denial, Denied, ProxyAccess, RequestOrigin } from '../../access/decision.ts';
import { readAdmittedBody } from '../http/read-admitted-body.ts';

/** PROTOCOL.md section 2. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** A whole body. Call `release` once the exchange has ended. */
interface ReceivedBody {
  readonly outcome: 'received';
  readonly body: Buffer;
  release(): void;
}

/**
 * Reads the body of a proxy's request. A large one counts among the proxy's streams while it is received, and takes its
 * share of memory until the exchange has ended.
 *
 * @throws ApiError as `readBody`
 */
export async function receiveBody(
  access: Pick<ProxyAccess, 'admit'>,
  req: IncomingMessage,
  keyHash: string,
  origin: RequestOrigin,
  coding: BodyBounds['coding'] = 'none',
): Promise<ReceivedBody | Denied> {
  let admission: Promise<Admittance> | undefined;
  const admit = async (): Promise<Denial | undefined> => {
    admission = access.admit(keyHash, declaredBytes(req), origin);
    const admittance = await admission;
    return admittance.outcome === 'denied' ? admittance.denial : undefined;
  };
  try {
    const received = await readAdmittedBody(req, { maxBytes: MAX_BODY_BYTES, coding, admit });
    if (received.denial !== undefined) return { outcome: 'denied', denial: received.denial };
    const { body } = received;
    const admittance = await admission;
    if (admittance?.outcome !== 'admitted') return { outcome: 'received', body, release: () => undefined };
    const { stream, room } = admittance;
    stream.close();
    room.keep(body.byteLength);
    return { outcome: 'received', body, release: () => room.close() };
  } catch (error) {
    // The sender may be admitted after it is gone.
    void admission?.then(giveBack, () => undefined);
    throw error;
  }
}

function giveBack(admittance: Admittance): void {
  if (admittance.outcome === 'denied') return;
  admittance.stream.close();
  admittance.room.close();
}

/** The maximum, where the request does not say. */
const declaredBytes = ({ headers }: IncomingMessage): number =>
  Math.min(Number(headers['content-length'] ?? MAX_BODY_BYTES), MAX_BODY_BYTES);
