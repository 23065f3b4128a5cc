import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import { apiClient } from '../../api/api-client.ts';
import { grantSchema, grantsPath } from '../../api/grants.ts';
import { nameOrId, pathOf, referred } from '../../api/resource.ts';
import { FOLDER } from '../../api/resources.ts';
import { serviceNamesIn } from '../../api/service-name.ts';
import { usage } from '../../failure.ts';
import { given } from '../../json-in.ts';
import type { Run } from '../../invocation.ts';
import { unique } from '../../one-by-one.ts';
import { listed } from '../../output/plain-line.ts';
import { printDone } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { type GrantOptions, grantTerms } from '../grants/grant-terms.ts';
import { type PrintedResource, editing, listing, removing, showing } from '../resource-commands.ts';

const folderSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  serviceNames: z.array(z.string()),
  createdAt: z.string(),
  updatedAt: z.string(),
});

const FOLDERS: PrintedResource<z.infer<typeof folderSchema>> = {
  resource: FOLDER,
  schema: folderSchema,
  shape: (all) => ({
    columns: [
      { title: 'name', of: ({ name }) => name },
      { title: 'credentials', of: ({ serviceNames }) => serviceNames.join(', ') },
      { title: 'changed', of: ({ updatedAt }, { time }) => time(updatedAt), whole: true },
      { title: 'id', of: ({ id }) => id, whole: true },
    ],
    name: nameOrId(all),
    none: 'there are no folders yet: svault folders create --name NAME --services SERVICE,…',
  }),
};

/** `folders list` */
export const listFolders = listing(FOLDERS);
/** `folders show FOLDER` */
export const showFolder = showing(FOLDERS);
/** `folders rm FOLDER` */
export const removeFolder = removing(FOLDER, {
  question: ({ name }) => `Delete the folder ${name}? Its credentials and the grants made from it stay.`,
  said: ({ name }) => `the folder ${name} is deleted; its credentials and the grants made from it stay`,
});

/** `folders create` */
export const createFolder: Run<[], { readonly name?: string; readonly services?: string }> = async (
  invocation,
  _,
  { name, services },
) => {
  if (name === undefined || name.trim() === '') throw usage('a folder needs a name: --name');
  const body = given({ name, serviceNames: services === undefined ? undefined : serviceNamesIn(services) });
  const client = await apiClient(invocation);
  const answer = await client.change({ method: 'POST', path: FOLDER.path, body, schema: folderSchema });
  printDone(invocation, { said: `the folder ${name} (${answer.id}) is created`, answer, name });
};

interface EditOptions {
  readonly name?: string;
  readonly services?: string;
  readonly add?: string;
  readonly remove?: string;
}

/** `folders edit FOLDER` */
export const editFolder = editing(
  FOLDERS,
  async ({ name, services, add, remove }: EditOptions, _, { client, id }) => {
    if (add === undefined && remove === undefined)
      return { name, serviceNames: services === undefined ? undefined : serviceNamesIn(services) };
    if (services !== undefined) throw usage('--services says all of them: leave --add and --remove out');
    const { serviceNames } = await client.read(pathOf(FOLDER, id), folderSchema, SOME_FOLDER);
    const gone = remove === undefined ? [] : serviceNamesIn(remove);
    const more = add === undefined ? [] : serviceNamesIn(add);
    return { name, serviceNames: unique([...serviceNames, ...more]).filter((each) => !gone.includes(each)) };
  },
);

/** Under `--dry-run`, where what is in it is not asked for. */
const SOME_FOLDER = { id: 'ID', name: '', serviceNames: [], createdAt: '', updatedAt: '' };

const grantedSchema = z.looseObject({ grants: z.array(grantSchema), skipped: z.array(z.string()) });

/** `folders grant FOLDER AGENT` */
export const grantFolder: Run<[folder: string, agent: string], GrantOptions> = async (
  invocation,
  [folderReference, agentReference],
  options,
) => {
  const terms = grantTerms(options);
  const client = await apiClient(invocation);
  const folder = await referred(client, FOLDER, folderReference);
  const agent = await agentReferred(client, agentReference);
  const body = { folderId: folder.id, ...terms };
  const answer = await client.change({
    method: 'POST',
    path: grantsPath(agent.id),
    body,
    schema: grantedSchema,
  });
  const names = answer.grants.map(({ serviceName }) => serviceName);
  if (answer.skipped.length > 0)
    say(invocation, `${agent.name} had these already, and its grants stay: ${listed(answer.skipped)}`);
  printDone(invocation, {
    said: names.length === 0 ? 'nothing new is granted' : `${agent.name} may have ${listed(names)}`,
    answer,
    name: agentReference,
  });
};
