import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { EVENT_PLAYS } from './event-plays.ts';
import { EVENT_ROWS } from './event-rows.ts';
import { type ProxyPlay, type ProxyScene, raiseProxyCurtain } from './proxy-scene.ts';
import type { Row } from './row.ts';

// The specification's "Events", each row by its own words.

let scene: ProxyScene;
beforeAll(async () => {
  scene = await raiseProxyCurtain();
});
afterAll(() => scene.close());
beforeEach(() => scene.clear());

const plays: Readonly<Record<string, ProxyPlay<Row>>> = EVENT_PLAYS;
test.each(Object.keys(plays) as (keyof typeof EVENT_ROWS)[])('%s', async (key) => {
  await plays[key]?.(scene, EVENT_ROWS[key]);
});
