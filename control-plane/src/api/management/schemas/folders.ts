import { z } from 'zod';
import { type Folder, MAX_FOLDER_TOKENS } from '../../../core/folder.ts';
import { lineSchema, serviceNameSchema, timeSchema, uniqueList } from './fields.ts';

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

export const newFolderSchema = z
  .strictObject({ name: nameSchema, serviceNames: serviceNamesSchema.optional() })
  .meta({ id: 'NewFolder', description: 'A group of tokens of the account.' });

export const folderChangesSchema = z
  .strictObject({
    name: nameSchema.optional(),
    serviceNames: serviceNamesSchema.optional().meta({ description: "Takes the former list's place" }),
  })
  .meta({ id: 'FolderChanges' });

export function toFolderView({ vaultId: _own, ...folder }: Folder): z.output<typeof folderSchema> {
  return { ...folder, serviceNames: [...folder.serviceNames] };
}
