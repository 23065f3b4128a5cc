import type { OpenApiDocument, Operation, Schema } from './openapi-types.ts';
import { code, sentence, table } from './tables.ts';

/** A page of the site for each tag of the document: every operation with its parameters, bodies and responses. */
export function apiPages({ paths, components }: OpenApiDocument): { name: string; text: string }[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
  const byTag = Object.groupBy(operations, ({ operation }) => operation.tags[0] ?? 'Other');
  return Object.entries(byTag).map(([tag, routes = []]) => ({
    name: tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
    text: [
      `# API: ${tag}`,
      ...routes.flatMap(({ route, operation }) => operationText(route, operation, components.schemas)),
    ].join('\n\n'),
  }));
}

type Schemas = Readonly<Record<string, Schema>>;

function operationText(route: string, operation: Operation, schemas: Schemas): readonly string[] {
  const { summary, description, parameters = [], requestBody, responses, security = [] } = operation;
  const signedIn = security.flatMap((each) => Object.keys(each)).map(code);
  const rows = parameters.map((each) => [
    code(each.name),
    `${each.in}${each.required === true ? ', required' : ''}`,
    typeText(each.schema),
    escaped(each.description ?? each.schema?.description ?? ''),
  ]);
  return [
    `## ${escaped(sentence(summary))}`,
    `${code(route)}${signedIn.length > 0 ? `, authenticated by ${signedIn.join(' or ')}` : ''}`,
    ...(description === undefined ? [] : [escaped(description)]),
    ...(rows.length > 0 ? [table(['Parameter', 'In', 'Type', 'Meaning'], rows)] : []),
    ...contentTexts('Request body', requestBody?.content, schemas),
    table(
      ['Status', 'Meaning'],
      Object.entries(responses).map(([status, response]) => [status, escaped(response.description ?? '')]),
    ),
    ...Object.entries(responses)
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([status, { content }]) => contentTexts(`Response ${status}`, content, schemas)),
  ];
}

function contentTexts(
  title: string,
  content: Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>> = {},
  schemas: Schemas,
): readonly string[] {
  return Object.entries(content).flatMap(([type, { schema, example }]) => {
    const rows = members(resolved(schema ?? {}, schemas), schemas);
    return [
      `**${title}** (${code(type)})`,
      ...(rows.length > 0 ? [table(['Member', 'Type', 'Meaning'], rows)] : []),
      ...(example === undefined ? [] : [`\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``]),
    ];
  });
}

/** Members of an object, or of each of its alternatives. */
function members(schema: Schema, schemas: Schemas): string[][] {
  const alternatives = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...alternatives.flatMap((each) => members(resolved(each, schemas), schemas)),
    ...Object.entries(schema.properties ?? {}).map(([name, member]) => [
      code(name) + (schema.required?.includes(name) === true ? '' : ' (optional)'),
      typeText(member),
      escaped(member.description ?? resolved(member, schemas).description ?? ''),
    ]),
  ];
}

function resolved(schema: Schema, schemas: Schemas): Schema {
  return schema.$ref === undefined ? schema : (schemas[nameOf(schema.$ref)] ?? {});
}

const nameOf = (reference: string): string => reference.split('/').at(-1) ?? '';

function typeText(schema: Schema = {}): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternatives.map((each) => typeText(each)).join(' or ');
  if (schema.items !== undefined) return `list of ${typeText(schema.items)}`;
  return typeof schema.type === 'string' ? schema.type : (schema.type ?? ['object']).join(' or ');
}

/** Braces and angle brackets mean something to the site's builder. */
const escaped = (text: string): string =>
  text.replaceAll('<', '&lt;').replaceAll('{', '&#123;').replaceAll('}', '&#125;');
