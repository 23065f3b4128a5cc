import { createLogger } from '@svault/server-kit/logger';
import { type ManualClock, formatTime } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { type TokenEndpoint, type TokenPair, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { type Answer, type BoundWebhook, boundWebhook } from './bound-webhook.ts';

export const CLIENT = {
  id: 'client',
  method: 'client_secret_basic',
  secret: 'the client secret: ü&%+',
} as const;

/** A webhook that may call a strict provider on this machine. */
export interface RefreshBench {
  readonly webhook: BoundWebhook;
  readonly provider: TokenEndpoint;
  /** Everything that the webhook logs, at any level. */
  readonly log: LogSink;
  /** A pair of the provider's, stored as a `JWT`; it expires in so many seconds. */
  store(name: string, options?: StoreOptions): Promise<TokenPair>;
  metadata(name: string): Promise<Answer['json']>;
  /** The accessToken that is delivered, or the code of the refusal. */
  fetch(name: string): Promise<string>;
  /** Entries of the webhook's own log, newest first. */
  entries(name: string): Promise<Answer['json'][]>;
  notify(name: string, more?: object): Promise<Answer>;
  refresh(body: object): Promise<Answer>;
  close(): Promise<void>;
}

export interface StoreOptions {
  /** -1 unless given: expired. */
  readonly expiresIn?: number;
  readonly provider?: object;
  /** Of the body. */
  readonly body?: object;
}

export async function refreshBench(
  options: { clock?: ManualClock; egressAllow?: string } = {},
): Promise<RefreshBench> {
  const log = new LogSink();
  const logger = createLogger({ name: 'webhook', level: 'trace', format: 'json', destination: log });
  const provider = await startTokenEndpoint();
  provider.register(CLIENT);
  const { clock, egressAllow = '127.0.0.1/32' } = options;
  const env = { SV_EGRESS_ALLOW: egressAllow };
  const webhook = await boundWebhook({ env, logger, ...(clock !== undefined && { clock }) });

  return {
    webhook,
    provider,
    log,
    store: async (name, { expiresIn = -1, provider: more = {}, body = {} } = {}) => {
      const pair = provider.grant(CLIENT.id);
      const expiryTime = formatTime(webhook.clock.now() + expiresIn * 1000);
      const { status, text } = await webhook.store(name, {
        tokenType: 'JWT',
        ...pair,
        expiryTime,
        provider: { tokenUrl: provider.url, clientId: CLIENT.id, clientSecret: CLIENT.secret, ...more },
        ...body,
      });
      if (status !== 200) throw new Error(`the token was not stored: ${text}`);
      return pair;
    },
    metadata: async (serviceName) => (await webhook.storage({ op: 'tokens.get', serviceName })).json,
    fetch: async (name) => {
      const { status, json } = await webhook.credential(name);
      return status === 200 ? json.token.accessToken : json.code;
    },
    entries: async (serviceName) => (await webhook.storage({ op: 'audit.list', serviceName })).json.items,
    notify: (serviceName, more = {}) =>
      webhook.signed('/v1/refresh-notify', { serviceName, reason: 'manual', ...more }),
    refresh: (body) => webhook.signed('/v1/refresh', body),
    close: async () => {
      await webhook.remove();
      await provider.close();
    },
  };
}
