import * as z from 'zod';
import { OUTCOMES } from '@svault/shared/schemas';
import type {
  CredentialHistory,
  HistorySubject,
  readCredentialHistory,
} from '../../../audit/credential-history.ts';
import {
  defineTool,
  grantedService,
  serviceOf,
  serviceSchema,
  type Tool,
  toolError,
  toolResult,
} from '../tool.ts';

/** Specification, "credential_history". */
const argumentsSchema = z.strictObject({
  service: serviceSchema,
  limit: z.int().min(1).max(50).default(20).optional().describe('How many entries at most.'),
  cursor: z.string().optional().describe('The nextCursor of the previous call, for what is older.'),
});
/** Only the types are checked here; the rest is the feature's. */
const typesSchema = z.object({ limit: z.number().optional(), cursor: z.string().optional() });

const resultSchema = z.strictObject({
  history: z.array(
    z.strictObject({ eventType: z.string(), timestamp: z.string(), outcome: z.enum(OUTCOMES) }),
  ),
  nextCursor: z.string().optional().describe('Absent when nothing is left.'),
});

/** Reads one call’s part of the log. */
export type ReadHistory = (
  subject: HistorySubject,
  request: NonNullable<Parameters<typeof readCredentialHistory>[2]>,
) => Promise<CredentialHistory>;

const UNFIT = {
  limit: '`limit` must be an integer from 1 to 50.',
  cursor: '`cursor` must be the nextCursor of a previous call for the same service.',
} as const;

/** Shows an agent its own part of the log about a service. */
export const credentialHistory = (readHistory: ReadHistory): Tool =>
  defineTool({
    name: 'credential_history',
    title: 'History of a credential',
    description:
      'Shows what this agent did with the credential of one service, newest first. A call may return fewer entries than limit, ' +
      'even none, while more is left: call again with nextCursor as cursor until it is absent.',
    input: argumentsSchema,
    output: resultSchema,
    outcome: 'admitted',
    operation: (args) => ({ kind: 'history', serviceName: serviceOf(args) }),
    respond: async (granted, args) => {
      const serviceName = grantedService(args);
      const { data, error } = typesSchema.safeParse(args);
      if (data === undefined) return toolError('INVALID_ARGUMENT', UNFIT[argumentOf(error)]);
      const read = await readHistory({ ...granted.caller, serviceName }, data);
      if (!read.valid) return toolError('INVALID_ARGUMENT', UNFIT[read.argument]);
      const { history, nextCursor } = read;
      const result: z.infer<typeof resultSchema> = {
        history: [...history],
        ...(nextCursor !== undefined && { nextCursor }),
      };
      return toolResult(summary(serviceName, result), result);
    },
  });

const argumentOf = ({ issues }: z.ZodError): keyof typeof UNFIT =>
  issues[0]?.path[0] === 'limit' ? 'limit' : 'cursor';

function summary(serviceName: string, { history, nextCursor }: z.infer<typeof resultSchema>): string {
  const lines = history.map(({ timestamp, eventType, outcome }) => `- ${timestamp} ${eventType} ${outcome}`);
  const title =
    lines.length === 0
      ? `Nothing about ${serviceName} in this part of the log.`
      : `History of ${serviceName}:`;
  const more = nextCursor === undefined ? [] : [`More is left: call again with cursor ${nextCursor}`];
  return [title, ...lines, ...more].join('\n');
}
