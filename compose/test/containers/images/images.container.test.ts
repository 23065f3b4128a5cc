import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomToken } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../engine/machine.ts';
import { IMAGES, NODE_IMAGE, ROOT } from '../engine/images.ts';
import { type Running, imageOf, runContainer, runToEnd } from '../engine/one-container.ts';

const MB = 1_000_000;
/** What our part may take over the base image. */
const MAX_MB = { 'control-plane': 18, webhook: 15, setup: 29 } as const;

const SERVERS = {
  'control-plane': {
    env: { SV_BASE_URL: 'http://127.0.0.1:8080', SV_MASTER_KEY: randomToken(32) },
    subcommand: 'owner-link',
    says: /http:\/\/127\.0\.0\.1:8080\/login\/link\?token=/,
  },
  webhook: {
    env: {
      SV_WEBHOOK_URL: 'http://127.0.0.1:8090',
      SV_WEBHOOK_SERVICE_URL: 'http://127.0.0.1:8080',
      SV_WEBHOOK_MASTER_KEY: randomToken(32),
      SV_WEBHOOK_SETUP_TOKEN: randomToken(32),
    },
    subcommand: 'bind-link',
    says: /http:\/\/127\.0\.0\.1:8080\/vault\/webhook-bind\?code=/,
  },
} as const;

const names = Object.keys(IMAGES) as readonly (keyof typeof IMAGES)[];

/** A package of a built program is in its folder, and in that of the workspace otherwise. */
const asLocked = (path: string): string => path.replace(/^[\w-]+\/dist\//, '');

/** Runs a line of a shell in an image. @returns its lines of output */
async function linesOf(image: string, script: string): Promise<readonly string[]> {
  const shell = { image, entrypoint: ['sh', '-c'], command: [script], writable: true };
  const { exitCode, output } = await runToEnd(shell);
  if (exitCode !== 0) throw new Error(`${script} exited with ${exitCode}: ${output}`);
  return output.split('\n').filter((line) => line !== '');
}

describe.each(names)('the image of %s', (name) => {
  const image = IMAGES[name];

  test('does not run as root, and its user can write only to its data and /tmp', async () => {
    expect((await imageOf(image)).Config.User).toBe('node');
    const found = await linesOf(
      image,
      'id -u; find / -xdev -writable ! -type l ! -path "/proc/*" ! -path "/dev/*" 2> /dev/null; find /var/lib/svault /tmp -writable 2> /dev/null || true',
    );
    const own = name === 'setup' ? ['/keys/control-plane', '/keys/webhook'] : ['/var/lib/svault'];
    expect([...new Set(found)].toSorted()).toEqual(['1000', ...own, '/tmp'].toSorted());
  });

  test('has neither a package manager of Node nor a compiler', async () => {
    const tools = 'npm npx corepack yarn pnpm gcc g++ cc make python3 python curl wget git ssh';
    expect(await linesOf(image, `for tool in ${tools}; do command -v $tool; done; command -v node`)).toEqual([
      '/usr/local/bin/node',
    ]);
  });

  test('has the packages that production needs, and no others', async () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dev?: boolean; devOptional?: boolean } | undefined>;
    };
    const found = await linesOf(
      image,
      'cd /svault && find . -path "*/node_modules/*" -name package.json -printf "%h\\n" | grep -E "node_modules/(@[^/]+/)?[^/]+$" | cut -c3-',
    );
    // The others are built into the program.
    expect(found.map(asLocked)).toEqual(expect.arrayContaining(['node_modules/better-sqlite3']));
    expect(found.length).toBeLessThan(name === 'setup' ? 130 : 40);
    const runsInProduction = (path: string): boolean => {
      const { [path]: locked } = lock.packages;
      return locked !== undefined && !locked.dev && !locked.devOptional;
    };
    expect(found.filter((path) => !runsInProduction(asLocked(path)))).toEqual([]);
  });

  test('has the built program, but no sources, no tests and no secret', async () => {
    const inside = await linesOf(
      image,
      'cd /svault && find . -type f ! -path "./compiled/*" ! -path "./compose/src/*"',
    );
    for (const program of name === 'setup' ? ['control-plane', 'webhook'] : [name]) {
      expect(inside).toContain(`./${program}/dist/main.js`);
      expect(inside).toContain(`./${program}/dist/THIRD-PARTY-LICENSES.txt`);
    }
    // The setup itself runs as it is written.
    expect(inside.filter((path) => path.endsWith('.ts') && !path.startsWith('./shared/src/'))).toEqual([]);
    expect(
      inside.filter((path) =>
        /\.test\.|\/tests?\/|\/dist\/.*\.tsbuildinfo|\/node_modules\/.*\.(?:[cm]?ts|map)$|package-lock\.json$/.test(
          path,
        ),
      ),
    ).toEqual([]);
    expect(
      inside.filter((path) => /\.env$|\.key$|\.token$|\.pem$|\.db$|\/secrets\/|\.npmrc$/.test(path)),
    ).toEqual([]);
    const { Config, History } = await imageOf(image);
    expect(Config.Env.filter((line) => /KEY|SECRET|TOKEN|PASS/.test(line))).toEqual([]);
    expect(History).not.toMatch(/svadmin_|BEGIN [A-Z ]*PRIVATE KEY|_authToken/);
  });

  test('has the built console if it is the one that serves it', async () => {
    const built = await linesOf(image, 'find /svault -name "index.html*" ! -path "*/node_modules/*" | sort');
    const page = '/svault/control-plane/console/dist/site/index.html';
    expect(built).toEqual(name === 'control-plane' ? [page, `${page}.br`] : []);
  });

  test('is not much larger than its base', async () => {
    const [ours, base] = [await imageOf(image), await imageOf(NODE_IMAGE)];
    const megabytes = (ours.Size - base.Size) / MB;
    expect(megabytes).toBeGreaterThan(0);
    expect(megabytes).toBeLessThan(MAX_MB[name]);
  });

  test('distinguishes an unknown subcommand from a failure', async () => {
    const { exitCode, output } = await runToEnd({ image, command: ['no-such-thing'] });
    expect(output).toMatch(/^Usage: /m);
    expect(exitCode).toBe(2);
  });
});

describe.each(['control-plane', 'webhook'] as const)('a container of %s', (name) => {
  const { env, subcommand, says } = SERVERS[name];
  let running: Running;
  beforeAll(async () => {
    // No user of the image, and none that its folder belongs to.
    const user = '12345:54321';
    running = await runContainer({ image: IMAGES[name], env, user, healthIntervalMs: 1_000 });
    await running.healthy();
  });
  afterAll(() => running?.remove());

  test('is healthy as any user, on a read-only file system, with a new volume', async () => {
    const { output } = await running.run(
      'sh',
      '-c',
      'touch /svault/x; id -u; touch /var/lib/svault/x && echo written',
    );
    for (const line of ['12345\n', 'written\n']) expect(output).toContain(line);
    expect(output).toContain("'/svault/x': Read-only file system");
    const { output: owner } = await running.run(
      'sh',
      '-c',
      'stat -c %u:%g $(find /var/lib/svault -name "*.db")',
    );
    expect(new Set(owner.trim().split('\n'))).toEqual(new Set(['12345:54321']));
  });

  test(`runs ${subcommand} in another container with its volume, while it serves`, async () => {
    const { exitCode, output } = await runToEnd({
      image: IMAGES[name],
      command: [subcommand],
      env,
      user: '12345:54321',
      volumesFrom: running,
    });
    expect(output).toMatch(says);
    expect(exitCode).toBe(0);
  });

  test('prints none of its secrets', async () => {
    const told = await running.logs();
    expect(told).not.toBe('');
    for (const secret of Object.values(env).filter((value) => !value.startsWith('http')))
      expect(told).not.toContain(secret);
  });

  test('is unhealthy while it is not ready, and exits with 0 after SIGTERM as process 1', async () => {
    const draining = await runContainer({
      image: IMAGES[name],
      env: { ...env, SV_DRAIN_SECONDS: '30' },
      healthIntervalMs: 500,
    });
    try {
      await draining.healthy();
      await draining.terminate();
      await until('the bad health of one that is about to stop', async () => {
        const { Health, Running } = (await draining.inspect()).State;
        if (!Running) throw new Error('it has ended');
        return Health?.Status === 'unhealthy';
      });
    } finally {
      await draining.remove();
    }
    const another = await runContainer({ image: IMAGES[name], env, healthIntervalMs: 500 });
    try {
      await another.healthy();
      await another.terminate();
      expect(await another.ended()).toBe(0);
    } finally {
      await another.remove();
    }
  });
});
