import type { AppliedStep, SchemaPlan, Step } from './schema-steps.ts';
import { VERSION } from './version.ts';

/** Exit code of `migrate --check` where steps are pending. */
export const PENDING = 3;

/** What `migrate --check` says of a database, one thing a line. */
export function schemaReport<S extends Step>(applied: readonly AppliedStep[], plan: SchemaPlan<S>): string {
  const { pending, unknown, keepsRunning } = plan;
  const newest = applied.toSorted((a, b) => b.id - a.id)[0];
  const lines = [
    `svault ${VERSION} can run on this database${newest === undefined ? '' : `, which has schema ${newest.id} (${newest.name})${by(newest)}`}.`,
    ...unknown.map((step) => `Of a newer program: ${step.id} ${step.name}${by(step)}.`),
    ...pending.map((step) => `Pending: ${step.id} ${step.name}, ${phaseOf(step)}.`),
  ];
  if (pending.length === 0) lines.push('No step is pending.');
  else
    lines.push(
      keepsRunning
        ? 'Processes that serve on it keep working while these are applied.'
        : 'Stop all processes that serve on it before these are applied.',
    );
  return `${lines.join('\n')}\n`;
}

/** What `migrate` says. @param pending what was applied */
export const appliedReport = (pending: readonly Step[]): string =>
  pending.length === 0
    ? 'No step was pending.\n'
    : pending.map(({ id, name }) => `Applied ${id} ${name}.\n`).join('');

const by = ({ appliedBy }: AppliedStep): string =>
  appliedBy === null ? '' : `, applied by svault ${appliedBy}`;

const phaseOf = (step: Step): string =>
  step.phase === 'expand'
    ? 'expand'
    : `contract: programs must know schema ${step.compatibleFrom} from then on`;
