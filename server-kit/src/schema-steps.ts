import { VERSION } from './version.ts';

/** What a step of a schema does to the programs that do not know it. */
export type Phase =
  /** It only adds what they need not know: tables, indexes, columns with a default or none. They keep working. */
  | { readonly phase: 'expand' }
  /** It changes or removes what they may use. Only programs that know the step `compatibleFrom` may run after it. */
  | { readonly phase: 'contract'; readonly compatibleFrom: number };

export type Step = Phase & {
  /** Ascending; never reused. */
  readonly id: number;
  readonly name: string;
};

/** A row of `schema_migrations`, which tells an older program whether it may run on steps that it does not know. */
export interface AppliedStep {
  readonly id: number;
  readonly name: string;
  /** The lowest step that a program must know. Null where a program without this rule applied it. */
  readonly compatibleFrom: number | null;
  /** The version of the program that applied it. */
  readonly appliedBy: string | null;
}

/** The database has a step of a newer program that this one cannot run with. Nothing was changed. */
export class NewerSchema extends Error {
  constructor(place: string, { id, name, compatibleFrom, appliedBy }: AppliedStep, known: number) {
    const by = appliedBy === null ? 'a newer svault' : `svault ${appliedBy}`;
    super(
      `${place} has schema ${id} (${name}), applied by ${by}, which needs a program that knows schema ` +
        `${compatibleFrom ?? id}; this is svault ${VERSION}, which knows up to ${known}: run ` +
        `${appliedBy === null ? 'the newer program' : `svault ${appliedBy} or newer`}, or restore an older backup`,
    );
    this.name = 'NewerSchema';
  }
}

/** What a program does with a database. */
export interface SchemaPlan<S extends Step> {
  /** Steps to apply, in their order. */
  readonly pending: readonly S[];
  /** Steps of a newer program that this one runs with. */
  readonly unknown: readonly AppliedStep[];
  /** Whether processes that run on the database as it is keep working while `pending` is applied. */
  readonly keepsRunning: boolean;
}

/**
 * Decides whether a program may run on a database, and what it applies to it first.
 *
 * @param place of the database, for the message
 * @param steps that the program knows
 * @throws NewerSchema
 */
export function planSchema<S extends Step>(
  place: string,
  applied: readonly AppliedStep[],
  steps: readonly S[],
): SchemaPlan<S> {
  const known = Math.max(0, ...steps.map(({ id }) => id));
  const unknown = applied.filter(({ id }) => !steps.some((step) => step.id === id));
  const refused = unknown.find(({ compatibleFrom }) => compatibleFrom === null || compatibleFrom > known);
  if (refused !== undefined) throw new NewerSchema(place, refused, known);
  const newest = Math.max(0, ...applied.map(({ id }) => id));
  const pending = steps
    .filter(({ id }) => !applied.some((row) => row.id === id))
    .toSorted((a, b) => a.id - b.id);
  return { pending, unknown, keepsRunning: pending.every((step) => compatibleFromOf(step) <= newest) };
}

/** As `compatible_from` of `schema_migrations` has it: 0 where every program may run with the step. */
export const compatibleFromOf = (step: Phase): number => (step.phase === 'expand' ? 0 : step.compatibleFrom);

/** Of a row that a program without this rule may have made, in a table without the later columns. */
export function toAppliedStep(row: Readonly<Record<string, unknown>>): AppliedStep {
  const { compatible_from: compatibleFrom = null, applied_by: appliedBy = null } = row;
  return { id: row['id'], name: row['name'], compatibleFrom, appliedBy } as AppliedStep;
}
