import { z } from 'zod';
import type { Clock } from '@svault/shared';
import { createFolder, deleteFolder, folderOf, updateFolder } from '../../management/folders.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { Stores } from '../../core/stores.ts';
import { folderChangesSchema, folderSchema, newFolderSchema, toFolderView } from './schemas/folders.ts';
import { idParams } from './schemas/fields.ts';
import { pageQuery, pageRequest, pageSchema } from './schemas/pages.ts';

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
      whenLocked: 'refused',
      audit: ['FOLDER_CREATED'],
      body: newFolderSchema,
      answer: { status: 201, schema: folderSchema },
      refusals: ['CONFLICT'],
      handle: async ({ actor, body, transaction }) =>
        toFolderView(await transaction((inside) => createFolder(inside, actor, body, clock))),
    }),
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/folders',
      operation: 'listFolders',
      summary: 'List folders, oldest first',
      whenLocked: 'answers',
      audit: [],
      query: z.strictObject(pageQuery),
      answer: { status: 200, schema: pageSchema(folderSchema) },
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
      whenLocked: 'answers',
      audit: [],
      answer: folder,
      handle: async ({ actor, params }) => toFolderView(await folderOf(stores, actor, params.id)),
    }),
    defineRoute({
      ...byId,
      method: 'patch',
      operation: 'updateFolder',
      summary: 'Change a folder; grants that were made from it stay as they are',
      whenLocked: 'refused',
      audit: ['FOLDER_UPDATED'],
      body: folderChangesSchema,
      answer: folder,
      handle: async ({ actor, body, transaction, params }) =>
        toFolderView(await transaction((inside) => updateFolder(inside, actor, params.id, body, clock))),
    }),
    defineRoute({
      ...byId,
      method: 'delete',
      operation: 'deleteFolder',
      summary: 'Delete a folder; its tokens and the grants that were made from it stay',
      whenLocked: 'refused',
      audit: ['FOLDER_DELETED'],
      answer: { status: 204 },
      handle: ({ actor, transaction, params }) =>
        transaction((inside) => deleteFolder(inside, actor, params.id)),
    }),
  ];
}
