import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WRAPPED_COLUMNS } from '../../src/commands/wrapped-values.ts';
import { type ManagementService, startService } from '../support/management-service.ts';
import { command } from '../support/run-program.ts';

/** Statements without what the database itself would refuse, as in a damaged or partly restored copy. */
const unchecked = ({ place }: ManagementService, statements: string): Promise<void> =>
  place.state.run(
    place.state.kind === 'sqlite'
      ? `PRAGMA foreign_keys = OFF; ${statements}`
      : `SET session_replication_role = replica; ${statements}`,
  );

async function filledService(): Promise<ManagementService> {
  const service = await startService();
  for (const name of ['first', 'second']) {
    const { agent } = (await service.admin('POST', '/api/agents', { body: { name } })).json;
    const body = { serviceName: 'github', allowMissing: true };
    await service.admin('POST', `/api/agents/${agent.id}/grants`, { body });
  }
  return service;
}

describe('a consistent database', () => {
  let service: ManagementService;
  beforeAll(async () => void (service = await filledService()));
  afterAll(() => service.stop());

  test('is found so, while serve runs', async () => {
    const { code, stdout, stderr } = await command(service.place.env, 'verify-database');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /^vlt_\S+ intact, .*\n2 wrapped values looked at\nThe database is consistent\.\n$/,
    );
  });

  test('has no column of wrapped values that is not looked at', async () => {
    const columns = Object.entries(await service.place.state.columns()).flatMap(([table, names]) =>
      names
        .split(' ')
        .filter((name) => name.endsWith('_wrapped'))
        .map((name) => `${table}.${name}`),
    );
    expect(WRAPPED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted()).toEqual(
      columns.toSorted(),
    );
  });
});

test.each([
  [
    'a key of another row',
    "UPDATE agents SET key_wrapped = (SELECT key_wrapped FROM agents WHERE name = 'second')",
    '1 values of agents.key_wrapped do not open; the first is that of agt_',
  ],
  [
    'a key that is not the one of the hash',
    "UPDATE agents SET key_hash = 'other' WHERE name = 'first'",
    '1 values of agents.key_wrapped do not open',
  ],
  [
    'a key that is no base64url',
    "UPDATE agents SET key_wrapped = '!'",
    '2 values of agents.key_wrapped do not open',
  ],
  [
    'rows that refer to none',
    "DELETE FROM agents WHERE name = 'first'",
    '1 rows of grants refer to no row of agents of their account',
  ],
  [
    'rows that refer to those of another account',
    "INSERT INTO vaults (id, created_at) VALUES ('vlt_x', '2026-11-20T12:00:00.000Z'); UPDATE grants SET vault_id = 'vlt_x'",
    '2 rows of grants refer to no row of agents of their account',
  ],
  ['a missing table', 'DROP TABLE attention_marks', 'the table attention_marks is missing'],
  [
    'a missing column',
    'ALTER TABLE sessions DROP COLUMN method',
    'the table sessions is missing or has not all of its columns',
  ],
  ['a changed event', "UPDATE audit_events SET outcome = 'denied' WHERE seq = 2", '1 logs are broken'],
  [
    'a log that was cut',
    'DELETE FROM audit_events WHERE seq = (SELECT max(seq) FROM audit_events)',
    '1 logs are broken',
  ],
  [
    'a log that ends before what the webhook has of it',
    'UPDATE audit_chains SET shipped_seq = head_seq + 1',
    'ends before what is known to be in it',
  ],
])('%s is named, with exit code 1', async (_what, statements, said) => {
  const service = await filledService();
  await service.running.close();
  await unchecked(service, statements);
  const { code, stdout } = await command(service.place.env, 'verify-database');
  expect([code, stdout]).toEqual([1, expect.stringContaining(`PROBLEM: `)]);
  expect(stdout).toContain(said);
  expect(stdout).toContain('The database is not consistent.');
  await service.stop();
});
