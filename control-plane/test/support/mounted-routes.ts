import type { Router } from 'express';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock } from '@svault/shared';
import { createApp } from '../../src/app.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { type Context, createContext } from '../../src/context.ts';
import { type Place, makePlace } from './management-service.ts';

/** Every route that is really mounted, `GET /path/{id}`, read from express's own stack. */
export async function mountedRoutes(): Promise<string[]> {
  const place: Place = await makePlace();
  const context: Context = await createContext(controlPlaneConfig(place.env), {
    clock: new ManualClock(),
    logger: silentLogger,
  });
  try {
    return [...new Set(routesOf(createApp(context).app.router as Router))];
  } finally {
    await context.close();
    await place.remove();
  }
}

function routesOf(router: Router): string[] {
  return router.stack.flatMap(({ route, handle }) => {
    if (route === undefined) return 'stack' in handle ? routesOf(handle as unknown as Router) : [];
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    const methods = route.stack.flatMap(({ method }) => (method === undefined ? [] : [method.toUpperCase()]));
    return methods.map((method) => `${method} ${path}`);
  });
}
