import { WEBHOOK_ERROR_STATUS, type WebhookErrorCode } from '@svault/shared';
import type { Answer } from '../http/client.ts';
import { jsonObject, text } from '../http/read-answer.ts';
import { CheckFailed } from './outcome.ts';

/**
 * @param expected what should have come, as the report prints it after "expected"
 * @throws CheckFailed
 */
export function expectThat(holds: boolean, answer: Answer, expected: string): asserts holds {
  if (!holds) throw new CheckFailed(answer, expected);
}

/** A success with a JSON object, which it returns. */
export function expectOk(answer: Answer, status = 200): Record<string, unknown> {
  const body = jsonObject(answer);
  expectThat(answer.status === status && body !== undefined, answer, `${status} with one JSON object`);
  return body;
}

/**
 * A refusal of the closed list: its status, and `{ error, code }` (protocol sections 2 and 9).
 * @param what which of several variants was tried, as the report prints it after "for"
 */
export function expectRefusal(answer: Answer, code: WebhookErrorCode, what?: string): void {
  const status = WEBHOOK_ERROR_STATUS[code];
  const body = jsonObject(answer);
  expectThat(
    answer.status === status && body?.['code'] === code && typeof body['error'] === 'string',
    answer,
    `${status} with { error, code: ${code} }${what === undefined ? '' : ` for ${what}`}`,
  );
}

/** Whether two answers look the same from outside: status and body. A request id may differ only in the headers. */
export function sameOutside(one: Answer, other: Answer): boolean {
  return one.status === other.status && text(one) === text(other);
}
