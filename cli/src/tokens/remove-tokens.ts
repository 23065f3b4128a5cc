import { z } from 'zod';
import { apiClient } from '../api/api-client.ts';
import { Failure } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { oneByOne, unique } from '../one-by-one.ts';
import { printAnswers } from '../output/print.ts';
import { say } from '../output/say.ts';
import { confirm } from '../secret-input/confirm.ts';
import { aboutToken } from './about-token.ts';
import { serviceNameFrom, tokenPath } from './service-name.ts';

const removalSchema = z.looseObject({ serviceName: z.string(), webhook: z.string() });

/** What became of the record, by what the service says of it. */
const RECORDS: Readonly<Record<string, string>> = {
  deleted: 'its record at the webhook too, which keeps it for 7 days',
  absent: 'the webhook held nothing for it',
  unreachable: 'the webhook does not answer and still has its record',
  not_bound: 'no webhook is bound that could hold its record',
};

/** `tokens rm SERVICE…` */
export const run: Run<[readonly string[]], { readonly yes?: true }> = async (
  invocation,
  [services],
  { yes },
) => {
  const names = unique(services.map(serviceNameFrom));
  const client = await apiClient(invocation);
  await confirm(
    invocation,
    `Delete ${names.join(', ')}, with every grant for ${names.length === 1 ? 'it' : 'them'} and what the webhook holds?`,
    { yes },
  );
  const { done, failure } = await oneByOne(invocation, names, {
    named: (name) => name,
    act: async (name) => {
      const change = { method: 'DELETE', path: tokenPath(name), schema: removalSchema } as const;
      const removal = await aboutToken(name, () => client.change(change));
      say(invocation, `${name} is deleted; ${RECORDS[removal.webhook] ?? `its record: ${removal.webhook}`}`);
      return removal;
    },
  });
  printAnswers(invocation, done, ({ serviceName }) => serviceName);
  if (failure !== undefined) throw failure;
  const left = done.filter(({ webhook }) => webhook === 'unreachable').map(({ serviceName }) => serviceName);
  if (left.length > 0)
    throw new Failure(
      'unavailable',
      `the webhook still holds what ${left.join(', ')} was; when it is back: svault rm ${left.join(' ')}`,
    );
};
