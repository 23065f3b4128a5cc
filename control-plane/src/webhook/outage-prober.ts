import type { Logger } from '@svault/server-kit/logger';
import { type Id, parseWireObject } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import { healthSchema } from '@svault/shared/schemas';
import type { SharedOutages } from '../core/shared-outages.ts';
import type { WebhookLinkStore } from '../core/webhook-link.ts';
import type { OutageTracker } from './outages.ts';

/** In one process; the next ticks probe the other outages. */
const MAX_PROBES_AT_ONCE = 32;
const PROBE_TIMEOUT_MS = 3_000;
/** `{"status":"ok"}`, with room for members of later versions. */
const MAX_ANSWER_BYTES = 1024;
const MAX_ANSWER_COMMAS = 20;

/**
 * Finds out when offline webhooks come back, together with the other processes on the database. A probe is an unsigned `GET /v1/health`, which costs no signature and no nonce. Its answer decides only whether signed
 * calls are made again.
 */
export function createOutageProber(options: {
  readonly tracker: OutageTracker;
  readonly outages: SharedOutages;
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly egress: Pick<Egress, 'request'>;
  readonly logger: Logger;
}) {
  const { tracker, outages, links, egress, logger } = options;
  const stopping = new AbortController();
  const inFlight = new Map<Id<'vlt'>, Promise<void>>();

  const publish = async (): Promise<void> => {
    const changes = tracker.takeUnpublished();
    if (changes.length === 0) return;
    try {
      await outages.publish(changes);
    } catch (error) {
      tracker.requeue(changes);
      throw error;
    }
  };

  const isOnline = async (url: string): Promise<boolean> => {
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

  const probe = async (vaultId: Id<'vlt'>): Promise<void> => {
    const link = await links.find(vaultId);
    const outcome = tracker.callStarted(vaultId);
    // A webhook that has been unbound has no outage.
    if (link === undefined || (await isOnline(link.url))) outcome.answered();
    else {
      outcome.failed('broken');
      await outages.probeFailed(vaultId);
    }
    await publish();
  };

  const start = (vaultId: Id<'vlt'>): void => {
    if (inFlight.has(vaultId)) return;
    const probing = probe(vaultId)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) logger.warn({ err: error, vaultId }, 'a probe of a webhook failed');
      })
      .finally(() => inFlight.delete(vaultId));
    inFlight.set(vaultId, probing);
  };
  const freePlaces = (): number => MAX_PROBES_AT_ONCE - inFlight.size;

  const settled = async (): Promise<void> => void (await Promise.all(inFlight.values()));

  return {
    /** Exchanges changes with the other processes and starts the probes that are due, without waiting for them. */
    tick: async (): Promise<void> => {
      if (stopping.signal.aborted) return;
      await publish();
      const update = await outages.poll();
      if ('offline' in update) tracker.retainOnly(update.offline);
      else for (const change of update.changes) tracker.apply(change);
      for (const vaultId of tracker.takeSuspects(freePlaces())) start(vaultId);
      const requested = tracker.takeRequested();
      if (!tracker.anyOffline() || freePlaces() <= 0) return;
      for (const vaultId of await outages.takeProbes(freePlaces(), requested)) start(vaultId);
    },
    settled,
    /** Aborts the probes in flight. */
    stop: async (): Promise<void> => {
      stopping.abort();
      await settled();
    },
  };
}
