import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { ERROR_ROWS } from './error-rows.ts';
import { LIMIT_ROWS } from './limit-rows.ts';
import { PROXY_ERROR_PLAYS } from './proxy-error-plays.ts';
import { PROXY_LIMIT_PLAYS } from './proxy-limit-plays.ts';
import { type ProxyPlay, type ProxyScene, raiseProxyCurtain } from './proxy-scene.ts';
import type { Row } from './row.ts';

// The specification's "Errors" and "Limits" at the proxy endpoint, by their own words and at their real numbers.

let scene: ProxyScene;
beforeAll(async () => {
  scene = await raiseProxyCurtain();
});
afterAll(() => scene.close());
beforeEach(() => scene.clear());

describe.each([
  ['Errors', ERROR_ROWS, PROXY_ERROR_PLAYS],
  ['Limits', LIMIT_ROWS, PROXY_LIMIT_PLAYS],
] as const)('%s', (_section, rows, plays) => {
  test.each(Object.entries(plays as Readonly<Record<string, ProxyPlay<Row>>>))('%s', async (key, play) => {
    await play(scene, (rows as Readonly<Record<string, Row>>)[key]!);
  });
});
