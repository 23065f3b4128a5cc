import * as z from 'zod';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { type Shape, printDone, printList } from '../../output/print.ts';

/** Of one request. */
const MAX_IDS = 50;

const attentionSchema = z.looseObject({
  items: z.array(
    z.looseObject({
      id: z.string(),
      kind: z.string(),
      severity: z.string(),
      since: z.string(),
      endsAt: z.string().nullable(),
      subject: z.looseObject({ type: z.string(), id: z.string(), name: z.string().nullable() }),
      serviceName: z.string().nullable(),
      seen: z.boolean(),
    }),
  ),
});
type Item = z.infer<typeof attentionSchema>['items'][number];

const ITEMS: Shape<Item> = {
  columns: [
    {
      title: 'what',
      of: ({ kind }) => kind.replaceAll('_', ' '),
      tone: ({ severity }) => (severity === 'critical' ? 'red' : 'yellow'),
    },
    {
      title: 'of',
      of: ({ subject: { id, name }, serviceName }) =>
        serviceName === null ? (name ?? id) : `${name ?? id}: ${serviceName}`,
    },
    { title: 'since', of: ({ since }, view) => view.time(since) },
    { title: 'until', of: ({ endsAt }, view) => view.time(endsAt) },
    { title: 'id', of: ({ id }) => id, wide: true },
  ],
  name: ({ id }) => id,
  none: 'nothing needs attention',
};

const readItems = async (client: ApiClient): Promise<readonly Item[]> =>
  (await client.read('/api/attention', attentionSchema)).items;

/** `account attention` */
export const showAttention: Run<[], { readonly all?: boolean }> = async (invocation, _, { all = false }) => {
  const items = await readItems(await apiClient(invocation));
  printList(
    invocation,
    items.filter(({ seen }) => all || !seen),
    ITEMS,
  );
};

/** `account dismiss` */
export const dismissAttention: Run<[string[]], { readonly all?: boolean }> = async (
  invocation,
  [named],
  { all = false },
) => {
  const client = await apiClient(invocation);
  if (named.length > 0 === all) throw usage('give ids of `svault account attention --format name`, or --all');
  const ids = all ? (await readItems(client)).map(({ id }) => id) : [...new Set(named)];
  const path = '/api/attention/seen';
  let answer: object = {};
  for (let from = 0; from < Math.max(1, ids.length); from += MAX_IDS) {
    const body = { ids: ids.slice(from, from + MAX_IDS) };
    answer = await client.change({ method: 'POST', path, body, schema: attentionSchema });
  }
  const said = 'what you have seen is listed again when it occurs anew';
  printDone(invocation, { said, answer, name: 'attention' });
};
