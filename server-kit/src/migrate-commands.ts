import type { Subcommand, Surroundings } from './program.ts';
import { type AppliedStep, type SchemaPlan, type Step, planSchema } from './schema-steps.ts';
import { VERSION } from './version.ts';

/** Exit code of `migrate --check` where steps are pending. */
const PENDING = 3;

const NO_DATABASE = 'There is no database yet: the first start makes it.\n';

/** `migrate` and `migrate --check` of a program, which work while `serve` runs. */
export function migrateCommands({
  steps,
  read,
  apply,
}: {
  readonly steps: readonly Step[];
  /** Reads what a database has, and changes nothing; no steps where there is none. */
  readonly read: (
    env: NodeJS.ProcessEnv,
  ) => Promise<{ readonly place: string; readonly applied: readonly AppliedStep[] }>;
  /** Applies all pending steps. */
  readonly apply: (surroundings: Surroundings) => Promise<unknown>;
}): Readonly<Record<'migrate' | 'migrate --check', Subcommand>> {
  return {
    migrate: {
      summary: 'Apply pending migrations of the database, as serve does when it starts',
      operands: 0,
      run: async (_operands, surroundings) => {
        const { place, applied } = await read(surroundings.env);
        const { pending } = planSchema(place, applied, steps);
        if (applied.length === 0) return surroundings.out(NO_DATABASE);
        if (pending.length > 0) await apply(surroundings);
        for (const { id, name } of pending) surroundings.out(`Applied ${id} ${name}.\n`);
        if (pending.length === 0) surroundings.out('No migration was pending.\n');
      },
    },
    'migrate --check': {
      summary: 'Say which migrations are pending, and change nothing; exit code 3 if any is',
      operands: 0,
      run: async (_operands, { env, out }) => {
        const { place, applied } = await read(env);
        const plan = planSchema(place, applied, steps);
        out(applied.length === 0 ? NO_DATABASE : reportOf(applied, plan));
        return plan.pending.length === 0 ? 0 : PENDING;
      },
    },
  };
}

function reportOf(applied: readonly AppliedStep[], plan: SchemaPlan<Step>): string {
  const { pending, unknown, keepsRunning } = plan;
  const newest = applied.toSorted((a, b) => b.id - a.id)[0];
  const lines = [
    `svault ${VERSION} can run on this database${newest === undefined ? '' : `, which has schema ${titleOf(newest)}`}.`,
    ...unknown.map((step) => `Of a newer program: ${titleOf(step)}.`),
    ...pending.map((step) => `Pending: ${step.id} (${step.name}), ${phaseOf(step)}.`),
  ];
  if (pending.length === 0) lines.push('No migration is pending.');
  else if (keepsRunning) lines.push('Processes that serve on it keep working while these are applied.');
  else lines.push('Stop every process that serves on it before these are applied.');
  return `${lines.join('\n')}\n`;
}

const titleOf = ({ id, name, appliedBy }: AppliedStep): string =>
  `${id} (${name})${appliedBy === null ? '' : `, applied by svault ${appliedBy}`}`;

const phaseOf = (step: Step): string =>
  step.phase === 'expand'
    ? 'expand'
    : `contract: from then on a program must know schema ${step.compatibleFrom}`;
