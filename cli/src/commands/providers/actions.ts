import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { nameOrId, pathOf, referred } from '../../api/resource.ts';
import { PROVIDER } from '../../api/resources.ts';
import { usage } from '../../failure.ts';
import { given } from '../../json-in.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { printDone } from '../../output/print.ts';
import { readSecret } from '../../secret-input/read-secret.ts';
import { updatedText } from '../option-flags.ts';
import { type PrintedResource, listing, removing } from '../resource-commands.ts';

const providerSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  tokenUrl: z.string(),
  clientId: z.string(),
  authMethod: z.string(),
  updatedAt: z.string(),
});

const PROVIDERS: PrintedResource<z.infer<typeof providerSchema>> = {
  resource: PROVIDER,
  schema: providerSchema,
  shape: (all) => ({
    columns: [
      { title: 'name', of: ({ name }) => name },
      { title: 'token url', of: ({ tokenUrl }) => tokenUrl },
      { title: 'client', of: ({ clientId }) => clientId },
      { title: 'authenticates by', of: ({ authMethod }) => authMethod, whole: true },
      { title: 'changed', of: ({ updatedAt }, { time }) => time(updatedAt), whole: true },
      { title: 'id', of: ({ id }) => id, whole: true },
    ],
    name: nameOrId(all),
    none: 'there are no providers: the webhook alone refreshes credentials',
  }),
};

/** `providers list` */
export const listProviders = listing(PROVIDERS);
/** `providers rm PROVIDER` */
export const removeProvider = removing(PROVIDER, {
  question: ({ name }) =>
    `Delete the provider ${name} with its secret? Its credentials are no longer refreshed.`,
  said: ({ name }) => `the provider ${name} is deleted, with its secret`,
});

interface Options {
  readonly name?: string;
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly authMethod?: string;
  readonly fromFile?: string;
  readonly algorithm?: string;
  readonly keyId?: string;
}

/** Members whose values are shown nowhere. */
const secretMembers = ['clientSecret', 'privateKey'];

const settingsOf = ({ name, tokenUrl, clientId, algorithm, keyId }: Options) =>
  ({ name, tokenUrl, clientId, algorithm, keyId }) as const;

/** The client secret, or for `private_key_jwt` the key; in the member that the API has for it. */
async function secretFrom(
  invocation: Invocation,
  authMethod: string,
  { fromFile }: Options,
): Promise<Readonly<Record<string, unknown>>> {
  const isKey = authMethod === 'private_key_jwt';
  const question = isKey ? 'Private key' : 'Client secret';
  const secret = await readSecret(invocation, { question, file: fromFile });
  return { authMethod, ...(isKey ? { privateKey: `${secret}\n` } : { clientSecret: secret }) };
}

/** `providers create` */
export const createProvider: Run<[], Options> = async (invocation, _, options) => {
  const { name, tokenUrl, clientId, authMethod = 'client_secret_basic' } = options;
  if (name === undefined || tokenUrl === undefined || clientId === undefined)
    throw usage('a provider needs --name, --token-url and --client-id');
  const client = await apiClient(invocation);
  const body = given({ ...settingsOf(options), ...(await secretFrom(invocation, authMethod, options)) });
  const path = PROVIDER.path;
  const answer = await client.change({ method: 'POST', path, body, secretMembers, schema: providerSchema });
  printDone(invocation, { said: `the provider ${name} (${answer.id}) is added`, answer, name });
};

/** `providers edit PROVIDER` */
export const editProvider: Run<[string], Options & { readonly newSecret?: true }> = async (
  invocation,
  [reference],
  options,
) => {
  const client = await apiClient(invocation);
  const { id, name } = await referred(client, PROVIDER, reference);
  const { tokenUrl, clientId, authMethod, newSecret, fromFile } = options;
  const takesSecret = [tokenUrl, clientId, authMethod, newSecret, fromFile].some(
    (each) => each !== undefined,
  );
  const secret = takesSecret
    ? await secretFrom(
        invocation,
        authMethod ?? (client.dryRun ? 'client_secret_basic' : await authMethodOf(client, id)),
        options,
      )
    : {};
  const body = given({ ...settingsOf(options), ...secret });
  if (Object.keys(body).length === 0)
    throw usage('nothing to change: svault help providers edit lists the options');
  const path = pathOf(PROVIDER, id);
  const answer = await client.change({ method: 'PATCH', path, body, secretMembers, schema: providerSchema });
  printDone(invocation, { said: updatedText(`the provider ${name}`, body), answer, name: reference });
};

async function authMethodOf(client: Awaited<ReturnType<typeof apiClient>>, id: string): Promise<string> {
  const all = await client.readAll(PROVIDER.path, providerSchema);
  return all.find((each) => each.id === id)?.authMethod ?? 'client_secret_basic';
}
