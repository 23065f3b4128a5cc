import { isCountedWrite } from './mount-routes.ts';
import { MAKES } from '../../core/quotas.ts';
import * as z from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import type { ErrorCode } from '../../core/errors.ts';
import { ERROR_STATUS } from '../http/errors.ts';
import type { ManagementDependencies } from './dependencies.ts';
import { type ManagementRoute, definePublicRoute } from './route-definition.ts';

const errorSchema = z
  .object({
    error: z.string().meta({ description: 'For people' }),
    code: z.string().meta({ description: 'For programs' }),
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    retryAfter: z.int().optional().meta({ description: 'Seconds' }),
    requestId: z.string().meta({ description: 'The id under which the logs have the request' }),
  })
  .meta({ id: 'Error' });

const SECURITY = [{ adminKey: [] }, { session: [] }];

/**
 * The OpenAPI 3.1 document of these routes, made from the schemas that parse their requests and shape their responses.
 */
async function openApiDocument(
  routes: readonly ManagementRoute[],
  { baseUrl, cookie }: Pick<ManagementDependencies, 'baseUrl' | 'cookie'>,
): Promise<Record<string, unknown>> {
  // Loaded with the first request: most services never get one, and the package is large.
  const { createDocument } = await import('zod-openapi');
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  const document = createDocument({
    openapi: '3.1.0',
    info: {
      title: 'svault control plane',
      version: '1',
      description: 'Management of agents, grants and token metadata. No answer ever holds a credential.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    paths,
    components: {
      securitySchemes: {
        adminKey: { type: 'http', scheme: 'bearer', bearerFormat: 'svadmin_…' },
        session: { type: 'apiKey', in: 'cookie', name: cookie.name },
      },
    },
  });
  return document as unknown as Record<string, unknown>;
}

function operationOf(route: ManagementRoute): ZodOpenApiOperationObject {
  const { params, query, body, response } = route;
  return {
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    security: route.role === 'public' ? [] : SECURITY,
    ...((params !== undefined || query !== undefined) && {
      requestParams: {
        ...(params !== undefined && { path: params as z.ZodObject }),
        ...(query !== undefined && { query: query as z.ZodObject }),
      },
    }),
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      [String(response.status)]: {
        description: response.status === 204 ? 'Done' : 'The answer',
        ...contentOf(response),
      },
      ...errorsByStatus(route),
    },
  } as ZodOpenApiOperationObject;
}

function contentOf(response: ManagementRoute['response']): object {
  if (response.status === 204) return {};
  // The schema is that of an event's data.
  if ('events' in response) return { content: { 'text/event-stream': { schema: response.events } } };
  const schema = 'schema' in response ? response.schema : response.streams;
  const types = ('types' in response && response.types) || ['application/json'];
  return { content: Object.fromEntries(types.map((type) => [type, { schema }])) };
}

/** The errors that a route's shape implies, and those that it names, grouped by status. */
function errorsByStatus(route: ManagementRoute): Record<string, unknown> {
  const codes = new Set<ErrorCode>(route.errors);
  if (route.role !== 'public') codes.add('UNAUTHENTICATED').add('FORBIDDEN');
  if (route.role !== 'public' && route.whenLocked === 'denied') codes.add('VAULT_LOCKED');
  if (route.params !== undefined) codes.add('NOT_FOUND');
  if (route.limit !== undefined || (route.role !== 'public' && isCountedWrite(route)))
    codes.add('RATE_LIMITED');
  if (MAKES[route.operation] !== undefined) codes.add('QUOTA_EXCEEDED');
  codes.add('INVALID_ARGUMENT');
  if (route.method !== 'get')
    codes.add('INVALID_REQUEST').add('TOO_LARGE').add('UNSUPPORTED_MEDIA_TYPE').add('UNAVAILABLE');
  const content = { 'application/json': { schema: errorSchema } };
  const byStatus = Object.groupBy([...codes].sort(), (code) => String(ERROR_STATUS[code]));
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, group = []]) => [
      status,
      { description: group.join(', '), content },
    ]),
  );
}

/** `GET /api/openapi.json`. The document includes this route, and is made once. */
export function createOpenApiRoute(
  routes: readonly ManagementRoute[],
  options: Pick<ManagementDependencies, 'baseUrl' | 'cookie'>,
): ManagementRoute {
  const route: ManagementRoute = definePublicRoute('GET /api/openapi.json', {
    operation: 'getOpenApi',
    tag: 'Service',
    summary: 'This document',
    response: { status: 200, schema: z.record(z.string(), z.unknown()) },
    handle: () => (document ??= openApiDocument([...routes, route], options)),
  });
  let document: Promise<Record<string, unknown>> | undefined;
  return route;
}
