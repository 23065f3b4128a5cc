/**
 * Every setting that one of the two programs reads. Both often run from one environment file, so each
 * program knows the other's names and refuses only what neither reads, such as a misspelt name.
 * A name listed here also has a `…_FILE` twin where its setting can come from a file.
 */
export const CONTROL_PLANE_SETTINGS = [
  'SV_BASE_URL',
  'SV_LISTEN',
  'SV_DATABASE_URL',
  'SV_DATABASE_URL_NEXT',
  'SV_REDIS_URL',
  'SV_MASTER_KEY',
  'SV_MASTER_KEY_NEXT',
  'SV_BOOTSTRAP_EMAIL',
  'SV_BOOTSTRAP_ADMIN_KEY',
  'SV_OIDC_ISSUER',
  'SV_OIDC_CLIENT_ID',
  'SV_OIDC_CLIENT_SECRET',
  'SV_OIDC_SIGN_UP',
  'SV_SMTP_URL',
  'SV_SMTP_FROM',
  'SV_TRUSTED_PROXIES',
  'SV_GEOIP_DB',
  'SV_EGRESS_ALLOW',
  'SV_CONNECT_TO',
  'SV_MCP_ALLOWED_ORIGINS',
  'SV_AUDIT_RETENTION_DAYS',
  'SV_BACKUP_RECIPIENTS',
  'SV_DRAIN_SECONDS',
  'SV_METRICS_LISTEN',
  'SV_LOG_LEVEL',
  'SV_LOG_FORMAT',
] as const;

export const WEBHOOK_SETTINGS = [
  'SV_WEBHOOK_URL',
  'SV_WEBHOOK_LISTEN',
  'SV_WEBHOOK_DATA_DIR',
  'SV_WEBHOOK_MASTER_KEY',
  'SV_WEBHOOK_MASTER_KEY_NEXT',
  'SV_WEBHOOK_PASSPHRASE',
  'SV_WEBHOOK_SERVICE_URL',
  'SV_WEBHOOK_SETUP_TOKEN',
  'SV_EGRESS_ALLOW',
  'SV_AWS_STS_ENDPOINT',
  'SV_BACKUP_RECIPIENTS',
  'SV_DRAIN_SECONDS',
  'SV_METRICS_LISTEN',
  'SV_LOG_LEVEL',
  'SV_LOG_FORMAT',
] as const;

/** `SV_LIMIT_<SCOPE>`: one setting per scope of the specification's Limits section. */
export const LIMIT_SETTING_PREFIX = 'SV_LIMIT_';
