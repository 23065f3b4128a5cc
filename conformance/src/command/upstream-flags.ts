import type { UpstreamAddress } from '../upstream/upstream.ts';
import { UsageRefused } from './io.ts';

const LISTEN = /^(\[[0-9a-f:.]+\]|[^:\s]+):(\d{1,5})$/i;
const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Where the suite's own server listens, and how the webhook reaches it.
 * @param flags.upstreamUrl as the webhook reaches it
 * @param flags.upstreamListen `HOST:PORT`; absent: by the URL where it has a port, else any free port of loopback
 * @returns nothing where nothing was said
 * @throws UsageRefused
 */
export function upstreamOf(flags: {
  readonly upstreamUrl?: string;
  readonly upstreamListen?: string;
}): UpstreamAddress | undefined {
  const { upstreamUrl, upstreamListen } = flags;
  const publicUrl = upstreamUrl === undefined ? undefined : parseUrl(upstreamUrl);
  const listen = upstreamListen === undefined ? undefined : parseListen(upstreamListen);
  if (publicUrl === undefined) {
    if (listen !== undefined && /^(0\.0\.0\.0|\[::\])$/.test(listen.host))
      throw new UsageRefused(
        '--upstream-listen on every address needs --upstream-url, by which the webhook reaches it',
      );
    return listen;
  }
  const shown = publicUrl.origin + publicUrl.pathname.replace(/\/$/, '');
  if (listen !== undefined) return { ...listen, publicUrl: shown };
  if (publicUrl.port === '')
    throw new UsageRefused(
      '--upstream-url without a port needs --upstream-listen HOST:PORT, where the suite listens',
    );
  const host =
    LOCAL.has(publicUrl.hostname) && publicUrl.hostname !== 'localhost' ? publicUrl.hostname : '127.0.0.1';
  return { host, port: Number(publicUrl.port), publicUrl: shown };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageRefused('--upstream-url is no http:// or https:// URL');
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
    throw new UsageRefused('--upstream-url has no query, no fragment and no user');
  return url;
}

function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, host, port] = LISTEN.exec(text) ?? [];
  if (host === undefined || Number(port) > 65535) throw new UsageRefused('--upstream-listen is HOST:PORT');
  return { host, port: Number(port) };
}
