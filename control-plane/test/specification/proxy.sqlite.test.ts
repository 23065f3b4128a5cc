import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { PROXY_PLAYS } from './proxy-plays.ts';
import { PROXY_ROWS } from './proxy-rows.ts';
import { type ProxyPlay, type ProxyScene, raiseProxyCurtain } from './proxy-scene.ts';
import type { Row } from './row.ts';

// What the specification says of the MCP proxy, each row by its own words: both programs, and a real upstream.

let scene: ProxyScene;
beforeAll(async () => {
  scene = await raiseProxyCurtain();
});
afterAll(() => scene.close());
beforeEach(() => scene.clear());

const plays: Readonly<Record<string, ProxyPlay<Row>>> = PROXY_PLAYS;
test.each(Object.keys(plays) as (keyof typeof PROXY_ROWS)[])('%s', async (key) => {
  await plays[key]?.(scene, PROXY_ROWS[key]);
});
