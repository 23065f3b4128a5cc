import { Secret } from '@svault/shared';
import type { Setting } from '@svault/server-kit/settings';
import type { DatabaseAddress } from '../core/database-address.ts';

const SQLITE = 'sqlite:';
const POSTGRES = /^postgres(?:ql)?:\/\//;

/** `SV_DATABASE_URL`. Errors do not repeat the value. */
export const databaseSetting: Setting<DatabaseAddress> = {
  parse: (text) => {
    if (POSTGRES.test(text)) return { kind: 'postgres', url: postgresUrl(text) };
    if (!text.startsWith(SQLITE) || text.length === SQLITE.length)
      throw new Error('must look like sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME');
    return { kind: 'sqlite', path: text.slice(SQLITE.length) };
  },
  fallback: { value: { kind: 'sqlite', path: '.svault/control-plane.db' } },
  file: true,
  description: '`sqlite:PATH`, or `postgres://USER:PASSWORD@HOST:PORT/NAME` for several processes',
};

/** `SV_DATABASE_URL_NEXT`. Errors do not repeat the value. */
export const nextDatabaseSetting: Setting<Secret | undefined> = {
  parse: (text) => {
    if (!POSTGRES.test(text)) throw new Error('must look like postgres://USER:PASSWORD@HOST:PORT/NAME');
    return postgresUrl(text);
  },
  fallback: { value: undefined },
  file: true,
  description: 'the empty PostgreSQL database that `move-to-postgres` moves to',
};

/** The host may be missing where the query names the folder of a socket (`?host=/run/postgresql`), as for libpq. */
function postgresUrl(text: string): Secret {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !isDecodable(url.username + url.password))
    throw new Error('is no URL: percent-encode what is special in user or password');
  if (url.hostname === '' && !url.searchParams.has('host')) throw new Error('names no host');
  if (url.pathname.length < 2) throw new Error('names no database: postgres://HOST:PORT/NAME');
  return new Secret(text);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
