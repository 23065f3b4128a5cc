import type { Invocation } from '../invocation.ts';

/**
 * Whether stdout gets colours where no flag says otherwise: it is a terminal that knows them, and NO_COLOR is not set, which
 * says nothing while it is empty (https://no-color.org).
 */
export const wantsColor = ({ terminal, env }: Pick<Invocation, 'terminal' | 'env'>): boolean =>
  terminal.interactive.out && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
