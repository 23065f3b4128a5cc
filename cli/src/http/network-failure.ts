import { Failure } from '../failure.ts';

/** Of Node's TLS, beside those that begin with CERT_ and ERR_TLS_. */
const CERTIFICATE_CODES = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
];

/** Why there is no answer, in one line. @param error of the request or of its answer */
export function networkFailure(error: unknown, { host }: URL): Failure {
  const code = codeOf(error);
  const said = (exit: 'failed' | 'unavailable', message: string): Failure =>
    new Failure(exit, message, { cause: error });
  if (code.startsWith('CERT_') || code.startsWith('ERR_TLS_') || CERTIFICATE_CODES.includes(code))
    return said(
      'failed',
      `the certificate of ${host} does not verify (${code}); for an authority of your own, set NODE_EXTRA_CA_CERTS to its file`,
    );
  if (/^(?:ERR_SSL_|EPROTO$|HPE_(?!HEADER_OVERFLOW))/.test(code))
    return said('failed', `${host} does not speak what its address says (${code}); is the address right?`);
  switch (code) {
    case 'ECONNREFUSED':
      return said('unavailable', `nothing listens at ${host}`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return said('unavailable', `there is no address for ${host}; are you online?`);
    case 'HPE_HEADER_OVERFLOW':
      return said('failed', `${host} answers more than a svault would`);
    case 'TimeoutError':
      return said('unavailable', `${host} did not answer in time`);
    default:
      return said('unavailable', `${host} cannot be reached (${code})`);
  }
}

/** The innermost: an address family that failed stands in an AggregateError. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return error.name;
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error.cause === undefined ? error.message : codeOf(error.cause);
}
