import type { IncomingMessage } from 'node:http';
import { type BodyBounds, readBody } from '@svault/server-kit/raw-body';
import type { Denial } from '../../access/decision.ts';

/** What is kept of a body while all that is known of its sender is that a key has the right form. */
const MAX_UNADMITTED_BYTES = 64 * 1024;

/** Ends the reading of a body whose sender is denied. */
class BodyRejectedEarly extends Error {
  readonly denial: Denial;

  constructor(denial: Denial) {
    super(`denied before the whole body was read: ${denial.code}`);
    this.denial = denial;
  }
}

/**
 * Reads a body. Of one larger than 64 KiB, `admit` looks its sender up before the rest is read, since strangers with many of
 * them would fill the memory. After a denial, the rest of the body is dropped as it arrives.
 *
 * @param admit resolves to the denial of a sender that may not send more
 * @throws ApiError as `readBody`; what `admit` rejects with
 */
export async function readAdmittedBody(
  req: IncomingMessage,
  {
    admit,
    ...bounds
  }: Pick<BodyBounds, 'coding' | 'maxBytes'> & { readonly admit: () => Promise<Denial | undefined> },
): Promise<{ readonly body: Buffer; readonly denial?: undefined } | { readonly denial: Denial }> {
  const admitOrReject = async (): Promise<void> => {
    const denial = await admit();
    if (denial !== undefined) throw new BodyRejectedEarly(denial);
  };
  try {
    const large = { bytes: MAX_UNADMITTED_BYTES, admit: admitOrReject };
    return { body: await readBody(req, { ...bounds, large }) };
  } catch (error) {
    if (!(error instanceof BodyRejectedEarly)) throw error;
    req.resume();
    return { denial: error.denial };
  }
}
