import { z } from 'zod';
import { apiClient } from '../api/api-client.ts';
import { usage } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { printList, type Shape } from '../output/print.ts';
import { aboutToken } from './about-token.ts';
import { serviceNameFrom, tokenPath } from './service-name.ts';

const eventSchema = z.looseObject({
  id: z.string(),
  eventType: z.string(),
  timestamp: z.string(),
  outcome: z.string(),
  agentId: z.string().optional(),
  proxyId: z.string().optional(),
  userId: z.string().optional(),
  count: z.number().optional(),
  detail: z.looseObject({}).optional(),
});
type Event = z.infer<typeof eventSchema>;

/** `tokens history SERVICE` */
export const run: Run<[string], { readonly limit: string }> = async (invocation, [service], { limit }) => {
  const name = serviceNameFrom(service);
  if (!/^[1-9]\d{0,5}$/.test(limit)) throw usage('--limit takes a whole number from 1 to 999999');
  const client = await apiClient(invocation);
  const path = `${tokenPath(name)}/history`;
  const events = await aboutToken(name, () => client.readAll(path, eventSchema, Number(limit)));
  printList(invocation, events, EVENTS);
};

const EVENTS: Shape<Event> = {
  columns: [
    { title: 'when', of: ({ timestamp }, { time }) => time(timestamp), whole: true },
    { title: 'what', of: ({ eventType, count = 1 }) => (count > 1 ? `${eventType} ×${count}` : eventType) },
    {
      title: 'outcome',
      of: ({ outcome }) => outcome,
      tone: ({ outcome }) => (outcome === 'success' ? undefined : 'yellow'),
      whole: true,
    },
    { title: 'by', of: ({ agentId, proxyId, userId }) => agentId ?? proxyId ?? userId ?? '' },
    {
      title: 'detail',
      of: ({ detail = {} }) =>
        Object.entries(detail)
          .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
          .join(', '),
      wide: true,
    },
    { title: 'id', of: ({ id }) => id, wide: true },
  ],
  name: ({ id }) => id,
  none: 'nothing has happened with it',
};
