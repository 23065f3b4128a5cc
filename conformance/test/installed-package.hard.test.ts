import { spawnSync } from 'node:child_process';
import { type InstalledPackage, installedPackage, nodesOnPath } from '@svault/test-kit/installed-package';
import { programEnv } from '@svault/test-kit/program-env';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHECKS } from '../src/registry.ts';
import { vectors } from '../src/debug/vectors.ts';
import { startReferenceWebhook } from './reference-webhook.ts';

let installed: InstalledPackage;

beforeAll(() => {
  installed = installedPackage('conformance', 'svault-conformance');
});
afterAll(() => installed.remove());

describe.each(nodesOnPath())(
  'the npm package, installed in an empty folder, on Node $version',
  ({ node }) => {
    const run = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
      spawnSync(node, [installed.command, ...args], { encoding: 'utf8', env: programEnv({}) });

    test('it finds no failure in the reference webhook, with all of its checks', async () => {
      const webhook = await startReferenceWebhook();
      try {
        const link = 'invitation' in webhook.toTest ? webhook.toTest.invitation.link : undefined;
        const { status, stdout } = run('--bind-link', link ?? '', '--format', 'json');
        expect(status).toBe(0);
        const { checks } = JSON.parse(stdout) as { checks: ReadonlyArray<{ id: string; verdict: string }> };
        expect(checks.map(({ id }) => id).toSorted()).toEqual(CHECKS.map(({ id }) => id).toSorted());
        expect(checks.filter(({ verdict }) => verdict === 'failed')).toEqual([]);
      } finally {
        await webhook.stop();
      }
    });

    test('it has the frozen vectors with it', () => {
      expect(run('vectors', 'tickets')).toEqual(
        expect.objectContaining({ status: 0, stdout: `${vectors('tickets')}\n`, stderr: '' }),
      );
    });
  },
);
