import { queryOptions } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';

/** The screen is about now, and each reading is a call of the webhook. */
const FRESH_MS = 15_000;

export const vaultQuery = queryOptions({
  queryKey: ['vault'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/vault', { signal })),
  refetchInterval: FRESH_MS,
});

/** For admins only. */
export const webhookQuery = queryOptions({
  queryKey: ['webhook'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/webhook', { signal })),
  refetchInterval: FRESH_MS,
});

/** The last time that the webhook's own log did not continue what was seen of it before. */
export const contradictionQuery = queryOptions({
  queryKey: ['events', 'contradiction'],
  queryFn: ({ signal }) =>
    answerOf(
      api.GET('/api/audit', {
        signal,
        params: { query: { eventType: 'WEBHOOK_LOG_CONTRADICTION', limit: 1 } },
      }),
    ),
});
