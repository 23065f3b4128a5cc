import { EgressFailed } from '@svault/shared/egress';

const CERTIFICATES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name; check the address, and the proxy in front of it.',
};
const UNTRUSTED =
  'its certificate is not signed by an authority that the control plane trusts. If it is your own, set NODE_EXTRA_CA_CERTS of the control plane to the file of its certificate.';
/** What OpenSSL says of an answer that is no TLS. */
const NO_TLS =
  /^(ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNEXPECTED_MESSAGE|HTTP_REQUEST)|EPROTO)$/;
const NO_HANDSHAKE = /^ERR_SSL_/;
const NO_ROUTE = /^E(HOST|NET)(UNREACH|DOWN)$/;

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
  const code = codeOf(cause.cause);
  switch (cause.kind) {
    case 'dns':
      return 'its name has no address that the control plane can find. Check its spelling and the DNS.';
    case 'tls':
      if (NO_TLS.test(code))
        return 'it does not speak TLS at this port, and https needs it. Check the port, and the proxy in front of it.';
      if (NO_HANDSHAKE.test(code))
        return 'no TLS connection could be agreed on. Check the proxy in front of it.';
      return CERTIFICATES[code] ?? UNTRUSTED;
    case 'timeout':
      return 'it did not answer in time. Check that it runs, and that no firewall is in between.';
    default:
      if (code === 'ECONNREFUSED')
        return 'nothing listens at this port. Check that it runs, and the port of its address.';
      if (NO_ROUTE.test(code)) return 'there is no route to it. Check the network of the control plane.';
      return 'the connection broke. Check that it runs, and the proxy in front of it.';
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
