import { operationsIn } from '../isolation/document.ts';
import type { Call } from './management-service.ts';

/** One management route, as the service's own OpenAPI document has it. */
export interface Operation {
  readonly method: string;
  /** With an id of nothing in place of each parameter. */
  readonly path: string;
  /** Of the paths that it answers. */
  readonly pattern: RegExp;
  readonly isPublic: boolean;
  readonly takesBody: boolean;
}

/** Every management route there is, so that a new one is tested without being named. */
export async function operationsOf(anyone: Call): Promise<readonly Operation[]> {
  return (await operationsIn(anyone)).map(({ path, ...operation }) => ({
    ...operation,
    path: path.replaceAll(/\{\w+\}/g, 'agt_AAAAAAAAAAAAAAAAAAAAAA'),
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));
}
