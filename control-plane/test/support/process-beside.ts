import { silentLogger } from '@svault/server-kit/logger';
import { type Id, Secret, fromBase64url } from '@svault/shared';
import { createEgress } from '@svault/shared/egress';
import type { TestPair } from '@svault/test-kit/pair';
import { databaseSetting } from '../../src/config/database-setting.ts';
import type { Database } from '../../src/store/database.ts';
import { openDatabase } from '../../src/store/open-database.ts';
import {
  type WebhookRequest,
  type WebhookClient,
  createWebhookClient,
} from '../../src/webhook/retrying-client.ts';
import { createCallBudget } from '../../src/webhook/call-budget.ts';
import { createOutageTracker } from '../../src/webhook/outages.ts';
import { createSignedClient } from '../../src/webhook/client.ts';
import { createWebhookKeys } from '../../src/webhook/webhook-keys.ts';
import type { WebhookLink } from '../../src/core/webhook-link.ts';

/** What a second process on the database of a pair is made of. */
export interface ProcessBeside {
  readonly database: Database;
  readonly vaultId: Id<'vlt'>;
  readonly webhook: WebhookClient;
  /** Bodies of what it sent to the webhook. */
  readonly sent: Readonly<Record<string, unknown>>[];
  /** Waited for before a call goes out. */
  hold: ((body: Readonly<Record<string, unknown>>) => Promise<unknown> | undefined) | undefined;
  link(): Promise<WebhookLink>;
  /** One operation of `POST /v1/storage`. */
  ask(operation: object): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export async function processBeside(pair: TestPair): Promise<ProcessBeside> {
  const { clock } = pair;
  const masterKey = fromBase64url(pair.masterKeys['control-plane']) ?? new Uint8Array();
  const options = { clock, logger: silentLogger, opener: 'tool' } as const;
  const database = await openDatabase(
    databaseSetting.parse(pair.databaseUrl),
    [new Secret(masterKey)],
    options,
  );
  const egress = createEgress({ allow: ['127.0.0.0/8'] });
  const linked = createWebhookClient({
    client: createSignedClient({ egress, clock }),
    keys: createWebhookKeys(database.masterKeys),
    status: createOutageTracker(clock),
    budget: createCallBudget({ clock }),
    signatureAlarm: () => undefined,
  });
  const { vaultId } = await pair.admin.call<{ vaultId: Id<'vlt'> }>('GET', '/api/me');
  const call = async (link: WebhookLink, asked: WebhookRequest) => {
    const body = (asked.body ?? {}) as Readonly<Record<string, unknown>>;
    beside.sent.push(body);
    await beside.hold?.(body);
    return linked.call(link, asked);
  };
  const link = async (): Promise<WebhookLink> => {
    const found = await database.stores.webhookLinks.find(vaultId);
    if (found === undefined) throw new Error('no webhook is bound');
    return found;
  };
  const beside: ProcessBeside = {
    database,
    vaultId,
    webhook: { call },
    sent: [],
    hold: undefined,
    link,
    ask: async (body) => (await linked.call(await link(), { path: '/v1/storage', body })).body,
    close: async () => {
      await egress.close();
      await database.close();
    },
  };
  return beside;
}
