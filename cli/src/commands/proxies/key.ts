import * as z from 'zod';
import type { ApiClient } from '../../api/api-client.ts';
import { pathOf } from '../../api/resource.ts';
import { PROXY } from '../../api/resources.ts';

export const proxyKeySchema = z.looseObject({ key: z.string().regex(/^mcp_[!-~]+$/) });

/** The key of an existing proxy; the log records that it was shown. */
export const keyOfProxy = (client: ApiClient, id: string): Promise<z.infer<typeof proxyKeySchema>> =>
  client.change({ method: 'POST', path: `${pathOf(PROXY, id)}/reveal-key`, schema: proxyKeySchema });
