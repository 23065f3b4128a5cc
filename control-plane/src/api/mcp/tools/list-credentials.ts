import * as z from 'zod';
import { TOKEN_TYPES } from '@svault/shared/schemas';
import type { DescribeGrants, DescribedGrant } from '../describe-grants.ts';
import { defineTool, grantSchema, NO_ARGUMENTS, oneLine, type Tool, toolResult } from '../tool.ts';

/** Specification, "Grant list entry enriched by MCP tools": unknown members are absent. */
const entrySchema = grantSchema.extend({
  description: z.string().optional(),
  displayName: z.string().optional(),
  tags: z.array(z.string()).optional(),
  tokenType: z.enum(TOKEN_TYPES).optional(),
  expiryTime: z.string().optional().describe('ISO 8601; when the stored credential itself expires.'),
  hasRefreshToken: z.boolean().optional(),
});
const resultSchema = z.strictObject({ grants: z.array(entrySchema) });

/** Lists what an agent may ask for. */
export const listCredentials = (describe: DescribeGrants): Tool =>
  defineTool({
    name: 'list_credentials',
    title: 'List credentials',
    description:
      'Lists the services whose credentials this agent may get, with what their owner says about them and when access ends. ' +
      'It contains no secret. Use a serviceName from here with get_credential.',
    input: NO_ARGUMENTS,
    output: resultSchema,
    outcome: 'grants',
    operation: () => ({ kind: 'grants' }),
    respond: async (granted) => {
      const grants = await describe(granted.caller.vaultId, granted.grants);
      const result: z.infer<typeof resultSchema> = { grants: grants.map(toEntry) };
      return toolResult(summary(grants), result);
    },
  });

function toEntry({ grant, token, record }: DescribedGrant): z.infer<typeof entrySchema> {
  const { serviceName, grantExpiresAt, refreshPolicy } = grant;
  return {
    serviceName,
    grantExpiresAt,
    refreshPolicy,
    ...(token && { description: token.description, displayName: token.displayName, tags: [...token.tags] }),
    ...(record && { tokenType: record.tokenType, hasRefreshToken: record.hasRefreshToken }),
    ...(record?.expiryTime !== undefined && { expiryTime: record.expiryTime }),
  };
}

/** Specification, "list_credentials": per service the expiry, or `Never`, and the refresh policy. */
function summary(grants: readonly DescribedGrant[]): string {
  if (grants.length === 0) return 'This agent has no active grants. The owner of the agent can make some.';
  const lines = grants.map(({ grant, token }) => {
    const about = token === undefined ? '' : oneLine(`${token.displayName}. ${token.description}`);
    const expiry = grant.grantExpiresAt ?? 'Never';
    return `- ${grant.serviceName}: expires ${expiry}, refresh policy ${grant.refreshPolicy}${about && ` (${about})`}`;
  });
  return [`Credentials that this agent may get: ${grants.length}`, ...lines].join('\n');
}
