import * as z from 'zod';
import { TARGET_TYPES } from '../../core/policy.ts';
import type { SimulatedRequest, Simulation } from '../../management/policies.ts';
import { isAddress } from '../../policies/ip-allowlist.ts';
import { RULES, ruleSchema } from '../../policies/rules.ts';
import { idSchema, serviceNameSchema, timeInputSchema, timeSchema } from './fields.ts';

export const imaginedRequestSchema = z
  .strictObject({
    agentId: idSchema('agt').optional(),
    proxyId: idSchema('prx').optional(),
    serviceName: serviceNameSchema,
    at: timeInputSchema.optional(),
    ip: z.string().max(50).refine(isAddress, 'must be an IP address').optional(),
  })
  .refine(({ agentId, proxyId }) => (agentId === undefined) !== (proxyId === undefined), {
    path: ['agentId'],
    message: 'give either agentId or proxyId',
  })
  .meta({
    id: 'ImaginedRequest',
    description: 'at: now unless it says otherwise. Without ip the address is not known.',
  });

export const ruleTypeSchema = z.enum(Object.keys(RULES));
const denialMembers = { policy: z.string(), rule: ruleTypeSchema, reason: z.string() };

export const simulationSchema = z
  .object({
    decision: z.enum(['allowed', 'denied']),
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
          allowed: z
            .boolean()
            .meta({ description: 'Of a rate_limit true: only a request tells, since it counts' }),
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
    decision: verdict.allowed ? 'allowed' : 'denied',
    ...(!verdict.allowed && {
      denial: { policy: verdict.policy, rule: verdict.rule, reason: verdict.reason },
    }),
    at,
    ip: ip ?? null,
    country: country ?? null,
    rules: rules.map(({ settings, ...rule }) => ({
      ...rule,
      settings: settings as z.output<typeof ruleSchema>,
    })),
  };
}

/** @returns who would ask; one of the two is there */
export const toCaller = ({
  agentId,
  proxyId,
}: z.output<typeof imaginedRequestSchema>): SimulatedRequest['caller'] =>
  proxyId === undefined ? { type: 'agent', id: agentId ?? '' } : { type: 'proxy', id: proxyId };
