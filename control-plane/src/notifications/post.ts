import { Writable } from 'node:stream';
import { type Egress, failedCallOf } from '@svault/shared/egress';

/** Why a message did not arrive, as its channel shows it; without anything that the receiver wrote. */
export interface DeliveryFailure {
  readonly error: string;
  /** The receiver is gone for good. */
  readonly isGone?: boolean;
}

export const DELIVERY_TIMEOUT_MS = 10_000;

/**
 * Posts a message. Of the answer only the status counts, so nothing else of it is read; a redirect is not followed.
 *
 * @returns undefined where it was taken
 */
export async function post(
  egress: Egress,
  call: {
    readonly channelId: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
    readonly signal: AbortSignal;
  },
): Promise<DeliveryFailure | undefined> {
  const { channelId, signal, ...request } = call;
  let status: number | undefined;
  try {
    await egress.stream(
      {
        ...{ method: 'POST', partition: channelId, signal, ...request },
        ...{ headTimeoutMs: DELIVERY_TIMEOUT_MS, idleTimeoutMs: DELIVERY_TIMEOUT_MS },
      },
      (head) => {
        status = head.status;
        return new Writable().destroy();
      },
    );
  } catch (error) {
    const cause = failedCallOf(error)?.cause;
    if (cause === undefined) throw error;
    if (status === undefined) return { error: CALL_FAILURES[cause] };
  }
  if (status !== undefined && status >= 200 && status < 300) return undefined;
  return { error: `The receiver answered ${status}.`, isGone: status === 404 || status === 410 };
}

type Cause = NonNullable<ReturnType<typeof failedCallOf>>['cause'];

const CALL_FAILURES: Readonly<Record<Cause, string>> = {
  dns: 'The name of the host did not resolve.',
  refused: 'The host refused the connection.',
  unreachable: 'The network has no way to the host.',
  certificate: 'The certificate of the host does not verify.',
  tls: 'The host does not speak TLS as it should.',
  cut: 'The connection was cut before an answer.',
  no_http: 'What the host sent is not HTTP.',
  timeout: 'No answer came in time.',
  address: 'The address is not public. SV_EGRESS_ALLOW names private ones that may be called.',
  plain_http: 'The address is plain http, which is only for those that SV_EGRESS_ALLOW names.',
};
