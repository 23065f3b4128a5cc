import { operationsIn } from '../isolation/document.ts';
import type { Call } from './management-service.ts';

/** One management route, as the service's own OpenAPI document has it. */
export interface Operation {
  readonly method: string;
  /** With an id of nothing in place of an id, a number in place of a number, and a name of nothing in place of a name. */
  readonly path: string;
  /** As the document has it: `/api/agents/{id}`. */
  readonly template: string;
  /** Of the paths that it answers. */
  readonly pattern: RegExp;
  readonly isPublic: boolean;
  readonly takesBody: boolean;
}

/** Every management route there is, so that a new one is tested without being named. */
export async function operationsOf(anyone: Call): Promise<readonly Operation[]> {
  return (await operationsIn(anyone)).map(({ path, idPrefix = 'agt', ...operation }) => ({
    ...operation,
    template: path,
    path: path
      .replace('{id}', `${idPrefix}_${'A'.repeat(22)}`)
      .replace('{seq}', '1')
      .replaceAll(/\{\w+\}/g, 'nothing'),
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));
}
