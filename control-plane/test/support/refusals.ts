import { expect } from 'vitest';
import type { Answer } from './management-service.ts';

const PLAIN = ['code', 'error'];
const LATER = [...PLAIN, 'retryAfter'];
const POLICY = [...PLAIN, 'policy', 'reason', 'rule'];

/** Every plain refusal of the agents' endpoints, with the exact members of its body. */
const REST_REFUSALS = {
  '401 MISSING_KEY': PLAIN,
  '403 INVALID_KEY': PLAIN,
  '403 AGENT_INACTIVE': PLAIN,
  '403 APPROVAL_REQUIRED': LATER,
  '403 POLICY_DENIED': POLICY,
  '429 POLICY_DENIED': [...POLICY, 'retryAfter'],
  '403 GRANT_EXPIRED': PLAIN,
  '400 INVALID_SERVICE': PLAIN,
  '404 NO_GRANT': PLAIN,
  '429 RATE_LIMITED': LATER,
  '423 VAULT_LOCKED': PLAIN,
  '502 WEBHOOK_NOT_CONFIGURED': PLAIN,
  /** Of the credential endpoint, and of the proxy endpoint (DIVERGENCES.md). */
  '503 WEBHOOK_UNAVAILABLE': LATER,
  '502 WEBHOOK_UNAVAILABLE': LATER,
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type RestRefusal = keyof typeof REST_REFUSALS;

/** What an answer says, in the words of {@link REST_REFUSALS}. */
export const gist = ({ status, json }: Answer): string =>
  status === 307 ? '307' : `${status} ${(json?.code as string) ?? ''}`.trim();

/** Status, code, the exact members and their types, and the headers that belong to a refusal. */
export function expectRefusal(answer: Answer, refusal: RestRefusal): void {
  expect(gist(answer)).toBe(refusal);
  const body = answer.json as Record<string, unknown>;
  const { approval, ...others } = body;
  const isHeld = body['rule'] === 'manual_approval' || body['code'] === 'APPROVAL_REQUIRED';
  expect(approval !== undefined).toBe(isHeld);
  expect(Object.keys(others).sort()).toEqual([...REST_REFUSALS[refusal]].sort());
  const { retryAfter, ...texts } = others;
  for (const text of Object.values(texts)) expect(text).toMatch(/\w/);
  expectRetryHint(
    answer,
    REST_REFUSALS[refusal].some((member) => member === 'retryAfter') ? retryAfter : undefined,
  );
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('location')).toBeNull();
}

/** The header and the body's member say the same whole seconds, or neither is there. */
function expectRetryHint({ headers }: Answer, retryAfter: unknown): void {
  expect(headers.get('retry-after')).toBe(retryAfter === undefined ? null : JSON.stringify(retryAfter));
  if (retryAfter === undefined) return;
  expect(Number.isInteger(retryAfter)).toBe(true);
  expect(retryAfter).toBeGreaterThanOrEqual(1);
}
