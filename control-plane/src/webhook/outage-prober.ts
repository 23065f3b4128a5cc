import type { Logger } from '@svault/server-kit/logger';
import { type Id, parseWireObject } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import { healthSchema } from '@svault/shared/schemas';
import type { OutageNotes } from './outages.ts';
import type { SharedOutages } from '../core/shared-outages.ts';
import type { WebhookLinkStore } from '../core/webhook-link.ts';

/** Looks when webhooks that are offline come back, for all processes on one database, and tells them. */
export interface WebhookProber {
  /** Exchanges news with the other processes and begins the probes that are due; waits for none. Several times a second. */
  tick(): Promise<void>;
  /** Waits for the probes that are under way. */
  settled(): Promise<void>;
  /** Ends them. */
  stop(): Promise<void>;
}

/** In one process; further outages wait for their turn. */
const MAX_PROBES_AT_ONCE = 32;
const PROBE_TIMEOUT_MS = 3_000;
/** `{"status":"ok"}`, with room for members that nobody knows yet. */
const MAX_ANSWER_BYTES = 1024;
const MAX_ANSWER_COMMAS = 20;

/**
 * A probe is `GET /v1/health`: it costs neither side a signature or a nonce, and its answer decides only whether the account's
 * own webhook is asked again.
 */
export function createWebhookProber(options: {
  readonly notes: OutageNotes;
  readonly outages: SharedOutages;
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly egress: Pick<Egress, 'request'>;
  readonly logger: Logger;
}): WebhookProber {
  const { notes, outages, links, egress, logger } = options;
  const stopping = new AbortController();
  const underWay = new Map<Id<'vlt'>, Promise<void>>();

  const publish = async (): Promise<void> => {
    const changes = notes.takeChanges();
    if (changes.length === 0) return;
    try {
      await outages.publish(changes);
    } catch (error) {
      notes.returnChanges(changes);
      throw error;
    }
  };

  const probe = async (vaultId: Id<'vlt'>): Promise<void> => {
    const link = await links.find(vaultId);
    const outcome = notes.begin(vaultId);
    // Unbound meanwhile: nothing is offline any more.
    if (link === undefined || (await isThere(link.url))) outcome.answered();
    else {
      outcome.failed('broken');
      await outages.probeFailed(vaultId);
    }
    await publish();
  };

  const isThere = async (url: string): Promise<boolean> => {
    try {
      const { status, body } = await egress.request({
        method: 'GET',
        url: `${url}/v1/health`,
        timeoutMs: PROBE_TIMEOUT_MS,
        maxBytes: MAX_ANSWER_BYTES,
        signal: stopping.signal,
      });
      if (status !== 200) return false;
      return healthSchema.safeParse(parseWireObject(body, { maxCommas: MAX_ANSWER_COMMAS })).success;
    } catch {
      return false;
    }
  };

  const begin = (vaultId: Id<'vlt'>): void => {
    if (underWay.has(vaultId)) return;
    const probing = probe(vaultId)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) logger.warn({ err: error, vaultId }, 'a probe of a webhook failed');
      })
      .finally(() => underWay.delete(vaultId));
    underWay.set(vaultId, probing);
  };
  const room = (): number => MAX_PROBES_AT_ONCE - underWay.size;

  const settled = async (): Promise<void> => void (await Promise.all(underWay.values()));

  return {
    tick: async () => {
      if (stopping.signal.aborted) return;
      await publish();
      const news = await outages.news();
      if ('offline' in news) notes.learnAll(news.offline);
      else for (const change of news.changes) notes.learn(change);
      for (const vaultId of notes.takeSuspects(room())) begin(vaultId);
      const wanted = notes.takeWanted();
      if (!notes.anyOffline() || room() <= 0) return;
      for (const vaultId of await outages.takeProbes(room(), wanted)) begin(vaultId);
    },
    settled,
    stop: async () => {
      stopping.abort();
      await settled();
    },
  };
}
