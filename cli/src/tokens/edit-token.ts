import { apiClient } from '../api/api-client.ts';
import { usage } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { printDone } from '../output/print.ts';
import { aboutToken } from './about-token.ts';
import { serviceNameFrom, tokenPath } from './service-name.ts';
import { type DescriptionOptions, describedBy } from './token-description.ts';
import { tokenSchema } from './token.ts';

/** `tokens edit SERVICE` */
export const run: Run<[string], DescriptionOptions> = async (invocation, [service], options) => {
  const name = serviceNameFrom(service);
  const body = describedBy(options);
  if (Object.keys(body).length === 0)
    throw usage('say what to change: --name, --description, --notes, --tags');
  const client = await apiClient(invocation);
  const change = { method: 'PATCH', path: tokenPath(name), body, schema: tokenSchema } as const;
  const answer = await aboutToken(name, () => client.change(change));
  printDone(invocation, { said: `${name} is changed`, answer, name });
};
