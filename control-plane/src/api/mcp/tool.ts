import type { CallToolResult, Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { isServiceName } from '@svault/shared';
import { z } from 'zod';
import type { Decision, Operation } from '../../access/decision.ts';
import type { ErrorCode } from '../../core/errors.ts';

/** The arguments of a call as they came. */
export type Arguments = Readonly<Record<string, unknown>>;

/** A decision that lets the caller have something. */
export type Granted = Exclude<Decision, { readonly outcome: 'denied' }>;

/** A tool: its definition, the operation that a call needs authorised, and the result of a call. */
export interface Tool {
  readonly definition: ToolDefinition;
  operation(args: Arguments): Operation;
  respond(granted: Granted, args: Arguments): CallToolResult | Promise<CallToolResult>;
}

/** Specification, "MCP endpoint": the codes of tool errors. */
const TOOL_ERRORS = [
  'NO_GRANT',
  'GRANT_EXPIRED',
  'POLICY_DENIED',
  'RATE_LIMITED',
  'VAULT_LOCKED',
  'WEBHOOK_NOT_CONFIGURED',
  'INVALID_ARGUMENT',
] as const satisfies readonly ErrorCode[];
type ToolErrorCode = (typeof TOOL_ERRORS)[number];

const toolErrorSchema = z.strictObject({
  code: z.enum(TOOL_ERRORS),
  message: z.string(),
  retryAfter: z.int().min(1).optional().describe('Seconds after which the call may be tried again.'),
});

/** A denial as a result: HTTP 200, `isError`, and the code where programs find it. */
export function toolError(code: ToolErrorCode, message: string, retryAfter?: number): CallToolResult {
  const structuredContent: z.infer<typeof toolErrorSchema> = {
    code,
    message,
    ...(retryAfter !== undefined && { retryAfter }),
  };
  return {
    content: [{ type: 'text', text: `Error [${code}]: ${message}` }],
    structuredContent,
    isError: true,
  };
}

/** A tool's result: text for a model, and members for a program. */
export const toolResult = (text: string, structuredContent: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text }],
  structuredContent,
});

type ObjectSchema = ToolDefinition['inputSchema'];

/** JSON Schema 2020-12 of a tool's arguments. */
export const inputSchema = (schema: z.ZodObject): ObjectSchema =>
  z.toJSONSchema(schema, { io: 'input' }) as ObjectSchema;

/**
 * JSON Schema 2020-12 of a tool's output: its result, or a tool error. Clients of the SDK's first generation hold error
 * results against it too.
 */
export function outputSchema(schema: z.ZodObject): NonNullable<ToolDefinition['outputSchema']> {
  const { $schema: dialect, ...result } = z.toJSONSchema(schema);
  const { $schema: _same, ...error } = z.toJSONSchema(toolErrorSchema);
  return { ...(dialect !== undefined && { $schema: dialect }), type: 'object', anyOf: [result, error] };
}

export const NO_ARGUMENTS = inputSchema(z.strictObject({}));

/** For tools that only read. */
export const READ_ONLY = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** Text that others wrote, on one line. */
export const oneLine = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim();

/** The pipeline never gives a tool another outcome than the one it asked for. */
export const unexpectedOutcome = ({ outcome }: Granted): Error => new Error(`a tool was given: ${outcome}`);

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

/** @returns undefined where there is no legal name: INVALID_ARGUMENT, in its turn */
export function serviceOf({ service }: Arguments): string | undefined {
  return typeof service === 'string' && isServiceName(service) ? service : undefined;
}
