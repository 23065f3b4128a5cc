import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { ENVELOPE_PLAYS } from './envelope-plays.ts';
import { VERSION_PLAYS } from './event-plays.ts';
import { VERSION_ROWS } from './event-rows.ts';
import { POLICY_PLAYS } from './policy-plays.ts';
import { POLICY_ROWS } from './policy-rows.ts';
import { type ProxyPlay, type ProxyScene, raiseProxyCurtain } from './proxy-scene.ts';
import type { Row } from './row.ts';
import { SERVICE_PLAYS } from './service-plays.ts';
import { WEBHOOK_PLAYS } from './webhook-plays.ts';
import { ENVELOPE_ROWS, SERVICE_ROWS, WEBHOOK_ROWS } from './webhook-rows.ts';

// What the specification says of the webhook, of calls to it, of policies and of versions, each row by its own words.

let scene: ProxyScene;
beforeAll(async () => {
  scene = await raiseProxyCurtain();
});
afterAll(() => scene.close());
beforeEach(() => scene.clear());

describe.each([
  ['its endpoints', WEBHOOK_ROWS, WEBHOOK_PLAYS],
  ['how the service calls it', SERVICE_ROWS, SERVICE_PLAYS],
  ['versions', VERSION_ROWS, VERSION_PLAYS],
  ['policies', POLICY_ROWS, POLICY_PLAYS],
  ['what it returns', ENVELOPE_ROWS, ENVELOPE_PLAYS],
] as const)('%s', (_what, rows, plays) => {
  test.each(Object.entries(plays as Readonly<Record<string, ProxyPlay<Row>>>))('%s', async (key, play) => {
    await play(scene, (rows as Readonly<Record<string, Row>>)[key]!);
  });
});
