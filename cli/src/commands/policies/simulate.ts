import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { referred } from '../../api/resource.ts';
import { PROXY } from '../../api/resources.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { Failure, usage } from '../../failure.ts';
import { given } from '../../json-in.ts';
import type { Run } from '../../invocation.ts';
import { type Shape, printList, printOne } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { timeFrom } from '../../api/time-from.ts';
import { type WrittenTest, testsIn } from './policy-file.ts';

const simulationSchema = z.looseObject({
  decision: z.enum(['allowed', 'denied']),
  denial: z.looseObject({ policy: z.string(), rule: z.string(), reason: z.string() }).optional(),
  at: z.string(),
  ip: z.string().nullable(),
  country: z.string().nullable(),
  rules: z.array(
    z.looseObject({
      policy: z.string(),
      targetType: z.string(),
      rule: z.string(),
      allowed: z.boolean(),
      used: z.number().optional(),
    }),
  ),
});
type Simulation = z.infer<typeof simulationSchema>;

const ruleOf = ({ policy, targetType, rule, allowed, used }: Simulation['rules'][number]): string => {
  const uses = used === undefined ? '' : `, used ${used} times`;
  const says = rule === 'rate_limit' ? 'counts requests' : allowed ? 'allows' : 'denies';
  return `${rule} of ${policy} (${targetType === 'token' ? 'credential' : targetType}): ${says}${uses}`;
};

const SIMULATION: Shape<Simulation> = {
  columns: [
    {
      title: 'decision',
      of: ({ decision }) => decision,
      tone: ({ decision }) => (decision === 'allowed' ? 'green' : 'yellow'),
    },
    {
      title: 'denied by',
      of: ({ denial }) => (denial === undefined ? '' : `${denial.policy}, rule ${denial.rule}`),
    },
    { title: 'reason', of: ({ denial }) => denial?.reason ?? '' },
    { title: 'at', of: ({ at }) => at },
    { title: 'from', of: ({ ip, country }) => [ip ?? 'an unknown address', country ?? ''].join(' ').trim() },
    {
      title: 'rules',
      of: ({ rules }) => (rules.length === 0 ? 'no policy is attached' : rules.map(ruleOf).join('\n')),
    },
  ],
  name: ({ decision }) => decision,
};

type Request = Pick<WrittenTest, 'agent' | 'proxy' | 'service' | 'at' | 'ip'>;

async function simulated(client: ApiClient, { agent, proxy, service, at, ip }: Request): Promise<Simulation> {
  if ((agent === undefined) === (proxy === undefined)) throw usage('say who asks: an agent or a proxy');
  const body = given({
    agentId: agent === undefined ? undefined : (await agentReferred(client, agent)).id,
    proxyId: proxy === undefined ? undefined : (await referred(client, PROXY, proxy)).id,
    serviceName: serviceNameFrom(service),
    at: at === undefined ? undefined : timeFrom(at, Date.now(), 'at'),
    ip,
  });
  return client.change({ method: 'POST', path: '/api/policies/simulate', body, schema: simulationSchema });
}

/** `policies simulate` */
export const simulatePolicies: Run<[], Partial<Request>> = async (invocation, _, options) => {
  const { service } = options;
  if (service === undefined) throw usage('say which credential: --service');
  const client = await apiClient(invocation);
  printOne(invocation, await simulated(client, { ...options, service }), SIMULATION);
};

interface Result {
  readonly test: string;
  readonly passed: boolean;
  readonly expected: string;
  readonly decision: string;
  readonly policy?: string;
  readonly rule?: string;
}

const RESULTS: Shape<Result> = {
  columns: [
    {
      title: 'result',
      of: ({ passed }) => (passed ? 'passed' : 'FAILED'),
      tone: ({ passed }) => (passed ? 'green' : 'red'),
      whole: true,
    },
    { title: 'test', of: ({ test }) => test },
    { title: 'expected', of: ({ expected }) => expected },
    {
      title: 'decision',
      of: ({ decision, policy, rule }) =>
        [decision, policy, rule].filter((each) => each !== undefined).join(', '),
    },
  ],
  name: ({ test }) => test,
};

/** `policies test FILE…`: exit 8 where a decision is another one than the file expects. */
export const testPolicies: Run<[readonly string[]]> = async (invocation, [files]) => {
  const tests = await testsIn(invocation, files);
  const client = await apiClient(invocation);
  const results: Result[] = [];
  for (const test of tests) results.push(resultOf(test, await simulated(client, test)));
  printList(invocation, results, RESULTS);
  const failures = results.filter(({ passed }) => !passed).length;
  if (failures > 0) throw new Failure('differs', `${failures} of ${results.length} expectations are not met`);
  say(invocation, `all ${results.length} expectations are met`);
};

function resultOf(test: WrittenTest, { decision, denial }: Simulation): Result {
  const { name, agent, proxy, service, at, ip, expect, policy, rule } = test;
  const called = [`${agent ?? proxy} for ${service}`, at && `at ${at}`, ip && `from ${ip}`];
  const passed =
    decision === expect &&
    (policy === undefined || policy === denial?.policy) &&
    (rule === undefined || rule === denial?.rule);
  return {
    test: name ?? called.filter((each) => each !== undefined).join(' '),
    passed,
    expected: [expect, policy, rule].filter((each) => each !== undefined).join(', '),
    decision,
    ...(denial !== undefined && { policy: denial.policy, rule: denial.rule }),
  };
}
