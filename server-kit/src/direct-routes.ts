import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Express } from 'express';
import { traceRoute } from './tracing.ts';

/** Handles a request as Node gives it. Its rejection goes to the app's error handler. */
export type DirectHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/**
 * Serves paths that have to be fast without Express, whose router costs as much as a refusal. The app gets the errors of
 * their handlers, and requests whose path is in an unusual form.
 *
 * @param app without middleware so far: direct handlers meet none
 */
export function createDirectRoutes(app: Express) {
  const handlers = new Map<string, DirectHandler>();
  const below: (readonly [prefix: string, handler: DirectHandler])[] = [];
  const named =
    (route: string, handler: DirectHandler): DirectHandler =>
    (req, res) => {
      traceRoute(req, route);
      return handler(req, res);
    };
  const failures = new WeakMap<IncomingMessage, { readonly error: unknown }>();
  app.use((req, _res, next) => {
    const failure = failures.get(req);
    if (failure !== undefined) throw failure.error;
    next();
  });
  const handlerOf = (path: string): DirectHandler | undefined =>
    handlers.get(path) ?? below.find(([prefix]) => path.startsWith(prefix))?.[1];

  return {
    /** Handles every method of a path. */
    add: (path: string, handler: DirectHandler): void => {
      handlers.set(path, named(path, handler));
      app.all(path, handler);
    },
    /** Handles every method of a path and of all paths below it. Unlike with `add`, an unusual form is not found. */
    addBelow: (path: string, handler: DirectHandler): void => {
      handlers.set(path, named(path, handler));
      below.push([`${path}/`, named(`${path}/{*rest}`, handler)]);
    },
    listener: ((req, res) => {
      const handler = handlerOf(pathOf(req));
      if (handler === undefined) return void app(req, res);
      handler(req, res).catch((error: unknown) => {
        failures.set(req, { error });
        app(req, res);
      });
    }) satisfies RequestListener,
  };
}

function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
