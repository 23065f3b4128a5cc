import * as z from 'zod';
import { MAX_REASON_CHARACTERS, toldOf } from '../../../core/approval.ts';
import { isReason } from '../../http/waiting.ts';
import {
  approvalSchema,
  defineTool,
  grantedService,
  ONE_SERVICE,
  serviceOf,
  type Tool,
  toolResult,
} from '../tool.ts';

const resultSchema = z.strictObject({
  serviceName: z.string(),
  granted: z.boolean().describe('Whether the agent has the grant already.'),
  approval: approvalSchema.optional(),
});

/** Asks the owner for a grant; listed only in accounts that let agents ask. */
export const requestAccess: Tool = defineTool({
  name: 'request_access',
  title: 'Ask for a grant',
  description:
    'Asks the owner of this account to grant the agent the credential of one service. A person decides; the answer has the ' +
    'address at which they do. Until then get_credential is denied.',
  input: ONE_SERVICE.extend({
    reason: z
      .string()
      .min(1)
      .max(MAX_REASON_CHARACTERS)
      .optional()
      .describe('Why it is needed, for the person who decides.'),
  }),
  output: resultSchema,
  outcome: 'access_requested',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  operation: (args) => ({ kind: 'access_request', serviceName: serviceOf(args) }),
  asking: ({ reason }) => ({ wait: 0, reason: isReason(reason) ? reason : undefined }),
  respond: ({ approval }, args) => {
    const serviceName = grantedService(args);
    const told = approval && toldOf(approval);
    return toolResult(
      told === undefined
        ? `This agent has a grant for ${serviceName} already.`
        : `The grant for ${serviceName} is ${told.status}. A person decides at ${told.url}`,
      { serviceName, granted: told === undefined, ...(told && { approval: told }) },
    );
  },
});
