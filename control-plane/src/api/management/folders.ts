import * as z from 'zod';
import { ownOf } from '../../core/change.ts';
import { type Folder, MAX_FOLDER_TOKENS } from '../../core/folder.ts';
import { createFolder, deleteFolder, updateFolder } from '../../management/folders.ts';
import type { Needs } from './dependencies.ts';
import {
  idParams,
  lineSchema,
  namedPageQuery,
  namedPageRequest,
  pageSchema,
  serviceNameSchema,
  timeSchema,
  uniqueList,
  viewOfPage,
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

const serviceNamesSchema = uniqueList(serviceNameSchema, MAX_FOLDER_TOKENS);

const newFolderSchema = z
  .strictObject({ name: lineSchema(100), serviceNames: serviceNamesSchema.optional() })
  .meta({ id: 'NewFolder', description: 'A group of tokens of the account.' });

const folderChangesSchema = newFolderSchema
  .partial()
  .extend({
    serviceNames: serviceNamesSchema.optional().meta({ description: "Takes the former list's place" }),
  })
  .meta({ id: 'FolderChanges' });

export const toFolderView = (folder: Folder): z.output<typeof folderSchema> => ({
  ...folder,
  serviceNames: [...folder.serviceNames],
});

/** Groups of tokens, from which grants are made. */
export function createFolderRoutes({ clock, stores }: Needs<'clock', 'folders'>): ManagementRoute[] {
  const shared = { tag: 'Folders', role: 'member' } as const;
  const byId = { ...shared, params: idParams('fld') } as const;
  const folder = { status: 200, schema: folderSchema } as const;
  return [
    defineRoute('POST /api/folders', {
      ...shared,
      operation: 'createFolder',
      summary: 'Make a folder of tokens',
      body: newFolderSchema,
      response: { status: 201, schema: folderSchema },
      errors: ['CONFLICT'],
      change: async (inside, { body }) => toFolderView(await createFolder(inside, body, clock)),
    }),
    defineRoute('GET /api/folders', {
      ...shared,
      operation: 'listFolders',
      summary: 'List folders, oldest first',
      query: z.strictObject(namedPageQuery),
      response: { status: 200, schema: pageSchema(folderSchema) },
      handle: ({ actor, query }) =>
        viewOfPage(stores.folders.list(actor.vaultId, namedPageRequest(query)), toFolderView),
    }),
    defineRoute('GET /api/folders/{id}', {
      ...byId,
      operation: 'getFolder',
      summary: 'Read a folder',
      response: folder,
      handle: async ({ actor, params }) => toFolderView(await ownOf(stores.folders, actor, params.id)),
    }),
    defineRoute('PATCH /api/folders/{id}', {
      ...byId,
      operation: 'updateFolder',
      summary: 'Change a folder; grants that were made from it stay as they are',
      body: folderChangesSchema,
      response: folder,
      change: async (inside, { body, params }) =>
        toFolderView(await updateFolder(inside, params.id, body, clock)),
    }),
    defineRoute('DELETE /api/folders/{id}', {
      ...byId,
      operation: 'deleteFolder',
      summary: 'Delete a folder; its tokens and the grants that were made from it stay',
      change: (inside, { params }) => deleteFolder(inside, params.id),
    }),
  ];
}
