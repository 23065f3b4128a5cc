import express, { type Express } from 'express';
import { WEBHOOK_ERROR_STATUS, parseWebhookUrl } from '@svault/shared';
import { errorHandler } from '@svault/server-kit/error-handler';
import { apiHeaders } from '@svault/server-kit/security-headers';
import type { Context } from './context.ts';
import { refusal } from './http/errors.ts';
import { stripPrefix } from './http/strip-prefix.ts';
import { createProbeRoutes } from './routes/probes.ts';

/** Everything a request passes, in order. */
export function createApp(context: Context): Express {
  const { config, logger } = context;
  const address = parseWebhookUrl(config.webhookUrl);
  const https = config.webhookUrl.startsWith('https:');

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.set('query parser', false);

  if (address.ok && address.pathPrefix !== '') app.use(stripPrefix(address.pathPrefix));
  app.use(apiHeaders({ https }));
  app.use(createProbeRoutes({ isReady: context.isReady }));
  app.use(() => {
    throw refusal('NOT_FOUND', 'there is nothing here');
  });
  app.use(
    errorHandler({
      statusOf: WEBHOOK_ERROR_STATUS,
      storageFailure: 'UNAVAILABLE',
      internal: 'INTERNAL',
      logger,
    }),
  );
  return app;
}
