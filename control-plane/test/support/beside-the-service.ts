import { silentLogger } from '@svault/server-kit/logger';
import type { Id } from '@svault/shared';
import { makeOwnerLink as ownerLink } from '../../src/commands/control-plane.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { rootKeysOf } from '../../src/context.ts';
import type { Database } from '../../src/store/database.ts';
import { openDatabase } from '../../src/store/open-database.ts';
import type { ManagementService } from './management-service.ts';

/** The database of a service as somebody beside it has it; to be closed. */
export function openBeside({ place, clock }: Pick<ManagementService, 'clock' | 'place'>): Promise<Database> {
  const config = controlPlaneConfig(place.env);
  return openDatabase(config.database, rootKeysOf(config), { clock, logger: silentLogger, opener: 'tool' });
}

type Beside = Pick<ManagementService, 'admin' | 'clock' | 'place'>;

async function within(
  service: Beside,
  work: (database: Database, vaultId: Id<'vlt'>) => Promise<void>,
): Promise<void> {
  const database = await openBeside(service);
  const { vaultId } = (await service.admin('GET', '/api/me')).json as { vaultId: Id<'vlt'> };
  try {
    await work(database, vaultId);
  } finally {
    await database.close();
  }
}

/** Many tokens at once, with neither events nor a webhook that is asked about them. */
export const addTokens = (service: Beside, serviceNames: readonly string[]): Promise<void> =>
  within(service, ({ unitOfWork }, vaultId) =>
    unitOfWork.run(vaultId, async ({ tokens }) => {
      const now = new Date(service.clock.now()).toISOString();
      const texts = { displayName: '', description: '', notes: '', tags: [] };
      for (const serviceName of serviceNames)
        await tokens.add({
          vaultId,
          serviceName,
          tokenType: 'PlainText',
          ...texts,
          createdAt: now,
          updatedAt: now,
        });
    }),
  );

/** A fresh link, as the subcommand makes it. */
export const makeOwnerLink = ({
  place,
  clock,
}: Pick<ManagementService, 'clock' | 'place'>): Promise<string> =>
  ownerLink(controlPlaneConfig(place.env), clock);

/** Many events at once, as a change of many things would write them. */
export const addEvents = (service: Beside, count: number): Promise<void> =>
  within(service, ({ unitOfWork }, vaultId) =>
    unitOfWork.run(vaultId, ({ audit }) =>
      audit.appendAll(
        Array.from({ length: count }, () => ({
          vaultId,
          eventType: 'LOGIN' as const,
          outcome: 'success' as const,
        })),
      ),
    ),
  );
