import { describe, expect, it } from 'vitest';
import { utf8 } from '@svault/shared';
import {
  type HttpRequest,
  REQUEST_DENIALS,
  compileRequestRules,
  requestRulesSchema,
} from '@svault/shared/request-rules';
import { type RequestRulesVector, requestRulesVectors } from './vector-files.ts';

const requestOf = ({ request }: RequestRulesVector): HttpRequest => ({
  origin: new URL(request.url),
  method: request.method,
  target: request.target,
  fields: request.headers,
  body:
    request.bodyBase64 === undefined ? utf8(request.body ?? '') : Buffer.from(request.bodyBase64, 'base64'),
});

describe('vectors of request rules', () => {
  it.each(requestRulesVectors.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
    const verdict = compileRequestRules(requestRulesSchema.parse(vector.rules)).decide(requestOf(vector));
    expect({ allowed: verdict.allowed, reason: verdict.allowed ? undefined : verdict.reason }).toEqual({
      allowed: vector.allowed,
      reason: vector.reason,
    });
  });

  it('have a name of their own each, and an example of each reason to deny', () => {
    expect(new Set(requestRulesVectors.map(({ name }) => name)).size).toBe(requestRulesVectors.length);
    expect(
      new Set(requestRulesVectors.flatMap(({ reason }) => (reason === undefined ? [] : [reason]))),
    ).toEqual(new Set(REQUEST_DENIALS));
  });

  it('have at least 300 requests with two readings and 80 ordinary ones', () => {
    const ordinary = requestRulesVectors.filter(({ allowed, reason }) => allowed || reason === 'rule');
    expect(requestRulesVectors.length - ordinary.length).toBeGreaterThanOrEqual(300);
    expect(ordinary.length).toBeGreaterThanOrEqual(80);
  });
});
