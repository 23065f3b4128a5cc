import type { Call } from './management-service.ts';

/** One management route, as the service's own OpenAPI document has it. */
export interface Operation {
  readonly method: string;
  /** With an id of nothing in place of each parameter. */
  readonly path: string;
  /** Of the paths that it answers. */
  readonly pattern: RegExp;
  readonly isPublic: boolean;
  /** Members of the body it takes; undefined where it takes none. */
  readonly takesBody: boolean;
}

const METHODS = ['get', 'post', 'patch', 'delete'];

interface Document {
  readonly paths: Record<
    string,
    Record<string, { readonly security: readonly unknown[]; readonly requestBody?: unknown }>
  >;
}

/** Every management route there is, so that a new one is tested without being named. */
export async function operationsOf(anyone: Call): Promise<readonly Operation[]> {
  const { paths } = (await anyone('GET', '/api/openapi.json')).json as Document;
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, { security, requestBody }]) => ({
        method: method.toUpperCase(),
        path: path.replaceAll(/\{\w+\}/g, 'agt_AAAAAAAAAAAAAAAAAAAAAA'),
        pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
        isPublic: security.length === 0,
        takesBody: requestBody !== undefined,
      })),
  );
}
