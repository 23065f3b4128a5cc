import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { join } from 'node:path';
import { randomToken } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Ran } from '../engine/machine.ts';
import { IMAGES, NODE_IMAGE, ROOT } from '../engine/images.ts';
import { OWN_USER, type Running, runContainer, runToEnd } from '../engine/one-container.ts';

/** The suite plays this service; nobody listens there. */
const SERVICE_URL = 'http://127.0.0.1:9';
/** By a name, since a passkey is for a host name. */
const WEBHOOK_URL = 'http://localhost:8090';

/** Whose network the webhook and the suite share: it outlives a restart of the webhook. */
let network: Running;
let webhook: Running;
beforeAll(async () => {
  network = await runContainer({ image: NODE_IMAGE, entrypoint: ['sleep', 'infinity'] });
  webhook = await runContainer({
    image: IMAGES.webhook,
    network,
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
afterAll(async () => {
  await webhook?.remove();
  await network?.remove();
});

/** What a subcommand of the webhook prints. */
async function linkOf(subcommand: 'approver-link' | 'bind-link'): Promise<string> {
  const { output } = await webhook.run('node', '/svault/webhook/dist/main.js', subcommand);
  const [link] = /http\S+\?code=\S+/.exec(output) ?? [];
  if (link === undefined) throw new Error(output);
  return link;
}

const SUITE = 'conformance/src/bin.ts';
/** The suite's command writes this file and waits until it is gone. */
const RESTART = '/restart/wanted';

/** Runs the suite beside the webhook: this workspace's, in a container of the same network. */
async function runSuite(...words: string[]): Promise<Ran> {
  const folder = restartsFolder();
  return runToEnd({
    image: NODE_IMAGE,
    entrypoint: ['node', `/workspace/${SUITE}`],
    command: [...words, '--restart', `touch ${RESTART}; while [ -e ${RESTART} ]; do sleep 0.1; done`],
    binds: [`${ROOT}:/workspace:ro`, `${folder}:/restart`],
    user: OWN_USER,
    network,
  });
}

/** A folder in which the suite asks for restarts: the webhook is killed and started again. */
function restartsFolder(): string {
  const dir = tempDir();
  const wanted = join(dir.path, 'wanted');
  const over = new AbortController();
  const serving = (async () => {
    for await (const _ of watch(dir.path, { signal: over.signal })) {
      if (!existsSync(wanted)) continue;
      await webhook.crash();
      await webhook.start();
      rmSync(wanted);
    }
  })();
  onTestFinished(async () => {
    over.abort();
    await serving.catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    });
    dir.remove();
  });
  return dir.path;
}

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
  const links = [
    ...['--bind-link', await linkOf('bind-link')],
    ...['--approver-link', await linkOf('approver-link')],
  ];
  const { exitCode, output } = await runSuite(...links, '--format', 'json');
  // Progress goes to stderr, of which the engine makes one text with the report.
  const [text] = /^\{$[^]*^\}$/m.exec(output) ?? [];
  if (text === undefined) throw new Error(`it ended with ${exitCode} and no report: ${output}`);
  const report = JSON.parse(text) as Report;
  expect(report.checks.filter(({ verdict }) => verdict !== 'passed')).toEqual([]);
  expect(report.checks.map(({ id }) => id).toSorted()).toEqual(listed().toSorted());
  expect(report.checks.length).toBeGreaterThanOrEqual(529);
  expect({ exitCode, interrupted: report.interrupted }).toEqual({ exitCode: 0, interrupted: false });
});
