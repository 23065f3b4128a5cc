import { ApiError } from '../../core/errors.ts';

/** Reads a request header by its lower-case name. */
type HeaderReader = (name: string) => string | undefined;

/**
 * Whether a browser says that a state-changing request comes from our own pages.
 *
 * `Origin` must be ours. Pages that send no referrer make browsers write `Origin: null` for a form (Fetch, "append
 * a request Origin header"), so there `Sec-Fetch-Site: same-origin` counts, which no page's script can set.
 * A request without `Origin` is rejected: every browser sends it with a POST.
 */
export function isSameOrigin(header: HeaderReader, ownOrigin: string): boolean {
  const origin = header('origin');
  if (origin === 'null') return header('sec-fetch-site') === 'same-origin';
  return origin === ownOrigin;
}

/** What browsers say of a request made by a page of ours, or by the person themselves (Fetch Metadata, `Sec-Fetch-Site`). */
const OWN_SITES = ['same-origin', 'none'];

/**
 * Whether a browser says that another site's page, or a link on it, made a request. Nothing is read that way, but reading
 * may cost something: an export, a walk along the log. Programs do not send the header.
 */
export function isCrossSite(header: HeaderReader): boolean {
  const site = header('sec-fetch-site');
  return site !== undefined && !OWN_SITES.includes(site);
}

/** Also what an operator reads whose proxy serves the pages under another address than the settings say. */
export const crossOriginError = (): ApiError =>
  new ApiError(
    'FORBIDDEN',
    'This request does not come from a page of this service. Open the service at the address that SV_BASE_URL names.',
  );
