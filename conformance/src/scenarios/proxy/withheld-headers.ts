/** Recognised where it comes back. */
const CANARY = 'conformance-canary';

/**
 * What PRX-25 names, as an upstream may write it, in mixed letter cases; a webhook's own headers of these names do not
 * hold the values.
 */
export const WITHHELD: ReadonlyArray<readonly [name: string, value: string]> = [
  ['Set-Cookie', `${CANARY}=1; Path=/`],
  ['set-cookie', `${CANARY}=2`],
  ['WWW-Authenticate', `Bearer realm="${CANARY}"`],
  ['Proxy-Authenticate', `Basic realm="${CANARY}"`],
  ['Clear-Site-Data', `"${CANARY}"`],
  ['Strict-Transport-Security', `max-age=31536000; ${CANARY}`],
  ['Content-Security-Policy', `default-src ${CANARY}.example`],
  ['Content-Security-Policy-Report-Only', `default-src ${CANARY}.example`],
  ['Access-Control-Allow-Origin', `https://${CANARY}.example`],
  ['Access-Control-Allow-Credentials', CANARY],
  ['Access-Control-Expose-Headers', CANARY],
  ['Access-Control-Max-Age', CANARY],
  ['Alt-Svc', `h3="${CANARY}.example:443"`],
  ['Refresh', `0; url=https://${CANARY}.example/`],
  ['Report-To', `{"group":"${CANARY}"}`],
  ['NEL', `{"report_to":"${CANARY}"}`],
  ['Service-Worker-Allowed', `/${CANARY}`],
  ['SV-Ticket', CANARY],
  ['sv-anything', CANARY],
  ['X-Accel-Redirect', `/${CANARY}`],
  ['X-Accel-Expires', CANARY],
  ['X-Accel-Charset', CANARY],
  ['X-Accel-Limit-Rate', CANARY],
  ['X-Sendfile', `/${CANARY}`],
  ['X-LIGHTTPD-Send-File', `/${CANARY}`],
  ['X-Reproxy-URL', `https://${CANARY}.example/`],
  ['Surrogate-Control', `max-age=1, ${CANARY}`],
  ['CDN-Cache-Control', `max-age=1, ${CANARY}`],
  ['Vendor-CDN-Cache-Control', `max-age=1, ${CANARY}`],
  ['X-Cache-Control', CANARY],
  ['Keep-Alive', `timeout=5, ${CANARY}`],
  ['Proxy-Connection', CANARY],
  ['TE', CANARY],
  ['Trailer', CANARY],
  ['Upgrade', CANARY],
  // Connection names it.
  ['Connection', 'keep-alive, x-hop'],
  ['X-Hop', CANARY],
];
