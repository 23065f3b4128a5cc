import { ServerResponse } from 'node:http';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { inCopy } from '../support/database-files.ts';
import { startLinkedService } from '../support/linked-service.ts';

afterEach(() => vi.restoreAllMocks());

test('the row is written before the redirect leaves', async () => {
  const service = await startLinkedService();
  onTestFinished(() => service.stop());
  await service.bind();
  const agent = await service.agent('github');
  /** Accesses that would be found after a crash at this moment. */
  const successesInCopy = (): number =>
    inCopy(service.place.databasePath, (db) =>
      db
        .prepare<[], number>("SELECT count(*) FROM audit_events WHERE event_type = 'AGENT_CREDENTIAL_ACCESS'")
        .pluck()
        .get(),
    ) ?? 0;
  const writeHead = ServerResponse.prototype.writeHead;
  const atRedirect: number[] = [];
  vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementation(function (
    this: ServerResponse,
    ...args: unknown[]
  ) {
    if (args[0] === 307) atRedirect.push(successesInCopy());
    return Reflect.apply(writeHead, this, args) as ServerResponse;
  });
  for (const atOnce of [1, 1, 5])
    await Promise.all(Array.from({ length: atOnce }, () => agent.get('github')));
  expect(atRedirect).toHaveLength(7);
  // The n-th redirect may leave when n rows can be read from the files as they lie on the disk.
  for (const [index, rows] of atRedirect.entries()) expect(rows).toBeGreaterThan(index);
});
