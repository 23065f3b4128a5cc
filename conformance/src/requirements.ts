import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';

const requirementSchema = z
  .strictObject({
    id: z.string().regex(/^[A-Z]{3}-\d\d$/),
    level: z.enum(['MUST', 'SHOULD']),
    section: z.string(),
    sentence: z.string(),
    /** Ids of the checks that observe it. */
    checks: z.array(z.string()).min(1).optional(),
    /** Why nothing outside the webhook can observe it. */
    unobservable: z.string().optional(),
  })
  .refine((each) => each.checks === undefined || each.unobservable === undefined, {
    error: 'a requirement has checks, or the reason why there can be none',
  });

const fileSchema = z.strictObject({ protocol: z.literal('v1'), requirements: z.array(requirementSchema) });

/** One requirement of the protocol that binds a webhook. */
export type Requirement = z.infer<typeof requirementSchema>;
export type Level = Requirement['level'];

const FILE = new URL('../requirements/v1.yaml', import.meta.url);

/** Reads `requirements/v1.yaml`. @throws Error where it is not what the schema says, or an id appears twice */
export function loadRequirements(): ReadonlyMap<string, Requirement> {
  const { requirements } = fileSchema.parse(parse(readFileSync(FILE, 'utf8')));
  const byId = new Map(requirements.map((each) => [each.id, each]));
  if (byId.size !== requirements.length) throw new Error('a requirement id appears twice');
  return byId;
}
