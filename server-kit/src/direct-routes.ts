import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** Handles a request as Node gives it. Its rejection goes to the app's error handler. */
export type DirectHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/**
 * Serves paths that have to be fast without Express, whose router costs as much as a refusal. Each is mounted in the app as
 * well, which takes the errors of its handler and requests that write the path in an unusual form.
 *
 * @param app without middleware so far: direct handlers meet none
 */
export function createDirectRoutes(app: Express) {
  const handlers = new Map<string, DirectHandler>();
  const failures = new WeakMap<IncomingMessage, { readonly error: unknown }>();

  return {
    /** Handles every method of a path. */
    add: (path: string, handler: DirectHandler): void => {
      handlers.set(path, handler);
      app.all(path, async (req, res) => {
        const failure = failures.get(req);
        if (failure !== undefined) throw failure.error;
        await handler(req, res);
      });
    },
    listener: ((req, res) => {
      const handler = handlers.get(pathOf(req));
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
