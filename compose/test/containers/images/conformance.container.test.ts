import { spawnSync } from 'node:child_process';
import { randomToken } from '@svault/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Ran } from '../engine/machine.ts';
import { IMAGES, NODE_IMAGE, ROOT } from '../engine/images.ts';
import { OWN_USER, type Running, runContainer, runToEnd } from '../engine/one-container.ts';

/** The suite plays this service; nobody listens there. */
const SERVICE_URL = 'http://127.0.0.1:9';
const WEBHOOK_URL = 'http://127.0.0.1:8090';

let webhook: Running;
beforeAll(async () => {
  webhook = await runContainer({
    image: IMAGES.webhook,
    env: {
      SV_WEBHOOK_URL: WEBHOOK_URL,
      SV_WEBHOOK_SERVICE_URL: SERVICE_URL,
      SV_WEBHOOK_MASTER_KEY: randomToken(32),
      SV_WEBHOOK_SETUP_TOKEN: randomToken(32),
      // The suite's own servers.
      SV_EGRESS_ALLOW: '127.0.0.0/8',
      SV_LOG_LEVEL: 'warn',
    },
    healthIntervalMs: 1_000,
  });
  await webhook.healthy();
});
afterAll(() => webhook?.remove());

async function bindLink(): Promise<string> {
  const { output } = await webhook.run('node', '/svault/webhook/dist/main.js', 'bind-link');
  const [link] = /http\S+\/vault\/webhook-bind\?\S+/.exec(output) ?? [];
  if (link === undefined) throw new Error(output);
  return link;
}

const SUITE = 'conformance/src/bin.ts';

/** Runs the suite beside the webhook: this workspace's, in a container that shares its network. */
const runSuite = (...words: string[]): Promise<Ran> =>
  runToEnd({
    image: NODE_IMAGE,
    entrypoint: ['node', `/workspace/${SUITE}`],
    command: words,
    binds: [`${ROOT}:/workspace:ro`],
    user: OWN_USER,
    network: webhook,
  });

/** Ids of all checks that there are. */
function listed(): readonly string[] {
  const { stdout } = spawnSync(process.execPath, [SUITE, '--list'], { cwd: ROOT, encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => /^\S+(?=\t)/.exec(line) ?? []);
}

interface Report {
  readonly interrupted: boolean;
  readonly checks: readonly { readonly id: string; readonly verdict: string }[];
}

test("the webhook's container passes every check of the conformance suite, and none is left out", async () => {
  const { exitCode, output } = await runSuite('--bind-link', await bindLink(), '--format', 'json');
  // Progress goes to stderr, of which the engine makes one text with the report.
  const [text] = /^\{$[^]*^\}$/m.exec(output) ?? [];
  if (text === undefined) throw new Error(`it ended with ${exitCode} and no report: ${output}`);
  const report = JSON.parse(text) as Report;
  expect(report.checks.filter(({ verdict }) => verdict !== 'passed')).toEqual([]);
  expect(report.checks.map(({ id }) => id).toSorted()).toEqual(listed().toSorted());
  expect(report.checks.length).toBeGreaterThanOrEqual(529);
  expect({ exitCode, interrupted: report.interrupted }).toEqual({ exitCode: 0, interrupted: false });
});
