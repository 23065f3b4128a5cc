import { EgressFailed, callFailureOf } from '@svault/shared/egress';

/** What to check, for each way in which a call gets no answer. */
const ADVICE: Readonly<Record<ReturnType<typeof callFailureOf>, string>> = {
  dns: 'its name has no address that the control plane can find. Check its spelling and the DNS.',
  refused: 'nothing listens at this port. Check that it runs, and the port of its address.',
  unreachable: 'there is no route to it. Check the network of the control plane.',
  certificate:
    'its certificate is not signed by an authority that the control plane trusts. If it is your own, set NODE_EXTRA_CA_CERTS of the control plane to the file of its certificate.',
  tls: 'it does not speak TLS at this port, and https needs it. Check the port, and the proxy in front of it.',
  timeout: 'it did not answer in time. Check that it runs, and that no firewall is in between.',
  cut: 'the connection broke. Check that it runs, and the proxy in front of it.',
  no_http: 'what it sent is not HTTP. Check the port, and the proxy in front of it.',
};
const CERTIFICATES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name; check the address, and the proxy in front of it.',
};

/**
 * Why a webhook could not be reached, and what to check: the end of a sentence. It names a kind of failure, never the text of
 * an error, which could have addresses of the control plane's network.
 */
export function whyUnreachable({
  cause,
  status,
}: {
  readonly cause?: unknown;
  /** Of a gateway's answer. */
  readonly status: number | undefined;
}): string {
  if (status !== undefined)
    return `a gateway in front of it answers ${status}. Check that the webhook runs and that the gateway leads to it.`;
  if (!(cause instanceof EgressFailed)) return 'check that it runs.';
  return CERTIFICATES[codeOf(cause.cause)] ?? ADVICE[callFailureOf(cause)];
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
