import { expect } from 'vitest';
import type { Answer } from '../support/management-service.ts';

/** The specification's list of tool errors. */
export type ToolError =
  | 'NO_GRANT'
  | 'GRANT_EXPIRED'
  | 'POLICY_DENIED'
  | 'RATE_LIMITED'
  | 'VAULT_LOCKED'
  | 'WEBHOOK_NOT_CONFIGURED'
  | 'INVALID_ARGUMENT';

export interface ToolResult {
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into results of every tool
  readonly structured: any;
}

/** The result of a `tools/call`, whose members are exactly those of a result: a text, and the same for programs. */
export function expectResult(answer: Answer): ToolResult {
  const { content, structuredContent } = resultOf(answer, false);
  return { text: textOf(content), structured: structuredContent };
}

/**
 * A denial: HTTP 200, `isError`, the text in its form, and exactly the members that there are.
 *
 * @param retryAfter undefined: there is none
 */
export function expectToolError(answer: Answer, code: ToolError, retryAfter?: number): void {
  const { content, structuredContent } = resultOf(answer, true);
  const message: unknown = structuredContent['message'];
  expect(structuredContent).toEqual({
    code,
    message: expect.stringMatching(/\w/) as string,
    ...(retryAfter !== undefined && { retryAfter }),
  });
  expect(textOf(content)).toBe(`Error [${code}]: ${String(message)}`);
  expect(answer.headers.get('retry-after')).toBeNull();
}

interface Result {
  readonly content: readonly unknown[];
  readonly structuredContent: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

function resultOf(answer: Answer, isError: boolean): Result {
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  expectHeaders(answer);
  const { jsonrpc, id, result, ...rest } = answer.json as Record<string, unknown>;
  expect([jsonrpc, id, rest]).toEqual(['2.0', expect.anything(), {}]);
  // 2026-07-28 says of each result which kind it is, and who serves; revisions before it do not.
  const { resultType: _kind, _meta, ...said } = result as Record<string, unknown>;
  const members = ['content', 'structuredContent', ...(isError ? ['isError'] : [])];
  expect([answer.text, Object.keys(said).toSorted()]).toEqual([answer.text, members.toSorted()]);
  expect(said['isError'] ?? false).toBe(isError);
  return said as unknown as Result;
}

function textOf(content: readonly unknown[]): string {
  expect(content).toEqual([{ type: 'text', text: expect.any(String) as string }]);
  return (content[0] as { text: string }).text;
}

/** A limiter's denial: HTTP 429, `Retry-After`, and exactly the members of the JSON-RPC error. */
export function expectLimited(answer: Answer, retryAfter: number, id: string | number | null = 1): void {
  expect([answer.status, answer.json]).toEqual([
    429,
    {
      jsonrpc: '2.0',
      id,
      error: {
        code: -32_029,
        message: expect.stringMatching(/\w/) as string,
        data: { code: 'RATE_LIMITED', retryAfter },
      },
    },
  ]);
  expect(answer.headers.get('retry-after')).toBe(String(retryAfter));
  expectHeaders(answer);
}

/** Seconds to wait where the limiter refuses, undefined where it lets through. */
export function limitedFor(answer: Answer, id?: string | number | null): number | undefined {
  if (answer.status !== 429) return undefined;
  const retryAfter = answer.json.error.data.retryAfter as number;
  expectLimited(answer, retryAfter, id);
  return retryAfter;
}

/** A refusal before there is any protocol: `{ error, code }` and no more. */
export function expectHttpRefusal(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.json]).toEqual([
    status,
    { error: expect.stringMatching(/\w/) as string, code },
  ]);
  expectHeaders(answer);
}

function expectHeaders({ headers }: Answer): void {
  expect(headers.get('content-type')).toMatch(/^application\/json(; charset=utf-8)?$/);
  expect(headers.get('cache-control')).toBe('no-store');
}
