import { listen } from '@svault/server-kit/listener';
import { silentLogger } from '@svault/server-kit/logger';
import { type ManualClock, isServiceName, newTimeOrderedId } from '@svault/shared';
import type { Access, Decision } from '../../src/access/decision.ts';
import { agentKeyCredential } from '../../src/core/agent.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { createApp } from '../../src/app.ts';
import { type Context, createContext } from '../../src/context.ts';
import type { ServeOptions } from '../../src/serve.ts';
import { type Call, type Place, clientOf, makePlace, serveOn } from './management-service.ts';
import { type ServiceSteps, stepsOn } from './service-steps.ts';

/** What stands behind the endpoints, made as the program makes it, and the program's routes on it. */
export interface InProcess extends ServiceSteps {
  readonly place: Place;
  readonly clock: ManualClock;
  readonly context: Context;
  readonly access: Access;
  /** The management routes with the owner's admin key. */
  readonly admin: Call;
  close(): Promise<void>;
}

/** @param more settings beside those of every test's service */
export async function startInProcess(
  more?: Readonly<Record<string, string>>,
  surroundings: Pick<ServeOptions, 'waitToRetry'> = {},
): Promise<InProcess> {
  const place = await makePlace(more);
  // The program makes the account and ends; what it is made of goes on in this process.
  const { clock, running } = await serveOn(place);
  await running.close();
  const context = await createContext(controlPlaneConfig(place.env), {
    clock,
    logger: silentLogger,
    ...surroundings,
  });
  const listener = await listen(createApp(context).listener, context.config.listen);
  const admin = clientOf(listener.url, { authorization: `Bearer ${place.adminKey}` });
  const { access } = context;
  return {
    ...stepsOn(listener.url, admin),
    place,
    clock,
    context,
    access,
    admin,
    close: async () => {
      await listener.close();
      await context.close();
      await place.remove();
    },
  };
}

/** A decision as a door asks for it: by key and service, without a request. */
export function decide({ access }: InProcess, key: string, ...services: string[]): Promise<Decision> {
  const [name] = services;
  return access.decide({
    credential: agentKeyCredential(key),
    channel: 'rest',
    operation:
      name === undefined
        ? { kind: 'grants' }
        : {
            kind: 'credential',
            serviceName: services.length === 1 && isServiceName(name) ? name : undefined,
          },
    origin: { requestId: newTimeOrderedId('req', 0), channel: 'rest', address: '192.0.2.1' },
  });
}
