import type { Secret } from '@svault/shared';
import { EMAIL_FORM, normalizeEmail } from '../core/user.ts';
import { parseCidr, parseConnectTo } from '@svault/shared/egress';
import { databaseSetting, nextDatabaseSetting } from './database-setting.ts';
import { LIMIT_SETTINGS, explainUnknownLimit, limitOverrides } from './limit-settings.ts';
import { problemOfScheme } from './scheme.ts';
import { OIDC_SETTINGS, oidcConfig } from './oidc-settings.ts';
import { SMTP_SETTINGS, smtpConfig } from './smtp-settings.ts';
import { backupRecipients, drainSeconds, egressAllow } from '@svault/server-kit/common-settings';
import { LOG_FORMATS, LOG_LEVELS } from '@svault/server-kit/logger';
import { WEBHOOK_SETTINGS } from '@svault/server-kit/setting-names';
import { TRACING_SETTINGS, tracingConfig } from '@svault/server-kit/tracing-settings';
import {
  checked,
  integer,
  key32,
  list,
  listenAddress,
  oneOf,
  optional,
  optionalText,
  readSettings,
  secretText,
  url,
} from '@svault/server-kit/settings';

export type ControlPlaneConfig = Readonly<ReturnType<typeof controlPlaneConfig>>;

/** Every setting, in the order of docs/reference/settings.md. */
export const SETTINGS = {
  SV_BASE_URL: checked(
    url({
      description:
        'the public address, without a path; http only on loopback. Webhooks compare it byte for byte',
    }),
    problemOfBaseUrl,
  ),
  SV_LISTEN: listenAddress({
    default: { host: '127.0.0.1', port: 8080 },
    description: '`HOST:PORT` to listen on',
  }),
  SV_DATABASE_URL: databaseSetting,
  SV_DATABASE_URL_NEXT: nextDatabaseSetting,
  SV_MASTER_KEY: key32({
    description: "32 bytes in base64url without padding: the root key, which wraps the database's own key",
  }),
  SV_MASTER_KEY_NEXT: optional(
    key32({ file: true, description: 'the key that `rotate-master-key` moves to' }),
  ),
  SV_BOOTSTRAP_EMAIL: checked(
    optionalText({
      description:
        'the owner of the account that exists after the start; `owner@localhost` for the first unless set',
    }),
    problemOfEmail,
  ),
  SV_BOOTSTRAP_ADMIN_KEY: optional(
    checked(
      secretText({
        description:
          'an admin key of that owner: `svadmin_` and 32 to 128 base64url characters. A changed one replaces the former',
      }),
      problemOfAdminKey,
    ),
  ),
  SV_EGRESS_ALLOW: egressAllow,
  SV_CONNECT_TO: checked(
    list({
      default: [],
      description:
        '`HOST:PORT=HOST:PORT`, with commas between: calls to the first are connected to the second, with the same `Host` ' +
        'and by the same scheme: for an https webhook the second must terminate TLS with a certificate for the first; http ' +
        'is allowed too. For a webhook whose address leads elsewhere from here',
    }),
    problemOfConnectTo,
  ),
  SV_TRUSTED_PROXIES: list({
    default: [],
    description: 'addresses and CIDR ranges of the reverse proxies whose `X-Forwarded-For` counts',
    entry: checkRange,
  }),
  SV_GEOIP_DB: optionalText({
    description:
      'path of an MMDB file by which `geo_restrict` looks up countries (MaxMind, DB-IP, IPinfo, ip-location-db); read once',
  }),
  SV_REDIS_URL: optional(
    checked(
      secretText({
        file: true,
        description:
          '`redis://USER:PASSWORD@HOST:PORT/DATABASE`, all but the host optional, or `rediss://` for TLS: where several ' +
          'processes count limits together',
      }),
      problemOfRedis,
    ),
  ),
  ...LIMIT_SETTINGS,
  SV_BACKUP_RECIPIENTS: backupRecipients,
  SV_DRAIN_SECONDS: drainSeconds,
  SV_METRICS_LISTEN: optional(
    listenAddress({ description: '`HOST:PORT` of `GET /metrics`; off unless set' }),
  ),
  ...TRACING_SETTINGS,
  SV_LOG_LEVEL: oneOf(LOG_LEVELS, {
    default: 'info',
    description: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
  }),
  SV_LOG_FORMAT: oneOf(LOG_FORMATS, { default: 'json', description: '`json` or `pretty`' }),
  ...OIDC_SETTINGS,
  ...SMTP_SETTINGS,
  SV_MCP_ALLOWED_ORIGINS: list({
    default: [],
    description:
      'origins of other pages whose scripts may call the MCP endpoint, as browsers write them: `https://app.example.com`',
    entry: checkOrigin,
  }),
  SV_AUDIT_RETENTION_DAYS: optional(
    integer({
      min: 1,
      max: 3_650,
      file: false,
      description: '1 to 3650: events that are older leave the log. The log is kept whole unless set',
    }),
  ),
};

/**
 * Reads this program's settings from an environment.
 *
 * @throws SettingsError listing every problem at once
 */
export function controlPlaneConfig(env: NodeJS.ProcessEnv) {
  const values = readSettings(SETTINGS, env, {
    foreign: WEBHOOK_SETTINGS,
    explainUnknown: explainUnknownLimit,
  });
  const email = values.SV_BOOTSTRAP_EMAIL;
  return {
    /** Public address without trailing slash; the `iss` of tickets, byte for byte. */
    baseUrl: values.SV_BASE_URL,
    listen: values.SV_LISTEN,
    database: values.SV_DATABASE_URL,
    /** Set while the database is moved. */
    databaseNext: values.SV_DATABASE_URL_NEXT,
    /** 32 bytes. */
    masterKey: values.SV_MASTER_KEY,
    /** Set while the root key is being replaced. */
    masterKeyNext: values.SV_MASTER_KEY_NEXT,
    bootstrap: {
      email: email === undefined ? undefined : normalizeEmail(email),
      adminKey: values.SV_BOOTSTRAP_ADMIN_KEY,
    },
    egressAllow: values.SV_EGRESS_ALLOW,
    /** `HOST:PORT=HOST:PORT`: calls to the first are connected to the second. */
    connectTo: values.SV_CONNECT_TO,
    /** Undefined: people sign in with accounts of this service. */
    oidc: oidcConfig(values),
    /** Undefined: nobody is told by e-mail. */
    smtp: smtpConfig(values),
    /** Ranges and addresses whose `X-Forwarded-For` counts. */
    trustedProxies: values.SV_TRUSTED_PROXIES,
    /** Path of an MMDB file. */
    geoipDb: values.SV_GEOIP_DB,
    /** Unset: limits live in the process. It may hold a password. */
    redisUrl: values.SV_REDIS_URL,
    limitOverrides: limitOverrides(values),
    /** Undefined: the log is kept whole. */
    auditRetentionDays: values.SV_AUDIT_RETENTION_DAYS,
    /** `age1…`; none: backups are not encrypted. */
    backupRecipients: values.SV_BACKUP_RECIPIENTS,
    /** How long it goes on taking requests after the signal to stop. */
    drainSeconds: values.SV_DRAIN_SECONDS,
    metricsListen: values.SV_METRICS_LISTEN,
    /** Undefined: nothing is traced. */
    tracing: tracingConfig(values),
    logLevel: values.SV_LOG_LEVEL,
    logFormat: values.SV_LOG_FORMAT,
    /** Origins of pages, besides our own, that may call the MCP endpoint; as browsers write them. */
    mcpAllowedOrigins: values.SV_MCP_ALLOWED_ORIGINS,
  };
}

/** Session cookies and keys travel to this address. */
function problemOfBaseUrl(baseUrl: string): string | undefined {
  const url = new URL(baseUrl);
  return url.pathname === '/' ? problemOfScheme(url) : 'must have no path';
}

/** Anything after the database's number would be options of the client, some of which would override ours. */
function problemOfRedis(address: Secret): string | undefined {
  const url = URL.canParse(address.reveal()) ? new URL(address.reveal()) : undefined;
  const isRedis = url?.protocol === 'redis:' || url?.protocol === 'rediss:';
  if (isRedis && url.hostname !== '' && /^\/?\d{0,5}$/.test(url.pathname) && url.search + url.hash === '')
    return undefined;
  return 'must look like redis://HOST:PORT or redis://HOST:PORT/DATABASE, with rediss:// for TLS';
}

/** All at once, since no two entries may be for the same. */
function problemOfConnectTo(entries: readonly string[]): string | undefined {
  try {
    parseConnectTo(entries);
    return undefined;
  } catch {
    return 'must list HOST:PORT=HOST:PORT, with commas between and one place for each';
  }
}

function checkRange(entry: string): void {
  if (parseCidr(entry) === undefined)
    throw new Error('must list CIDR ranges or addresses, with commas between');
}

/** Compared byte by byte with what browsers send: no path, no default port, nothing in upper case. */
function checkOrigin(entry: string): void {
  const { protocol, origin } = URL.canParse(entry) ? new URL(entry) : { protocol: '', origin: '' };
  const isWeb = protocol === 'https:' || protocol === 'http:';
  if (isWeb ? entry === origin && !entry.includes('*') : EXTENSION_ORIGIN.test(entry)) return;
  throw new Error('must list origins like https://app.example.com, with commas between');
}

/** Of a browser's extension or an editor's view, whose scheme the URL standard knows no origin for. */
const EXTENSION_ORIGIN = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+$/;

function problemOfEmail(email: string | undefined): string | undefined {
  return email === undefined || EMAIL_FORM.test(email) ? undefined : 'must be an e-mail address';
}

/** At least 192 bits, for a key that is made by hand. */
function problemOfAdminKey(key: Secret): string | undefined {
  return /^svadmin_[A-Za-z0-9_-]{32,128}$/.test(key.reveal())
    ? undefined
    : 'must be svadmin_ and 32 to 128 base64url characters';
}
