import { z } from 'zod';
import { headerTemplatesSchema, outgoingUrlSchema } from './destinations.ts';
import { idSchema, serviceNameSchema, versionSchema } from './members.ts';

export const proxyConfigMembers = {
  proxyId: idSchema,
  serviceName: serviceNameSchema,
  upstreamUrl: outgoingUrlSchema,
  headerTemplates: headerTemplatesSchema,
};

/** PROTOCOL.md section 5.3: a proxy's configuration as the webhook keeps it. */
export const proxyConfigSchema = z.object({ ...proxyConfigMembers, version: versionSchema });
export type ProxyConfig = z.infer<typeof proxyConfigSchema>;
