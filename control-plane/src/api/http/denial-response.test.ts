import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Denial } from '../../access/decision.ts';
import { createDenialWriter } from './denial-response.ts';

/** Status, headers and body as they would go out. */
function answerTo(denial: Denial): { status: number; headers: Map<string, string>; body: unknown } {
  let status = 0;
  let flat: string[] = [];
  let text = '';
  const res = {
    req: {},
    writeHead(code: number, headers: string[]) {
      status = code;
      flat = headers;
      return this;
    },
    end: (body: string) => void (text = body),
  };
  createDenialWriter(['Cache-Control', 'no-store'])(res as unknown as ServerResponse, denial);
  const pairs = flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : []));
  return { status, headers: new Map(pairs), body: JSON.parse(text) };
}

describe('denials of limits and policies', () => {
  it('403 POLICY_DENIED names policy, rule and reason', () => {
    const answer = answerTo({
      code: 'POLICY_DENIED',
      policy: 'office',
      rule: 'ip_allowlist',
      reason: 'outside',
    });
    expect(answer.status).toBe(403);
    expect(answer.body).toEqual({
      error: expect.any(String),
      policy: 'office',
      rule: 'ip_allowlist',
      reason: 'outside',
      code: 'POLICY_DENIED',
      requestId: answer.headers.get('X-Request-Id'),
    });
    expect(answer.headers.has('Retry-After')).toBe(false);
  });

  it('429 POLICY_DENIED for a rate_limit rule adds retryAfter and the header', () => {
    const answer = answerTo({
      code: 'POLICY_DENIED',
      policy: 'slow',
      rule: 'rate_limit',
      reason: 'too often',
      retryAfterSeconds: 12,
    });
    expect(answer.status).toBe(429);
    expect(answer.body).toMatchObject({ code: 'POLICY_DENIED', retryAfter: 12 });
    expect(answer.headers.get('Retry-After')).toBe('12');
  });

  // spec: All rate-limit responses carry a retry hint: a Retry-After header plus retryAfter in the body on REST,
  it('429 RATE_LIMITED has error, code and retryAfter, and the header', () => {
    const answer = answerTo({ code: 'RATE_LIMITED', scope: 'agent_credentials', retryAfterSeconds: 3 });
    expect(answer.status).toBe(429);
    const requestId = answer.headers.get('X-Request-Id');
    const body = { error: expect.any(String), code: 'RATE_LIMITED', retryAfter: 3, requestId };
    expect(answer.body).toEqual(body);
    expect(answer.headers.get('Retry-After')).toBe('3');
  });

  it.each([
    ['MISSING_KEY', 'Send the agent key'],
    ['INVALID_KEY', 'Ask the owner of the agent'],
    ['AGENT_INACTIVE', 'svault agents resume AGENT'],
    ['INVALID_SERVICE', '1 to 128 characters'],
    ['VAULT_LOCKED', 'svault vault unlock'],
    ['NO_GRANT', 'svault grant AGENT SERVICE'],
    ['GRANT_EXPIRED', 'svault grant AGENT SERVICE'],
    ['WEBHOOK_NOT_CONFIGURED', 'svault webhook bind'],
  ] as const)('%s says what to do next', (code, next) => {
    const { headers, body } = answerTo({ code });
    const requestId = headers.get('X-Request-Id');
    expect(body).toEqual({ error: expect.stringContaining(next), code, requestId });
  });

  it('a denial has the static headers and the length of its body', () => {
    const { headers, body } = answerTo({ code: 'NO_GRANT' });
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(headers.get('Content-Length')).toBe(String(Buffer.byteLength(JSON.stringify(body))));
  });
});
