import type { Clock } from '@svault/shared';
import { z } from 'zod';
import { type Folder, MAX_FOLDER_TOKENS } from '../../core/folder.ts';
import { ownOf } from '../../core/change.ts';
import type { Stores } from '../../core/stores.ts';
import { createFolder, deleteFolder, updateFolder } from '../../management/folders.ts';
import {
  idParams,
  lineSchema,
  pageQuery,
  pageRequest,
  pageSchema,
  serviceNameSchema,
  timeSchema,
  uniqueList,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

export const folderSchema = z
  .object({
    id: z.string().meta({ examples: ['fld_…'] }),
    name: z.string(),
    serviceNames: z.array(z.string()).meta({ description: 'The tokens in it' }),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'Folder' });

const nameSchema = lineSchema(100);
const serviceNamesSchema = uniqueList(serviceNameSchema, MAX_FOLDER_TOKENS);

const newFolderSchema = z
  .strictObject({ name: nameSchema, serviceNames: serviceNamesSchema.optional() })
  .meta({ id: 'NewFolder', description: 'A group of tokens of the account.' });

const folderChangesSchema = z
  .strictObject({
    name: nameSchema.optional(),
    serviceNames: serviceNamesSchema.optional().meta({ description: "Takes the former list's place" }),
  })
  .meta({ id: 'FolderChanges' });

export function toFolderView({ vaultId: _own, ...folder }: Folder): z.output<typeof folderSchema> {
  return { ...folder, serviceNames: [...folder.serviceNames] };
}

/** Groups of tokens, from which grants are made. */
export function createFolderRoutes({
  clock,
  stores,
}: {
  readonly clock: Clock;
  readonly stores: Pick<Stores, 'folders'>;
}): readonly ManagementRoute[] {
  const shared = { tag: 'Folders', role: 'member' } as const;
  const byId = { ...shared, path: '/api/folders/{id}', params: idParams } as const;
  const folder = { status: 200, schema: folderSchema } as const;
  return [
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/folders',
      operation: 'createFolder',
      summary: 'Make a folder of tokens',
      whenLocked: 'denied',
      audit: ['FOLDER_CREATED'],
      body: newFolderSchema,
      response: { status: 201, schema: folderSchema },
      errors: ['CONFLICT'],
      handle: async ({ body, transaction }) =>
        toFolderView(await transaction((inside) => createFolder(inside, body, clock))),
    }),
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/folders',
      operation: 'listFolders',
      summary: 'List folders, oldest first',
      whenLocked: 'allowed',
      audit: [],
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: pageSchema(folderSchema) },
      handle: async ({ actor, query }) => {
        const page = await stores.folders.list(actor.vaultId, pageRequest(query, 2));
        return { ...page, items: page.items.map(toFolderView) };
      },
    }),
    defineRoute({
      ...byId,
      method: 'get',
      operation: 'getFolder',
      summary: 'Read a folder',
      whenLocked: 'allowed',
      audit: [],
      response: folder,
      handle: async ({ actor, params }) => toFolderView(await ownOf(stores.folders, actor, params.id)),
    }),
    defineRoute({
      ...byId,
      method: 'patch',
      operation: 'updateFolder',
      summary: 'Change a folder; grants that were made from it stay as they are',
      whenLocked: 'denied',
      audit: ['FOLDER_UPDATED'],
      body: folderChangesSchema,
      response: folder,
      handle: async ({ body, transaction, params }) =>
        toFolderView(await transaction((inside) => updateFolder(inside, params.id, body, clock))),
    }),
    defineRoute({
      ...byId,
      method: 'delete',
      operation: 'deleteFolder',
      summary: 'Delete a folder; its tokens and the grants that were made from it stay',
      whenLocked: 'denied',
      audit: ['FOLDER_DELETED'],
      response: { status: 204 },
      handle: ({ transaction, params }) => transaction((inside) => deleteFolder(inside, params.id)),
    }),
  ];
}
