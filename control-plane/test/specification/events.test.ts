import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { EVENT_PLAYS, VERSION_PLAYS } from './event-plays.ts';
import { EVENT_ROWS, VERSION_ROWS } from './event-rows.ts';
import { type ProxyPlay, type ProxyScene, raiseProxyCurtain } from './proxy-scene.ts';
import type { Row } from './row.ts';

// The specification's "Events" and "Versioning", each row by its own words.

let scene: ProxyScene;
beforeAll(async () => {
  scene = await raiseProxyCurtain();
});
afterAll(() => scene.close());
beforeEach(() => scene.clear());

describe.each([
  ['Events', EVENT_ROWS, EVENT_PLAYS],
  ['Versioning', VERSION_ROWS, VERSION_PLAYS],
] as const)('%s', (_section, rows, plays) => {
  test.each(Object.entries(plays as Readonly<Record<string, ProxyPlay<Row>>>))('%s', async (key, play) => {
    await play(scene, (rows as Readonly<Record<string, Row>>)[key]!);
  });
});
