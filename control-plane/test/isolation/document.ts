import type { Call } from '../support/management-service.ts';

/** One operation of the service's OpenAPI document. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  /** Of the id in the path, such as `agt`; undefined where there is none. */
  readonly idPrefix: string | undefined;
  readonly isPublic: boolean;
  readonly takesBody: boolean;
  /** Everything a caller can set: `path.id`, `query.cursor`, `body.name`. */
  readonly places: readonly string[];
}

const METHODS = ['get', 'post', 'patch', 'put', 'delete'];

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly security: readonly unknown[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly schema: { readonly examples?: readonly string[] };
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Every operation with everything that a caller can say in it. */
export async function operationsIn(anyone: Call): Promise<readonly Operation[]> {
  const { paths, components } = (await anyone('GET', '/api/openapi.json')).json as OpenApi;
  const members = (schema: Schema): readonly string[] => {
    const { $ref, properties = {}, oneOf = [], anyOf = [], allOf = [] } = schema;
    const named = $ref === undefined ? undefined : components.schemas[$ref.split('/').at(-1) ?? ''];
    return [
      ...Object.keys(properties),
      ...[...oneOf, ...anyOf, ...allOf, ...(named === undefined ? [] : [named])].flatMap(members),
    ];
  };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, { operationId, security, parameters = [], requestBody }]) => {
        const bodies = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => members(schema));
        const said = [
          ...parameters.map((each) => `${each.in}.${each.name}`),
          ...bodies.map((name) => `body.${name}`),
        ];
        return {
          id: operationId,
          method: method.toUpperCase(),
          path,
          idPrefix: parameters.find(({ name }) => name === 'id')?.schema.examples?.[0]?.split('_')[0],
          isPublic: security.length === 0,
          takesBody: requestBody !== undefined,
          places: [...new Set(said)],
        };
      }),
  );
}

/** What a request says, by place. */
export type RequestFields = Readonly<Record<string, unknown>>;

/** The request that says this; places that are not said are left out. */
export function requestOf(
  { method, path }: Operation,
  said: RequestFields,
): { method: string; path: string; body?: object } {
  const part = (where: string): [string, unknown][] =>
    Object.entries(said)
      .filter(([place]) => place.startsWith(`${where}.`))
      .map(([place, value]) => [place.slice(where.length + 1), value]);
  const filled = part('path').reduce(
    (sofar, [name, value]) => sofar.replace(`{${name}}`, encodeURIComponent(String(value))),
    path,
  );
  const query = new URLSearchParams(
    part('query').map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  const body = Object.fromEntries(part('body'));
  return {
    method,
    path: query === '' ? filled : `${filled}?${query}`,
    ...(Object.keys(body).length > 0 && { body }),
  };
}
