import { type Secret, parseWebhookUrl } from '@svault/shared';
import { parseAllowList } from '@svault/shared/egress';
import { backupRecipients, drainSeconds, egressAllow } from '@svault/server-kit/common-settings';
import { LOG_FORMATS, LOG_LEVELS } from '@svault/server-kit/logger';
import { CONTROL_PLANE_SETTINGS, LIMIT_SETTING_PREFIX } from '@svault/server-kit/setting-names';
import {
  SettingsError,
  checked,
  key32,
  listenAddress,
  oneOf,
  optional,
  readSettings,
  secretText,
  text,
  url,
} from '@svault/server-kit/settings';
import { TRACING_SETTINGS, tracingConfig } from '@svault/server-kit/tracing-settings';

/** Every setting, in the order of docs/reference/settings.md. */
export const SETTINGS = {
  SV_WEBHOOK_URL: url({
    description: 'the public address, without a slash at the end; signed requests are checked against it',
  }),
  SV_WEBHOOK_LISTEN: listenAddress({
    description: '`HOST:PORT` to listen on',
    default: { host: '127.0.0.1', port: 8090 },
  }),
  SV_WEBHOOK_DATA_DIR: text({ description: 'folder of the database', default: '.svault/webhook' }),
  SV_WEBHOOK_MASTER_KEY: optional(
    key32({
      description:
        '32 bytes in base64url without padding: the root key, which wraps the data encryption key of every credential. ' +
        'This or the passphrase is required',
    }),
  ),
  SV_WEBHOOK_MASTER_KEY_NEXT: optional(
    key32({ description: 'the key that `rotate-master-key` moves to', file: true }),
  ),
  SV_WEBHOOK_PASSPHRASE: optional(
    secretText({
      description: 'at least 12 characters; the root key is derived from it (Argon2id)',
      file: true,
    }),
  ),
  SV_WEBHOOK_SERVICE_URL: url({
    description: "the one control plane it may be bound to, exactly as that one's `SV_BASE_URL`",
  }),
  SV_WEBHOOK_SETUP_TOKEN: optional(
    secretText({
      description:
        'what the bind page asks for, at least 22 characters; made and printed at the first start unless set',
    }),
  ),
  SV_EGRESS_ALLOW: egressAllow,
  SV_AWS_STS_ENDPOINT: optional(
    checked(
      url({
        description:
          "where AWS credentials are minted, instead of the region's public endpoint; may be private",
      }),
      stsEndpointProblem,
    ),
  ),
  SV_BACKUP_RECIPIENTS: backupRecipients,
  SV_DRAIN_SECONDS: drainSeconds,
  SV_METRICS_LISTEN: optional(
    listenAddress({ description: '`HOST:PORT` of `GET /metrics`; off unless set' }),
  ),
  ...TRACING_SETTINGS,
  SV_LOG_LEVEL: oneOf(LOG_LEVELS, {
    description: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
    default: 'info',
  }),
  SV_LOG_FORMAT: oneOf(LOG_FORMATS, { description: '`json` or `pretty`', default: 'json' }),
} as const;

/** Where the root key comes from: given as 32 bytes, or derived from a passphrase. */
export type MasterKeySource =
  | { readonly kind: 'key'; readonly key: Secret<Uint8Array> }
  | { readonly kind: 'passphrase'; readonly passphrase: Secret };

/** 128 bits in base64url are 22 characters (PROTOCOL.md section 5.1). */
const SETUP_TOKEN_CHARACTERS = 22;
const PASSPHRASE_CHARACTERS = 12;

/**
 * Reads every setting of this program.
 *
 * @throws SettingsError with all problems; nothing else has happened by then
 */
export function webhookConfig(env: NodeJS.ProcessEnv) {
  const values = readSettings(SETTINGS, env, {
    foreign: CONTROL_PLANE_SETTINGS,
    foreignPrefix: LIMIT_SETTING_PREFIX,
  });
  const problems: string[] = [];

  const masterKey = masterKeySource(values.SV_WEBHOOK_MASTER_KEY, values.SV_WEBHOOK_PASSPHRASE);
  if (typeof masterKey === 'string') problems.push(masterKey);
  const passphrase = values.SV_WEBHOOK_PASSPHRASE?.reveal();
  if (passphrase !== undefined && passphrase.length < PASSPHRASE_CHARACTERS)
    problems.push(`SV_WEBHOOK_PASSPHRASE must have at least ${PASSPHRASE_CHARACTERS} characters`);
  const setupToken = values.SV_WEBHOOK_SETUP_TOKEN?.reveal();
  if (setupToken !== undefined && setupToken.length < SETUP_TOKEN_CHARACTERS)
    problems.push(
      `SV_WEBHOOK_SETUP_TOKEN must have at least ${SETUP_TOKEN_CHARACTERS} characters (128 bits)`,
    );
  const refused = webhookUrlProblem(values.SV_WEBHOOK_URL);
  if (refused !== undefined) problems.push(`SV_WEBHOOK_URL ${refused}`);
  if (problems.length > 0 || typeof masterKey === 'string') throw new SettingsError(problems);

  return {
    /** Public address, byte for byte as it is signed for: no trailing slash. */
    webhookUrl: values.SV_WEBHOOK_URL,
    listen: values.SV_WEBHOOK_LISTEN,
    dataDir: values.SV_WEBHOOK_DATA_DIR,
    masterKey,
    nextMasterKey: values.SV_WEBHOOK_MASTER_KEY_NEXT,
    /** The control plane that this webhook may be bound to, byte for byte the `iss` of its tickets. */
    serviceUrl: values.SV_WEBHOOK_SERVICE_URL,
    setupToken: values.SV_WEBHOOK_SETUP_TOKEN,
    egressAllow: values.SV_EGRESS_ALLOW,
    /** Instead of the region's public endpoint; without a slash at the end. */
    awsStsEndpoint: values.SV_AWS_STS_ENDPOINT,
    /** `age1…`; none: backups are not encrypted. */
    backupRecipients: values.SV_BACKUP_RECIPIENTS,
    /** How long it accepts requests after the signal to stop. */
    drainSeconds: values.SV_DRAIN_SECONDS,
    metricsListen: values.SV_METRICS_LISTEN,
    /** Undefined: nothing is traced. */
    tracing: tracingConfig(values),
    logLevel: values.SV_LOG_LEVEL,
    logFormat: values.SV_LOG_FORMAT,
  };
}

export type WebhookConfig = ReturnType<typeof webhookConfig>;

/** @returns the source, or what is wrong */
function masterKeySource(
  key: Secret<Uint8Array> | undefined,
  passphrase: Secret | undefined,
): MasterKeySource | string {
  if (key !== undefined && passphrase !== undefined)
    return 'SV_WEBHOOK_MASTER_KEY and SV_WEBHOOK_PASSPHRASE are both set: give one';
  if (key !== undefined) return { kind: 'key', key };
  if (passphrase !== undefined) return { kind: 'passphrase', passphrase };
  return 'SV_WEBHOOK_MASTER_KEY is missing: 32 bytes in base64url, or give SV_WEBHOOK_PASSPHRASE';
}

/** PROTOCOL.md section 3 restricts the form of the address, since signatures cover its bytes. */
function webhookUrlProblem(webhookUrl: string): string | undefined {
  const address = parseWebhookUrl(webhookUrl);
  if (!address.ok) return `is no webhook address: ${address.reason}`;
  return address.url === webhookUrl ? undefined : `must be written ${address.url}`;
}

/** The egress client permits it by its host name, so it must have one. */
function stsEndpointProblem(endpoint: string): string | undefined {
  try {
    parseAllowList([new URL(endpoint).hostname.replace(/^\[|\]$/g, '')]);
    return undefined;
  } catch {
    return 'must name a host by a plain name or an address';
  }
}
