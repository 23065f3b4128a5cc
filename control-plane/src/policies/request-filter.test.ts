import { readFileSync } from 'node:fs';
import { utf8 } from '@svault/shared';
import { type RequestRule, ambiguityText } from '@svault/shared/request-rules';
import { VECTORS } from '@svault/shared/vectors';
import { expect, it } from 'vitest';
import { createPolicyEvaluator } from './evaluate.ts';
import { rulesSchema } from './rules.ts';

interface Vector {
  readonly name: string;
  readonly rules: readonly RequestRule[];
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly target: string;
    readonly headers: ReadonlyArray<readonly [string, string]>;
    readonly body?: string;
    readonly bodyBase64?: string;
  };
  readonly allowed: boolean;
  readonly reason?: 'rule' | Parameters<typeof ambiguityText>[0];
}
const { vectors } = JSON.parse(readFileSync(new URL('request-rules.json', VECTORS), 'utf8')) as {
  readonly vectors: readonly Vector[];
};

// What the webhook denies for rules that are sealed with a credential is denied here for the same rules of a policy.

const evaluator = createPolicyEvaluator(() => undefined);

it.each(vectors.map((vector) => [vector.name, vector] as const))(
  'in a policy as at the webhook: %s',
  (_name, { rules: requests, request, allowed, reason }) => {
    const rules = rulesSchema.parse([{ type: 'request_filter', requests }]);
    const { url, method, target, headers: fields, body = '', bodyBase64 } = request;
    const decision = evaluator.evaluate({
      policies: JSON.stringify([
        {
          target: 'proxy',
          id: 'pol_1',
          name: 'filter',
          rules: rules.map((rule) => ({ id: 'rul_1', ...rule })),
        },
      ]),
      usage: null,
      caller: { type: 'proxy', id: 'prx_1' },
      serviceName: 'github',
      sourceAddress: undefined,
      nowMs: 0,
      upstreamRequest: () => ({
        origin: new URL(url),
        ...{ method, target, fields },
        body: bodyBase64 === undefined ? utf8(body) : Buffer.from(bodyBase64, 'base64'),
      }),
    });
    expect(decision).toMatchObject({ allowed, request: { method } });
    if (decision.allowed || reason === undefined) return;
    expect(decision.request?.cause).toBe(reason);
    if (reason !== 'rule') expect(decision.reason).toBe(ambiguityText(reason));
  },
);
