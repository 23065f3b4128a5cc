import { utf8 } from '@svault/shared';
import type { HttpRequest } from '@svault/shared/request-rules';
import { describe, expect, it, vi } from 'vitest';
import { type PolicyDecision, createPolicyEvaluator, unapproved } from './evaluate.ts';
import type { PolicyInput, RuleSettings } from '../core/policy.ts';
import { RULES } from './rules.ts';

const evaluator = createPolicyEvaluator((address) => (address.kind() === 'ipv4' ? 'NL' : undefined));

interface Attached {
  readonly target?: 'agent' | 'proxy' | 'token';
  readonly id?: string;
  readonly name?: string;
  readonly rules: readonly (RuleSettings & { readonly id?: string })[];
}

const FRIDAY_NOON = Date.parse('2026-11-20T12:00:00Z');

/** An input with policies as the store reads them; their default ids are their indexes. */
function inputOf(attached: readonly Attached[], more: Partial<PolicyInput> = {}): PolicyInput {
  const policies = attached.map(({ target = 'agent', id, name, rules }, at) => ({
    target,
    id: id ?? `pol_${at}`,
    name: name ?? `policy ${at}`,
    rules: rules.map((rule, place) => ({ id: `rul_${at}_${place}`, ...rule })),
  }));
  return {
    policies: policies.length === 0 ? null : JSON.stringify(policies),
    usage: null,
    caller: { type: 'agent', id: 'agt_1' },
    serviceName: 'github',
    sourceAddress: '193.0.6.139',
    nowMs: FRIDAY_NOON,
    upstreamRequest: undefined,
    ...more,
  };
}
const ask = (...parameters: Parameters<typeof inputOf>): PolicyDecision =>
  evaluator.evaluate(inputOf(...parameters));
const named = (verdict: PolicyDecision): unknown =>
  verdict.allowed ? 'allowed' : [verdict.policy, verdict.rule];

const OPEN: RuleSettings = {
  type: 'time_window',
  timezone: 'UTC',
  windows: [{ days: [5], start: '09:00', end: '17:00' }],
};
const CLOSED: RuleSettings = { ...OPEN, windows: [{ days: [1], start: '09:00', end: '17:00' }] };
const HERE: RuleSettings = { type: 'ip_allowlist', cidrs: ['193.0.6.0/24'] };
const ELSEWHERE: RuleSettings = { type: 'ip_allowlist', cidrs: ['10.0.0.0/8'] };
const DUTCH: RuleSettings = { type: 'geo_restrict', mode: 'allow', countries: ['NL'] };
const NOT_DUTCH: RuleSettings = { type: 'geo_restrict', mode: 'deny', countries: ['NL'] };
const APPROVAL: RuleSettings = { type: 'manual_approval' };
const RATE: RuleSettings = { type: 'rate_limit', limit: 5, windowSeconds: 60 };
const USES: RuleSettings = { type: 'max_usage', limit: 3 };

it('a caller without policies is allowed', () => {
  expect(ask([])).toEqual({ allowed: true, rates: [], uses: [] });
});

it.each([
  ['time_window', OPEN, CLOSED],
  ['ip_allowlist', HERE, ELSEWHERE],
  ['geo_restrict', DUTCH, NOT_DUTCH],
] as const)(
  '%s allows and denies, with a reason that does not tell its settings',
  (rule, allowing, denying) => {
    expect(ask([{ rules: [allowing] }])).toEqual({ allowed: true, rates: [], uses: [] });
    expect(ask([{ name: 'office', rules: [denying] }])).toEqual({
      allowed: false,
      policy: 'office',
      rule,
      reason: RULES[rule].reason,
    });
  },
);

describe('manual_approval', () => {
  it('hands on that an approval is needed, with the denial of a request that has none', () => {
    const decision = ask([{ name: 'ask me', rules: [APPROVAL] }]);
    const denial = { policy: 'ask me', rule: 'manual_approval', reason: RULES.manual_approval.reason };
    expect(decision).toEqual({
      ...{ allowed: true, rates: [], uses: [] },
      approval: { uses: 1, validSeconds: 3_600, denial },
    });
    expect(unapproved(decision)).toEqual({ allowed: false, ...denial });
    expect(unapproved(ask([{ rules: [OPEN] }])).allowed).toBe(true);
  });

  it('of several rules counts with the strictest settings', () => {
    const decision = ask([
      { rules: [{ ...APPROVAL, uses: 5, expiresInSeconds: 300 }] },
      { target: 'token', rules: [{ ...APPROVAL, uses: 2 }] },
    ]);
    expect(decision).toMatchObject({ approval: { uses: 2, validSeconds: 300 } });
  });

  it('asks for nothing where another rule denies', () => {
    expect(named(ask([{ rules: [APPROVAL, CLOSED] }]))).toEqual(['policy 0', 'time_window']);
  });
});

it('an unknown address is in no network and in no country', () => {
  for (const sourceAddress of [undefined, 'unknown', 'fe80::1%eth0']) {
    expect(named(ask([{ rules: [HERE] }], { sourceAddress }))).toEqual(['policy 0', 'ip_allowlist']);
    expect(named(ask([{ rules: [DUTCH] }], { sourceAddress }))).toEqual(['policy 0', 'geo_restrict']);
    expect(named(ask([{ rules: [NOT_DUTCH] }], { sourceAddress }))).toBe('allowed');
  }
});

it('an IPv4-mapped address is the IPv4 address', () => {
  const sourceAddress = '::ffff:193.0.6.139';
  expect(named(ask([{ rules: [HERE, DUTCH] }], { sourceAddress }))).toBe('allowed');
});

describe('a rule that counts', () => {
  it('hands on a rate with a counter for rule and target, and with its denial', () => {
    const verdict = ask([
      { name: 'slow', rules: [RATE] },
      { target: 'token', name: 'shared', rules: [{ ...RATE, limit: 9, windowSeconds: 3_600 }] },
    ]);
    expect(verdict).toMatchObject({
      rates: [
        {
          counter: { scope: 'rate_limit', key: 'rul_0_0 agent agt_1', limit: 5, windowMs: 60_000 },
          denial: { policy: 'slow', rule: 'rate_limit', reason: RULES.rate_limit.reason },
        },
        {
          counter: { scope: 'rate_limit', key: 'rul_1_0 token github', limit: 9, windowMs: 3_600_000 },
          denial: { policy: 'shared' },
        },
      ],
    });
  });

  it('hands on a lifetime use while the count of its target has room', () => {
    const both: readonly Attached[] = [
      { id: 'pol_x', rules: [{ ...USES, id: 'rul_x' }] },
      { target: 'token', id: 'pol_x', rules: [{ ...USES, id: 'rul_x' }] },
    ];
    expect(ask(both, { usage: '{"agent rul_x":2,"token rul_x":2,"token rul_old":9}' })).toMatchObject({
      uses: [
        { ruleId: 'rul_x', targetType: 'agent', targetId: 'agt_1', limit: 3 },
        { ruleId: 'rul_x', targetType: 'token', targetId: 'github', limit: 3 },
      ],
    });
    expect(named(ask(both, { usage: '{"token rul_x":3}' }))).toEqual(['policy 1', 'max_usage']);
    expect(named(ask(both, { usage: '{"agent rul_x":4}' }))).toEqual(['policy 0', 'max_usage']);
  });

  it('counts for a proxy by the proxy id', () => {
    const verdict = ask([{ target: 'proxy', rules: [RATE, USES] }], {
      caller: { type: 'proxy', id: 'prx_1' },
    });
    expect(verdict).toMatchObject({
      rates: [{ counter: { key: 'rul_0_0 proxy prx_1' } }],
      uses: [{ targetType: 'proxy', targetId: 'prx_1' }],
    });
  });

  it('counts nothing where another rule denies', () => {
    for (const denying of [CLOSED, ELSEWHERE])
      expect(ask([{ rules: [RATE, USES, denying] }])).not.toHaveProperty('rates');
  });
});

describe('a request_filter', () => {
  const proxy = { type: 'proxy', id: 'prx_1' } as const;
  const asked = (request: Partial<HttpRequest>): Partial<PolicyInput> => ({
    caller: proxy,
    upstreamRequest: () => ({
      origin: new URL('https://api.example'),
      method: 'GET',
      target: '/repos/acme/site?q=needle',
      fields: [['content-type', 'application/json']],
      body: new Uint8Array(),
      ...request,
    }),
  });
  const READS: RuleSettings = {
    type: 'request_filter',
    requests: [
      { methods: ['GET'], paths: ['/repos/acme/**'] },
      { tools: ['get_*'], paths: ['/mcp'], arguments: { '/repo': ['site'] } },
    ],
  };
  const SITE: RuleSettings = {
    type: 'request_filter',
    requests: [{ methods: ['GET'], paths: ['/repos/acme/site'] }],
  };
  const call = (name: string, repo = 'needle'): Partial<HttpRequest> => ({
    method: 'POST',
    target: '/mcp',
    body: utf8(
      JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: { name, arguments: { repo } },
      }),
    ),
  });

  it('allows what one of its rules matches, and says for the log by which pattern and with which tool', () => {
    const request = { method: 'GET', path: '/repos/acme/**' };
    expect(ask([{ rules: [READS, SITE] }], asked({}))).toMatchObject({ allowed: true, request });
    expect(ask([{ rules: [READS] }], asked(call('get_issue', 'site')))).toMatchObject({
      allowed: true,
      request: { method: 'POST', path: '/mcp', tool: 'get_issue' },
    });
  });

  it.each<readonly [string, Partial<HttpRequest>, object, RegExp]>([
    ['path', { target: '/user?q=needle' }, { cause: 'rule' }, /this method and path/],
    ['method', { method: 'DELETE' }, { cause: 'rule' }, /this method and path/],
    ['argument', call('get_issue'), { cause: 'rule', tool: 'get_issue' }, /these arguments/],
    ['tool', call('delete_issue', 'site'), { cause: 'rule', tool: 'delete_issue' }, /this tool/],
    ['second reading', { target: '/repos//acme' }, { cause: 'path_empty_segment' }, /two readings/],
  ])('denies by a %s with a reason that has no value of the request', (_part, request, said, reason) => {
    const decision = ask([{ name: 'reads', rules: [READS] }], asked(request));
    expect(decision).toMatchObject({
      ...{ allowed: false, policy: 'reads', rule: 'request_filter' },
      reason: expect.stringMatching(reason),
      request: said,
    });
    expect(JSON.stringify(decision)).not.toContain('needle');
  });

  it('of several each has to allow', () => {
    const target = '/repos/acme/docs';
    expect(ask([{ rules: [READS] }], asked({ target })).allowed).toBe(true);
    const policies = [{ rules: [READS] }, { name: 'site', target: 'token', rules: [SITE] }] as const;
    expect(named(ask(policies, asked({ target })))).toEqual(['site', 'request_filter']);
  });

  it('denies each credential that an agent gets itself, and says that proxies may use it', () => {
    expect(ask([{ target: 'token', rules: [READS] }])).toMatchObject({
      allowed: false,
      reason: expect.stringContaining('through proxies only'),
    });
  });

  it('denies a request that is not known, and an explanation says that it is not', () => {
    const input = inputOf([{ rules: [READS, OPEN] }], { caller: proxy });
    expect(evaluator.evaluate(input)).toMatchObject({ allowed: false, rule: 'request_filter' });
    expect(evaluator.explain(input).rules.map(({ rule, allowed }) => [rule, allowed])).toEqual([
      ['time_window', true],
      ['request_filter', undefined],
    ]);
  });

  it('is asked after all conditions and before lifetime uses, and reads a request once', () => {
    const upstreamRequest = vi.fn(asked(call('get_issue', 'site')).upstreamRequest);
    const input = { caller: proxy, upstreamRequest, usage: '{"agent rul_0_1":3}' };
    expect(
      named(
        ask(
          [
            { name: 'a', rules: [READS] },
            { name: 'b', rules: [CLOSED] },
          ],
          input,
        ),
      ),
    ).toEqual(['b', 'time_window']);
    expect(upstreamRequest).not.toHaveBeenCalled();
    expect(named(ask([{ rules: [READS, USES] }, { rules: [READS] }], input))).toEqual([
      'policy 0',
      'max_usage',
    ]);
    expect(upstreamRequest).toHaveBeenCalledTimes(1);
  });

  it('is known to be among policies before they are evaluated', () => {
    const among = (...rules: RuleSettings[]) => evaluator.filters(inputOf([{ rules }]).policies);
    expect([among(OPEN), among(OPEN, READS), evaluator.filters(null)]).toEqual([false, true, false]);
  });
});

describe('of several denials', () => {
  it("that of the agent's policies is named before that of the token's, whatever their names", () => {
    const rules = [CLOSED];
    expect(
      named(
        ask([
          { target: 'token', name: 'a', rules },
          { target: 'agent', name: 'b', rules },
        ]),
      ),
    ).toEqual(['b', 'time_window']);
  });

  it('the first by policy name, then by id, then by the order of the rules is named', () => {
    const policies: Attached[] = [
      { name: 'b', rules: [ELSEWHERE] },
      { name: 'a', id: 'pol_2', rules: [ELSEWHERE] },
      { name: 'a', id: 'pol_1', rules: [CLOSED, ELSEWHERE] },
    ];
    for (const order of [policies, policies.toReversed()])
      expect(named(ask(order))).toEqual(['a', 'time_window']);
  });

  it('that of a condition is named before that of a consumed lifetime, of any policy', () => {
    const usage = '{"agent rul_0_0":3}';
    expect(
      named(
        ask(
          [
            { name: 'a', rules: [USES] },
            { name: 'b', rules: [CLOSED] },
          ],
          { usage },
        ),
      ),
    ).toEqual(['b', 'time_window']);
  });
});

describe('an explanation', () => {
  it('has the result of each rule in the order of evaluation, including those after a denial', () => {
    const input = inputOf(
      [
        { target: 'token', name: 'shared', rules: [RATE, USES] },
        { name: 'office', rules: [CLOSED, HERE] },
      ],
      { usage: '{"token rul_0_1":2}' },
    );
    expect(evaluator.explain(input)).toEqual({
      country: 'NL',
      rules: [
        part('pol_1', 'office', 'agent', 0, CLOSED, { allowed: false }),
        part('pol_1', 'office', 'agent', 1, HERE),
        part('pol_0', 'shared', 'token', 1, USES, { used: 2 }),
        part('pol_0', 'shared', 'token', 0, RATE),
      ],
    });
  });

  it('has no rules where no policy is attached', () => {
    expect(evaluator.explain(inputOf([]))).toEqual({ country: 'NL', rules: [] });
  });

  const part = (
    policyId: string,
    policy: string,
    targetType: string,
    position: number,
    settings: RuleSettings,
    more = {},
  ) => ({
    ...{ policyId, policy, targetType, rule: settings.type, position, settings },
    allowed: true,
    used: undefined,
    ...more,
  });
});

describe('the maximum number of rules', () => {
  const full = (rule: RuleSettings): Attached[] =>
    Array.from({ length: 10 }, () => ({ rules: Array.from({ length: 20 }, () => rule) }));

  it('looks the country of an address up once', () => {
    const countryOf = vi.fn(() => 'NL');
    const input = inputOf(full(DUTCH));
    expect(createPolicyEvaluator(countryOf).evaluate(input).allowed).toBe(true);
    expect(countryOf).toHaveBeenCalledTimes(1);
  });

  it('reads a message once for all filters', () => {
    const requests = [{ tools: ['get_*'], paths: ['/mcp'] }];
    const input = inputOf(full({ type: 'request_filter', requests }), {
      caller: { type: 'proxy', id: 'prx_1' },
      upstreamRequest: () => ({
        ...{ origin: new URL('https://api.example'), method: 'POST', target: '/mcp' },
        fields: [['content-type', 'application/json']],
        body: utf8(
          '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_issue","arguments":{}}}',
        ),
      }),
    });
    evaluator.evaluate(input);
    const parse = vi.spyOn(JSON, 'parse');
    expect(evaluator.evaluate(input)).toMatchObject({ allowed: true });
    expect(parse).toHaveBeenCalledTimes(1);
    parse.mockRestore();
  });

  it('reads the counts once', () => {
    const input = inputOf(full(USES), { usage: '{"agent rul_9_19":2}' });
    evaluator.evaluate(input);
    const parse = vi.spyOn(JSON, 'parse');
    expect(evaluator.evaluate(input)).toMatchObject({ allowed: true });
    expect(parse).toHaveBeenCalledTimes(1);
    parse.mockRestore();
  });
});

it('a changed policy applies at once', () => {
  const before: Attached[] = [{ rules: [OPEN] }];
  const after: Attached[] = [{ rules: [CLOSED] }];
  expect([before, after, before].map((each) => ask(each).allowed)).toEqual([true, false, true]);
});
