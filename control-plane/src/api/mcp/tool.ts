import type { CallToolResult, Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { isServiceName } from '@svault/shared';
import * as z from 'zod';
import type { Decision, Operation } from '../../access/decision.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { Asking } from '../http/waiting.ts';

/** The arguments of a call as they came. */
export type Arguments = Readonly<Record<string, unknown>>;

/** A decision that lets the caller have something. */
export type Granted = Exclude<Decision, { readonly outcome: 'denied' }>;

/** A tool: its definition, the operation that a call needs authorised, and the result of a call. */
export interface Tool {
  readonly definition: ToolDefinition;
  operation(args: Arguments): Operation;
  /** Why it asks, and how long it waits for an approval; a tool whose calls need none has no such arguments. */
  asking?(args: Arguments): Asking;
  respond(granted: Granted, args: Arguments): CallToolResult | Promise<CallToolResult>;
}

/** Specification, "MCP endpoint": the codes of tool errors, and those of credentials that need an approval (DIVERGENCES.md). */
const TOOL_ERRORS = [
  'APPROVAL_REQUIRED',
  'NO_GRANT',
  'GRANT_EXPIRED',
  'POLICY_DENIED',
  'RATE_LIMITED',
  'VAULT_LOCKED',
  'WEBHOOK_NOT_CONFIGURED',
  'WEBHOOK_UNAVAILABLE',
  'INVALID_ARGUMENT',
] as const satisfies readonly ErrorCode[];
type ToolErrorCode = (typeof TOOL_ERRORS)[number];

/** Where a decision is made or was. */
export const approvalSchema = z.strictObject({
  id: z.string(),
  status: z.enum(['pending', 'denied']),
  url: z.string().describe('The page on which a person decides.'),
  expiresAt: z.string().describe('ISO 8601.'),
});

const toolErrorSchema = z.strictObject({
  code: z.enum(TOOL_ERRORS),
  message: z.string(),
  approval: approvalSchema
    .optional()
    .describe('The decision that the call needs; once it is approved, call again.'),
  retryAfter: z.int().min(1).optional().describe('Seconds after which the call may be tried again.'),
  requestId: z.string().optional().describe('The id under which the logs have the call.'),
});

/** A denial as a result: HTTP 200, `isError`, and the code where programs find it. */
export function toolError(
  code: ToolErrorCode,
  message: string,
  { retryAfter, approval }: Pick<z.infer<typeof toolErrorSchema>, 'retryAfter' | 'approval'> = {},
): CallToolResult {
  const structuredContent: z.infer<typeof toolErrorSchema> = {
    code,
    message,
    ...(approval !== undefined && { approval }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
  return {
    content: [{ type: 'text', text: `Error [${code}]: ${message}` }],
    structuredContent,
    isError: true,
  };
}

/** A tool error with the id of its request; every other result unchanged. */
export const withRequestId = (result: CallToolResult, requestId: string): CallToolResult =>
  result.isError === true
    ? { ...result, structuredContent: { ...(result.structuredContent as object), requestId } }
    : result;

/** A tool's result: text for a model, and members for a program. */
export const toolResult = (text: string, structuredContent: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text }],
  structuredContent,
});

type ObjectSchema = ToolDefinition['inputSchema'];

/**
 * JSON Schema 2020-12 of a tool's output: its result, or a tool error. Clients of the SDK's first generation hold error
 * results against it too.
 */
function outputSchema(schema: z.ZodObject): NonNullable<ToolDefinition['outputSchema']> {
  const { $schema: dialect, ...result } = z.toJSONSchema(schema);
  const { $schema: _same, ...error } = z.toJSONSchema(toolErrorSchema);
  return { ...(dialect !== undefined && { $schema: dialect }), type: 'object', anyOf: [result, error] };
}

/** For tools that only read. */
const READ_ONLY = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** Declares a tool that only reads unless its hints say otherwise; `outcome` is that of the operation that it asks for. */
export function defineTool<Outcome extends Granted['outcome']>({
  input,
  output,
  outcome,
  operation,
  asking,
  respond,
  ...definition
}: Pick<ToolDefinition, 'name' | 'title' | 'description' | 'annotations'> & {
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  readonly outcome: Outcome;
  operation(args: Arguments): Operation;
  asking?(args: Arguments): Asking;
  respond(
    granted: Extract<Granted, { readonly outcome: Outcome }>,
    args: Arguments,
  ): CallToolResult | Promise<CallToolResult>;
}): Tool {
  return {
    definition: {
      annotations: READ_ONLY,
      ...definition,
      inputSchema: z.toJSONSchema(input, { io: 'input' }) as ObjectSchema,
      outputSchema: outputSchema(output),
    },
    operation,
    ...(asking && { asking }),
    respond: (granted, args) => {
      // The pipeline never gives a tool another outcome than the one it asked for.
      if (granted.outcome !== outcome) throw new Error(`a tool was given: ${granted.outcome}`);
      return respond(granted as Extract<Granted, { readonly outcome: Outcome }>, args);
    },
  };
}

export const NO_ARGUMENTS = z.strictObject({});

/** Text that others wrote, on one line. */
export const oneLine = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim();

/** The members that every tool shows of a grant (specification, "Grant"). */
export const grantSchema = z.strictObject({
  serviceName: z.string(),
  grantExpiresAt: z.string().nullable().describe('ISO 8601; null: until revoked.'),
  refreshPolicy: z.string(),
});

/** For clients. {@link serviceOf} checks a name as the REST endpoint does. */
export const serviceSchema = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^/]+$/)
  .describe('Service name of the credential, as list_credentials gives it. It contains no "/".');

/** For tools whose one argument is the service. */
export const ONE_SERVICE = z.strictObject({ service: serviceSchema });

/** @returns undefined where there is no legal name: INVALID_ARGUMENT, in its turn */
export function serviceOf({ service }: Arguments): string | undefined {
  return typeof service === 'string' && isServiceName(service) ? service : undefined;
}

/** @returns the service of a call that was granted, which one without a legal name never is */
export function grantedService(args: Arguments): string {
  const service = serviceOf(args);
  if (service === undefined) throw new Error('a call without a service was granted');
  return service;
}
