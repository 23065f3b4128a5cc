import { listen } from '@svault/server-kit/listener';
import { silentLogger } from '@svault/server-kit/logger';
import { type ManualClock, isServiceName, newId } from '@svault/shared';
import { expect } from 'vitest';
import type { Access } from '../../src/access/access.ts';
import { agentKeyCredential } from '../../src/access/agent-credential.ts';
import type { Decision } from '../../src/access/decision.ts';
import type { Denial } from '../../src/access/denial.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { createApp } from '../../src/app.ts';
import { type Context, createContext } from '../../src/context.ts';
import type { Admission, Limiter, LimiterVerdict } from '../../src/limits/limiter.ts';
import type { Limits } from '../../src/limits/limits.ts';
import type { ServeOptions } from '../../src/serve.ts';
import { type Call, type Place, clientOf, makePlace, serveOn } from '../management-service.ts';
import { type ServiceSteps, stepsOn } from '../service-steps.ts';

/** What stands behind an endpoint that does not exist yet, made as the program makes it, and the program's routes on it. */
export interface Backstage extends ServiceSteps {
  readonly place: Place;
  readonly clock: ManualClock;
  readonly context: Context;
  readonly access: Access;
  readonly limiter: Limiter;
  readonly limits: Limits;
  /** The management routes with the owner's admin key; without credentials. */
  readonly admin: Call;
  readonly anyone: Call;
  wait(ms: number): void;
  close(): Promise<void>;
}

/** @param more settings beside those of every test's service */
export async function goBackstage(
  more?: Readonly<Record<string, string>>,
  surroundings: Pick<ServeOptions, 'waitToRepeat'> = {},
): Promise<Backstage> {
  const place = await makePlace(more);
  // The program makes the account and ends; what it is made of goes on in this process.
  const { clock, running } = await serveOn(place);
  await running.close();
  const context = await createContext(controlPlaneConfig(place.env), {
    clock,
    logger: silentLogger,
    ...surroundings,
  });
  const listener = await listen(createApp(context), context.config.listen);
  const admin = clientOf(listener.url, { authorization: `Bearer ${place.adminKey}` });
  const { access, limiter, limits } = context;
  return {
    ...stepsOn(listener.url, admin),
    place,
    clock,
    context,
    access,
    limiter,
    limits,
    admin,
    anyone: clientOf(listener.url),
    wait: (ms) => clock.advance(ms),
    close: async () => {
      await listener.close();
      await context.close();
      await place.remove();
    },
  };
}

/** An account and a caller that nobody has counted yet. */
export const somebody = (kind: 'agt' | 'prx' = 'agt'): Pick<Admission, 'vaultId' | 'callerId'> => ({
  vaultId: newId('vlt'),
  callerId: newId(kind),
});

/** An admission whose account has room. */
export const admission = (
  traffic: Admission['traffic'],
  { vaultId, callerId }: Pick<Admission, 'vaultId' | 'callerId'> = somebody(),
  more: Partial<Admission> = {},
): Admission => ({ vaultId, callerId, traffic, aggregateLimit: 3_000, further: [], ...more });

/** Seconds to wait where it refuses, undefined where it lets through: what `expectWindow` asks for. */
export const hintOf = (verdict: LimiterVerdict): number | undefined =>
  verdict.allowed ? undefined : verdict.retryAfterSeconds;

/** Admits several times, one after another; all pass. */
export async function pass({ limiter }: Backstage, count: number, asked: Admission): Promise<void> {
  for (let n = 1; n <= count; n++) expect([n, await limiter.admit(asked)]).toEqual([n, { allowed: true }]);
}

/** A decision as a door asks for it: by key and service, without a request. */
export function decide({ access }: Backstage, key: string, ...services: string[]): Promise<Decision> {
  const [name] = services;
  return access.decide({
    credential: agentKeyCredential(key),
    door: 'rest',
    question:
      name === undefined
        ? { kind: 'grants' }
        : {
            kind: 'credential',
            serviceName: services.length === 1 && isServiceName(name) ? name : undefined,
          },
    sourceAddress: '192.0.2.1',
  });
}

export async function denialOf(...asked: Parameters<typeof decide>): Promise<Denial | undefined> {
  const decision = await decide(...asked);
  return decision.outcome === 'denied' ? decision.denial : undefined;
}
