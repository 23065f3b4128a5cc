import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { referred } from '../../api/resource.ts';
import { PROXY } from '../../api/resources.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { Failure, usage } from '../../failure.ts';
import { given, jsonIn } from '../../json-in.ts';
import type { Run } from '../../invocation.ts';
import { type Shape, printList, printOne } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { timeFrom } from '../../api/time-from.ts';
import { type WrittenTest, callSchema, testsIn } from './policy-file.ts';

const simulationSchema = z.looseObject({
  decision: z.enum(['allowed', 'denied', 'unknown']),
  denial: z.looseObject({ policy: z.string(), rule: z.string(), reason: z.string() }).optional(),
  at: z.string(),
  ip: z.string().nullable(),
  country: z.string().nullable(),
  rules: z.array(
    z.looseObject({
      policy: z.string(),
      targetType: z.string(),
      rule: z.string(),
      allowed: z.boolean().nullable(),
      used: z.number().optional(),
    }),
  ),
});
type Simulation = z.infer<typeof simulationSchema>;

const ruleOf = ({ policy, targetType, rule, allowed, used }: Simulation['rules'][number]): string => {
  const uses = used === undefined ? '' : `, used ${used} times`;
  const decides = allowed === null ? 'cannot tell without a request' : allowed ? 'allows' : 'denies';
  const says = rule === 'rate_limit' ? 'counts requests' : decides;
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

type Request = Pick<WrittenTest, 'agent' | 'proxy' | 'service' | 'at' | 'ip' | 'call'>;

async function simulated(
  client: ApiClient,
  { agent, proxy, service, at, ip, call }: Request,
): Promise<Simulation> {
  if ((agent === undefined) === (proxy === undefined)) throw usage('say who asks: an agent or a proxy');
  const body = given({
    agentId: agent === undefined ? undefined : (await agentReferred(client, agent)).id,
    proxyId: proxy === undefined ? undefined : (await referred(client, PROXY, proxy)).id,
    serviceName: serviceNameFrom(service),
    at: at === undefined ? undefined : timeFrom(at, Date.now(), 'at'),
    ip,
    call,
  });
  return client.change({ method: 'POST', path: '/api/policies/simulate', body, schema: simulationSchema });
}

interface Options extends Partial<Omit<Request, 'call'>> {
  readonly method?: string;
  readonly path?: string;
  readonly tool?: string;
  /** JSON. */
  readonly arguments?: string;
  readonly mcpMethod?: string;
}

/** `policies simulate` */
export const simulatePolicies: Run<[], Options> = async (invocation, _, options) => {
  const { agent, proxy, service, at, ip, ...call } = options;
  if (service === undefined) throw usage('say which credential: --service');
  const request = { agent, proxy, service, at, ip, call: callFrom(call) };
  printOne(invocation, await simulated(await apiClient(invocation), request), SIMULATION);
};

/** @returns undefined where no flag says what the proxy is asked. @throws Failure usage */
function callFrom({ method, path, tool, mcpMethod, ...options }: Options): Request['call'] {
  const parsed = callSchema.shape.arguments.safeParse(
    options.arguments === undefined ? undefined : (jsonIn(options.arguments) ?? null),
  );
  if (!parsed.success) throw usage('--arguments takes a JSON object, as {"repo":"site"}');
  const call = given({ method, path, tool, arguments: parsed.data, mcpMethod });
  return Object.keys(call).length === 0 ? undefined : call;
}

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
