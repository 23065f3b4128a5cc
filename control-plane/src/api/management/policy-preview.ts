import * as z from 'zod';
import { type PolicyPreview, previewPolicy } from '../../management/policy-preview.ts';
import type { Needs } from './dependencies.ts';
import { idSchema, timeSchema } from './fields.ts';
import { attachmentSchema, newPolicySchema, toTarget } from './policies.ts';
import { ruleTypeSchema } from './policy-simulation.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

/** Each is looked up. */
const MAX_ATTACHMENTS = 100;

const policyDraftSchema = newPolicySchema
  .partial()
  .extend({
    policyId: idSchema('pol').optional(),
    attachments: z.array(attachmentSchema).max(MAX_ATTACHMENTS).optional(),
  })
  .superRefine(({ policyId, ...draft }, context) => {
    if (policyId !== undefined) return;
    for (const member of ['name', 'rules', 'attachments'] as const)
      if (draft[member] === undefined)
        context.addIssue({ code: 'custom', path: [member], message: 'is needed without policyId' });
  })
  .meta({
    id: 'PolicyDraft',
    description:
      'With policyId it replaces that policy, and members left out are that policy’s; without it name, rules and attachments are needed.',
  });

const decisionSchema = z.enum(['allowed', 'denied']);

const previewSchema = z
  .object({
    looked: z.int().meta({ description: 'Requests that were looked at: those of at most 1,000 events' }),
    since: timeSchema
      .nullable()
      .meta({ description: 'The time of the oldest event that was read; null for an empty log' }),
    complete: z.boolean().meta({ description: 'Whether the log holds no older request' }),
    changed: z
      .int()
      .meta({ description: 'Requests that the draft would decide otherwise: denied and allowed' }),
    denied: z.int().meta({ description: 'Were allowed, and the draft would deny them' }),
    allowed: z.int().meta({ description: 'The policy denied them, and the draft would let them through' }),
    unknown: z.int().meta({
      description:
        'Where the log does not tell: a rule needs the address, or the uses of another policy then',
    }),
    examples: z
      .array(
        z.object({
          seq: z.int().meta({ description: 'Of the event in the log' }),
          eventId: z.string(),
          timestamp: timeSchema,
          agentId: z.string().optional(),
          agentName: z.string().optional(),
          proxyId: z.string().optional(),
          proxyName: z.string().optional(),
          serviceName: z.string().optional(),
          address: z.string().nullable(),
          decision: decisionSchema.meta({ description: 'Then' }),
          draftDecision: decisionSchema,
          policy: z.string(),
          rule: ruleTypeSchema.meta({
            description: 'The rule of the draft that denies, or the one that denied',
          }),
          reason: z.string(),
        }),
      )
      .meta({ description: 'Of the changed requests the newest 50, newest first' }),
  })
  .meta({ id: 'PolicyPreview' });

function toPreviewView(
  { since, isComplete, looked, denied, allowed, unknown, examples }: PolicyPreview,
  names: ReadonlyMap<string, string>,
): z.output<typeof previewSchema> {
  const named = (member: string, id: string | undefined) => {
    const name = id === undefined ? undefined : names.get(id);
    return name === undefined ? {} : { [member]: name };
  };
  return {
    ...{ looked, since: since ?? null, complete: isComplete },
    ...{ changed: denied + allowed, denied, allowed, unknown },
    examples: examples.map(({ event, decision, denial: { policy, rule, reason } }) => {
      const { seq, id: eventId, timestamp, agentId, proxyId, serviceName, origin } = event;
      return {
        ...{ seq, eventId, timestamp },
        ...(agentId && { agentId, ...named('agentName', agentId) }),
        ...(proxyId && { proxyId, ...named('proxyName', proxyId) }),
        ...(serviceName !== undefined && { serviceName }),
        address: origin?.address ?? null,
        decision: decision === 'denied' ? ('allowed' as const) : ('denied' as const),
        draftDecision: decision,
        ...{ policy, rule, reason },
      };
    }),
  };
}

/** A policy that is not saved, against the newest requests of the log. */
export const createPolicyPreviewRoute = ({
  policies,
  stores,
}: Needs<'policies', 'agents' | 'audit' | 'names' | 'policies' | 'proxies' | 'tokens'>): ManagementRoute =>
  defineRoute('POST /api/policies/preview', {
    tag: 'Policies',
    role: 'member',
    operation: 'previewPolicy',
    summary: 'What a policy that is not saved would have decided about recent requests; changes nothing',
    whenLocked: 'allowed',
    limit: 'management_write',
    body: policyDraftSchema,
    response: { status: 200, schema: previewSchema },
    errors: ['CONFLICT', 'NOT_FOUND'],
    handle: async ({ actor, body: { attachments, ...draft } }) => {
      const targets = attachments?.map(toTarget);
      const preview = await previewPolicy(stores, policies, actor, { ...draft, targets });
      const ids = preview.examples.flatMap(({ event: { agentId, proxyId } }) => agentId ?? proxyId ?? []);
      return toPreviewView(preview, await stores.names.of(actor.vaultId, ids));
    },
  });
