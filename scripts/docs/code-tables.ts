import {
  CONTROL_PLANE_ERRORS,
  type ErrorDescription,
  JSON_RPC_ERRORS,
  OAUTH_ERRORS,
  type RedirectError,
  WEBHOOK_ERRORS,
} from '@svault/shared/error-catalog';
import { AUDIT_EVENT_TYPES } from '@svault/control-plane/audit-events';
import { AUDIT_EVENT_DESCRIPTIONS } from '@svault/control-plane/audit-event-descriptions';
import { EXIT_CODES } from '../../cli/src/failure.ts';
import type { OpenApiDocument } from './openapi-types.ts';
import { code, sentence, table } from './tables.ts';

const CATALOGS = {
  'control-plane': CONTROL_PLANE_ERRORS,
  webhook: WEBHOOK_ERRORS,
  oauth: OAUTH_ERRORS,
  'json-rpc': JSON_RPC_ERRORS,
} as const;

/** The codes of one catalog: HTTP statuses, what happened, what to do. */
export function errorsTable(catalog: keyof typeof CATALOGS): string {
  const errors = Object.entries<ErrorDescription | RedirectError>(CATALOGS[catalog]);
  return table(
    ['Code', 'HTTP', 'What happened', 'What to do'],
    errors.map(([name, { statuses, mcpTool, meaning, remedy }]) => [
      code(name),
      [...statuses.map(String), ...(mcpTool ? ['MCP result'] : [])].join(', ') || 'redirect',
      meaning,
      remedy,
    ]),
  );
}

export const exitCodesTable = (): string =>
  table(
    ['Exit code', 'Meaning'],
    Object.values(EXIT_CODES).map((exit) => [String(exit.code), sentence(exit.meaning)]),
  );

export const auditEventsTable = (): string =>
  table(
    ['Event', 'Written when'],
    AUDIT_EVENT_TYPES.map((type) => [code(type), AUDIT_EVENT_DESCRIPTIONS[type]]),
  );

/** Routes by tag, in the order of the document. */
export function routesTables({ paths }: OpenApiDocument): string {
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags[0] ?? '',
      cells: [code(`${method.toUpperCase()} ${path}`), sentence(operation.summary)],
    })),
  );
  const byTag = Object.entries(Object.groupBy(rows, ({ tag }) => tag));
  return byTag
    .map(
      ([tag, routes = []]) =>
        `### ${tag}\n\n${table(
          ['Route', 'What it does'],
          routes.map(({ cells }) => cells),
        )}`,
    )
    .join('\n\n');
}
