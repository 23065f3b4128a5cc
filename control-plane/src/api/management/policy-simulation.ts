import * as z from 'zod';
import { TARGET_TYPES } from '../../core/policy.ts';
import type { SimulatedRequest, Simulation } from '../../management/policies.ts';
import { isAddress } from '../../policies/ip-allowlist.ts';
import { RULES, ruleSchema } from '../../policies/rules.ts';
import { idSchema, serviceNameSchema, timeInputSchema, timeSchema } from './fields.ts';

const method = z.string().regex(/^[A-Z]{1,20}$/, 'must be a method in capitals');
const callSchema = z
  .strictObject({
    method: method.optional(),
    path: z.string().min(1).max(8_192).optional(),
    tool: z.string().min(1).max(1_000).optional(),
    arguments: z.record(z.string(), z.unknown()).optional(),
    mcpMethod: z.string().min(1).max(1_000).optional(),
  })
  .refine(({ tool, mcpMethod }) => tool === undefined || mcpMethod === undefined, {
    path: ['mcpMethod'],
    message: 'give either tool or mcpMethod',
  })
  .refine(({ tool, arguments: given }) => tool !== undefined || given === undefined, {
    path: ['arguments'],
    message: 'goes with tool',
  });

export const imaginedRequestSchema = z
  .strictObject({
    agentId: idSchema('agt').optional(),
    proxyId: idSchema('prx').optional(),
    serviceName: serviceNameSchema,
    at: timeInputSchema.optional(),
    ip: z.string().max(50).refine(isAddress, 'must be an IP address').optional(),
    call: callSchema.optional(),
  })
  .refine(({ agentId, proxyId }) => (agentId === undefined) !== (proxyId === undefined), {
    path: ['agentId'],
    message: 'give either agentId or proxyId',
  })
  .refine(({ proxyId, call }) => proxyId !== undefined || call === undefined, {
    path: ['call'],
    message: 'goes with proxyId: an agent gets the credential itself',
  })
  .meta({
    id: 'ImaginedRequest',
    description:
      'at: now unless it says otherwise. Without ip the address is not known. call: what the proxy would be asked for, with the path at the upstream, which is that of upstreamUrl unless it says otherwise; a tool or a method of MCP makes it a POST. Without call a request_filter cannot tell.',
  });

export const ruleTypeSchema = z.enum(Object.keys(RULES));
const denialMembers = { policy: z.string(), rule: ruleTypeSchema, reason: z.string() };

export const simulationSchema = z
  .object({
    decision: z.enum(['allowed', 'denied', 'unknown']).meta({
      description: 'unknown: only a request_filter could deny it, and call is not given',
    }),
    denial: z.object(denialMembers).optional().meta({ description: 'What the agent would be told' }),
    at: timeSchema,
    ip: z.string().nullable(),
    country: z.string().nullable().meta({ description: 'null where it cannot be told' }),
    rules: z
      .array(
        z.object({
          policyId: z.string(),
          policy: z.string(),
          targetType: z.enum(TARGET_TYPES).meta({ description: 'What the policy is attached to' }),
          rule: ruleTypeSchema,
          position: z.int().meta({ description: 'Of the rule in its policy, from 0' }),
          settings: ruleSchema,
          allowed: z.boolean().nullable().meta({
            description:
              'Of a rate_limit true: only a request tells, since it counts. null of a request_filter without call',
          }),
          used: z.int().optional().meta({ description: 'Uses of a max_usage rule so far' }),
        }),
      )
      .meta({
        description:
          'Every rule of the enabled policies, in the order of evaluation, which is that in which denials are named',
      }),
  })
  .meta({ id: 'Simulation' });

export function toSimulationView(
  { verdict, country, rules }: Simulation,
  { at, ip }: { readonly at: string; readonly ip: string | undefined },
): z.output<typeof simulationSchema> {
  return {
    decision: decisionOf(verdict.allowed, rules),
    ...(!verdict.allowed && {
      denial: { policy: verdict.policy, rule: verdict.rule, reason: verdict.reason },
    }),
    at,
    ip: ip ?? null,
    country: country ?? null,
    rules: rules.map(({ settings, allowed, ...rule }) => ({
      ...rule,
      allowed: allowed ?? null,
      settings: settings as z.output<typeof ruleSchema>,
    })),
  };
}

function decisionOf(isAllowed: boolean, rules: Simulation['rules']): 'allowed' | 'denied' | 'unknown' {
  if (!isAllowed) return 'denied';
  return rules.some(({ allowed }) => allowed === undefined) ? 'unknown' : 'allowed';
}

/** @returns who would ask; one of the two is there */
export const toCaller = ({
  agentId,
  proxyId,
}: z.output<typeof imaginedRequestSchema>): SimulatedRequest['caller'] =>
  proxyId === undefined ? { type: 'agent', id: agentId ?? '' } : { type: 'proxy', id: proxyId };
