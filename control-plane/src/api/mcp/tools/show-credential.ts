import * as z from 'zod';
import { TOKEN_TYPES } from '@svault/shared/schemas';
import type { DescribeGrants } from '../describe-grants.ts';
import { defineTool, grantSchema, ONE_SERVICE, serviceOf, type Tool, toolResult } from '../tool.ts';

/** Specification, "show_credential": metadata only; unknown members are absent. */
const resultSchema = grantSchema.extend({
  displayName: z.string().optional(),
  tokenType: z.enum(TOKEN_TYPES).optional(),
  hasRefreshToken: z.boolean().optional(),
});

/** Shows of one grant what the list shows of all. */
export const showCredential = (describe: DescribeGrants): Tool =>
  defineTool({
    name: 'show_credential',
    title: 'Show what is known of a credential',
    description:
      'Shows metadata of one service: when access ends, the refresh policy, the type of its credential. It contains no secret.',
    input: ONE_SERVICE,
    output: resultSchema,
    outcome: 'grant',
    operation: (args) => ({ kind: 'grant', serviceName: serviceOf(args) }),
    respond: async (granted) => {
      const [described] = await describe(granted.caller.vaultId, [granted.grant]);
      const { serviceName, grantExpiresAt, refreshPolicy } = granted.grant;
      const { token, record } = described ?? {};
      const result: z.infer<typeof resultSchema> = {
        serviceName,
        grantExpiresAt,
        refreshPolicy,
        ...(token && { displayName: token.displayName }),
        ...(record && { tokenType: record.tokenType, hasRefreshToken: record.hasRefreshToken }),
      };
      const type = record === undefined ? '' : `, type ${record.tokenType}`;
      return toolResult(
        `${serviceName}: expires ${grantExpiresAt ?? 'Never'}, refresh policy ${refreshPolicy}${type}`,
        result,
      );
    },
  });
