import { VERSION } from '@svault/server-kit/version';
import { expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { type Place, makePlace } from '../support/management-service.ts';
import { command, program } from '../support/run-program.ts';
import { serviceInTest } from '../support/use-service.ts';

const [last, ...before] = MIGRATIONS.toReversed();
if (last?.name !== 'checkpoints') throw new Error('undo the newest migration in place of this one');
/** What a program before the newest migration left. */
const WITHOUT_LAST = `DROP TABLE audit_checkpoints; DELETE FROM schema_migrations WHERE id = ${last.id}`;

async function formerPlace(): Promise<Place> {
  const place = await makePlace();
  onTestFinished(() => place.remove());
  expect(await command(place.env, 'migrate')).toMatchObject({
    code: 0,
    stdout: 'No migration was pending.\n',
  });
  await place.state.run(WITHOUT_LAST);
  return place;
}

test('migrate --check says what is pending and changes nothing: exit 3; migrate applies it: exit 0', async () => {
  const place = await formerPlace();
  const state = await place.state.digest();
  const newest = before[0]!;
  expect(await command(place.env, 'migrate', '--check')).toEqual({
    code: 3,
    stdout: `svault ${VERSION} can run on this database, which has schema ${newest.id} (${newest.name}), applied by svault ${VERSION}.
Pending: ${last.id} (${last.name}), expand.
Processes that serve on it keep working while these are applied.
`,
    stderr: '',
  });
  expect(await place.state.digest()).toBe(state);
  expect(await command(place.env, 'migrate')).toEqual({
    ...{ code: 0, stdout: `Applied ${last.id} ${last.name}.\n`, stderr: '' },
  });
  expect(await command(place.env, 'migrate', '--check')).toMatchObject({
    ...{ code: 0, stdout: expect.stringMatching(/No migration is pending\.\n$/) },
  });
});

test('migrate --check in a separate process beside a running serve exits 0', async () => {
  const { place } = await serviceInTest();
  expect(await program(place.env, 'migrate', '--check')).toMatchObject({ code: 0, stderr: '' });
});

test('migrate --check names steps of a newer program, and fails with both versions named where this one cannot run', async () => {
  const { place } = await serviceInTest();
  const add = (id: number, compatibleFrom: number) =>
    place.state.run(`INSERT INTO schema_migrations VALUES (${id}, 'later', ${compatibleFrom}, '9.8.7')`);
  await add(9_001, 0);
  expect(await command(place.env, 'migrate', '--check')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Of a newer program: 9001 (later), applied by svault 9.8.7.\n'),
  });
  await add(9_002, 9_001);
  for (const words of [['migrate', '--check'], ['migrate']])
    expect(await command(place.env, ...words)).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(/schema 9002 \(later\), applied by svault 9\.8\.7,.* this is svault \d/),
    });
});

test('where there is no database yet, neither makes one', async () => {
  const place = await makePlace({}, { empty: true });
  onTestFinished(() => place.remove());
  if (place.state.kind === 'postgres')
    await place.state.run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const stdout = 'There is no database yet: the first start makes it.\n';
  expect(await command(place.env, 'migrate')).toEqual({ code: 0, stdout, stderr: '' });
  expect(await command(place.env, 'migrate', '--check')).toEqual({ code: 3, stdout, stderr: '' });
  expect(await place.state.columns()).toEqual({});
});

test('migrate with another word shows its usage: exit 2', async () => {
  const { place } = await serviceInTest();
  expect(await command(place.env, 'migrate', '--chekc')).toMatchObject({ code: 2, stdout: '' });
});
