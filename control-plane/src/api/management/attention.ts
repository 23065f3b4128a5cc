import { formatTime } from '@svault/shared';
import * as z from 'zod';
import { ATTENTION_KINDS, type AttentionKind, SUBJECT_TYPES } from '../../core/attention.ts';
import { type SeenItem, markSeen, readAttention } from '../../management/attention.ts';
import type { Needs } from './dependencies.ts';
import { timeSchema, uniqueList } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

/** Fewer than a list may have: the body of a request is bounded. */
const MAX_IDS = 50;

const attentionSchema = z
  .object({
    items: z.array(
      z
        .object({
          id: z.string().meta({ description: 'The same as long as it needs attention' }),
          kind: z.enum(Object.keys(ATTENTION_KINDS) as [AttentionKind, ...AttentionKind[]]),
          severity: z.enum(['critical', 'warning']),
          since: timeSchema.meta({
            description: 'When it began to need attention; of a lockout, at the earliest',
          }),
          endsAt: timeSchema.nullable().meta({ description: 'When it ends or expires' }),
          subject: z
            .object({
              type: z.enum(SUBJECT_TYPES),
              id: z.string().meta({ description: "A credential's id is its service name" }),
              name: z.string().nullable(),
            })
            .meta({ description: 'What it concerns' }),
          serviceName: z.string().nullable().meta({ description: 'Of a grant' }),
          eventSeq: z.int().nullable().meta({ description: 'The event of the log that reports it' }),
          seen: z
            .boolean()
            .meta({ description: 'Whether the user has marked it as seen; a new occurrence is not' }),
        })
        .meta({ id: 'AttentionItem' }),
    ),
    unseen: z.int(),
  })
  .meta({ id: 'Attention', description: 'The most serious first; at most 50 of one kind' });

const seenSchema = z.strictObject({
  ids: uniqueList(z.string().min(1).max(300), MAX_IDS).meta({
    description: 'Ids of items; those that need no attention any more are left out',
  }),
});

/** What somebody has to do something about, and what each user has seen of it. */
export function createAttentionRoutes(
  dependencies: Needs<
    'clock' | 'expiringRecords' | 'limiter' | 'status',
    'attention' | 'audit' | 'auditCheckpoints' | 'names' | 'tokens' | 'vaults' | 'webhookLinks'
  >,
): ManagementRoute[] {
  const { stores, clock } = dependencies;
  const toView = async (
    vaultId: Parameters<typeof stores.names.of>[0],
    items: readonly SeenItem[],
  ): Promise<z.output<typeof attentionSchema>> => {
    const names = await stores.names.of(
      vaultId,
      items.map(({ subject }) => subject.id),
    );
    return {
      items: items.map(({ subject, endsAt, serviceName, eventSeq, ...item }) => ({
        ...item,
        severity: ATTENTION_KINDS[item.kind],
        endsAt: endsAt ?? null,
        subject: {
          ...subject,
          name: subject.type === 'credential' ? subject.id : (names.get(subject.id) ?? null),
        },
        serviceName: serviceName ?? null,
        eventSeq: eventSeq ?? null,
      })),
      unseen: items.filter(({ seen }) => !seen).length,
    };
  };
  const shared = {
    tag: 'Overview',
    role: 'member',
    response: { status: 200, schema: attentionSchema },
  } as const;
  return [
    defineRoute('GET /api/attention', {
      ...shared,
      operation: 'listAttention',
      summary: 'List what needs attention: outages, lockouts, what expires or failed',
      handle: async ({ actor }) => toView(actor.vaultId, await readAttention(dependencies, actor)),
    }),
    defineRoute('POST /api/attention/seen', {
      ...shared,
      operation: 'markAttentionSeen',
      summary: 'Mark items as seen by the user, until they occur anew',
      // It changes nothing of the account.
      whenLocked: 'allowed',
      limit: 'management_write',
      body: seenSchema,
      handle: async ({ actor, body: { ids }, transaction }) => {
        const items = await readAttention(dependencies, actor);
        const marks = { items, ids, at: formatTime(clock.now()) };
        return toView(
          actor.vaultId,
          await transaction(({ attention }) => markSeen(attention, actor.userId, marks)),
        );
      },
    }),
  ];
}
