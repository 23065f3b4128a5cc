import { CLI_ARROWS, CONTROL_PLANE_ARROWS, WEBHOOK_ARROWS } from './arrows.ts';

/** A file and what it imports: each of `refuses` must be refused by `svault(arrows)`, each of `allows` must pass. */
export interface ImportCase {
  readonly file: string;
  readonly refuses: readonly string[];
  readonly allows: readonly string[];
}

/** A file that another rule must refuse, or, without `refusedBy`, must let pass. */
export interface CodeCase {
  readonly file: string;
  readonly code: string;
  readonly refusedBy?: string;
}

const PACKAGES: readonly ImportCase[] = [
  {
    file: 'shared/src/ids.ts',
    refuses: [
      '@svault/server-kit/logger',
      'node:fs',
      'node:fs/promises',
      'node:http',
      'node:net',
      'undici',
      'express',
    ],
    allows: ['node:crypto', './bytes.ts'],
  },
  {
    file: 'shared/src/signing/sign.ts',
    refuses: ['../egress/egress.ts', 'node:https', 'node:dns', 'undici'],
    allows: ['structured-headers', '../bytes.ts'],
  },
  {
    file: 'shared/src/egress/egress.ts',
    refuses: ['node:fs', 'express', '@svault/webhook/serve'],
    allows: ['undici', 'node:net', 'node:dns', '../clock.ts'],
  },
  {
    file: 'shared/src/ids.test.ts',
    refuses: ['@svault/server-kit/logger'],
    allows: ['vitest', 'node:fs', './ids.ts'],
  },
  {
    file: 'server-kit/src/logger.ts',
    refuses: [
      '@svault/webhook/serve',
      '@svault/control-plane/serve',
      '@svault/test-kit/clock',
      'undici',
      'node:http',
    ],
    allows: ['@svault/shared', 'pino', 'express', 'better-sqlite3'],
  },
  {
    file: 'conformance/src/check/check.ts',
    refuses: ['@svault/server-kit/logger', '@svault/webhook/serve', '@svault/test-kit/clock'],
    allows: ['@svault/shared', 'node:http'],
  },
  {
    file: 'cli/src/bin.ts',
    refuses: ['svault-conformance', '@svault/server-kit/logger'],
    allows: ['@svault/shared'],
  },
  {
    file: 'clients/node/src/client.ts',
    refuses: ['@svault/shared', '@svault/test-kit/pair'],
    allows: ['jose', './http.ts', 'node:timers/promises'],
  },
  {
    file: 'compose/src/pair.ts',
    refuses: ['@svault/webhook/serve'],
    allows: ['@svault/shared', 'node:child_process'],
  },
  {
    file: 'bench/src/main.ts',
    refuses: ['@svault/control-plane/serve'],
    allows: ['@svault/compose/pair', 'express'],
  },
];

/** Both servers have the same layers; the folders have other names. */
const LAYERS: readonly ImportCase[] = (
  [
    {
      server: 'webhook',
      other: 'control-plane',
      routes: 'routes',
      feature: 'vault',
      low: 'audit',
      store: 'sqlite',
    },
    {
      server: 'control-plane',
      other: 'webhook',
      routes: 'api',
      feature: 'management',
      low: 'core',
      store: 'store',
    },
  ] as const
).flatMap(({ server, other, routes, feature, low, store }) => [
  {
    file: `${server}/src/${feature}/vault.ts`,
    refuses: [
      `@svault/${other}/serve`,
      `../../../${other}/src/serve.ts`,
      '../../../shared/src/ids.ts',
      '@svault/test-kit/clock',
      'express',
      'better-sqlite3',
      'kysely',
      'undici',
      'node:https',
      '@svault/server-kit/sqlite',
      '@svault/server-kit/raw-body',
      `../${store}/vault-store.ts`,
      `../${routes}/health.ts`,
      '../http/authenticate.ts',
      '../commands/backup.ts',
      '../context.ts',
      '../app.ts',
    ],
    allows: ['@svault/shared', '@svault/server-kit/aead', `../${low}/audit-log.ts`, 'node:crypto'],
  },
  {
    file: `${server}/src/${feature}/vault.test.ts`,
    refuses: ['@svault/test-kit/clock', `@svault/${other}/serve`],
    allows: ['vitest', `../${store}/vault-store.ts`, 'express', 'node:http', '@svault/server-kit/sqlite'],
  },
  {
    file: `${server}/src/${routes}/health.ts`,
    refuses: [
      'better-sqlite3',
      'undici',
      'node:crypto',
      '@svault/shared/egress',
      '@svault/server-kit/sqlite',
      `../${store}/vault-store.ts`,
      '../context.ts',
      '../commands/backup.ts',
    ],
    allows: ['express', '@svault/shared/schemas', `../${feature}/vault.ts`],
  },
  {
    file: `${server}/src/${store}/vault-store.ts`,
    refuses: ['express', `../${routes}/health.ts`, '../http/authenticate.ts', '../context.ts'],
    allows: ['better-sqlite3', 'kysely', '@svault/server-kit/sqlite', `../${low}/vault.ts`, './schema.ts'],
  },
  {
    file: `${server}/src/app.ts`,
    refuses: [`./${store}/vault-store.ts`, 'undici'],
    allows: ['express', `./${routes}/health.ts`, `./${feature}/vault.ts`, './context.ts'],
  },
  {
    file: `${server}/src/main.ts`,
    refuses: [`./${store}/vault-store.ts`],
    allows: ['./commands/backup.ts'],
  },
  {
    file: `${server}/src/context.ts`,
    refuses: ['undici'],
    allows: [`./${store}/vault-store.ts`, '@svault/server-kit/sqlite', '@svault/shared/egress'],
  },
  { file: `${server}/src/commands/backup.ts`, refuses: [], allows: [`../${store}/vault-store.ts`] },
  {
    file: `${server}/test/store.test.ts`,
    refuses: [`@svault/${other}/serve`, '../../shared/src/ids.ts'],
    allows: ['@svault/test-kit/pair', '@svault/compose/pair', '@svault/shared', '../src/store/schema.ts'],
  },
]);

/** Only the webhook has a second folder that reads and answers requests. */
const WEBHOOK: readonly ImportCase[] = [
  {
    file: 'webhook/src/http/authenticate.ts',
    refuses: ['better-sqlite3', '../sqlite/vault-store.ts', '../app.ts'],
    allows: ['express', '../binding/binding.ts'],
  },
  { file: 'webhook/src/vault/records.ts', refuses: ['../http/authenticate.ts'], allows: ['../errors.ts'] },
];

/** Every arrow of a table, in both directions. */
const tableCases = (
  workspace: string,
  table: Readonly<Record<string, readonly string[]>>,
  above: readonly string[],
): readonly ImportCase[] =>
  Object.entries(table).map(([folder, allowed]) => {
    const folders = Object.keys(table).filter((other) => other !== folder);
    const path = (other: string): string => `../${other}/part.ts`;
    return {
      file: `${workspace}/src/${folder}/arrows.ts`,
      refuses: [...folders.filter((other) => !allowed.includes(other)).map(path), ...above],
      allows: [...folders.filter((other) => allowed.includes(other)).map(path), './part.ts'],
    };
  });

export const IMPORT_CASES: readonly ImportCase[] = [
  ...PACKAGES,
  ...LAYERS,
  ...WEBHOOK,
  ...tableCases('webhook', WEBHOOK_ARROWS, ['../context.ts', '../commands/part.ts']),
  ...tableCases('control-plane', CONTROL_PLANE_ARROWS, ['../context.ts', '../commands/part.ts']),
  ...tableCases('cli', CLI_ARROWS, ['../program.ts', '../run.ts']),
];

const ARROWS = 'svault(arrows)';
const SURFACE = 'svault(public-surface)';
const NAMES = 'svault(telling-names)';
const READS = 'svault(retried-reads)';

/** Files with their code that a rule must refuse, or that must pass. */
const casesOf = (
  refusedBy: string | undefined,
  files: Readonly<Record<string, string>>,
): readonly CodeCase[] =>
  Object.entries(files).map(([file, code]) => ({
    file,
    code,
    ...(refusedBy !== undefined && { refusedBy }),
  }));

export const CODE_CASES: readonly CodeCase[] = [
  ...casesOf(ARROWS, {
    // Every way to name a module is held, not `import` alone.
    'shared/src/form-1.ts': `export { serve } from '@svault/webhook/serve';`,
    'shared/src/form-2.ts': `export const s = await import('@svault/webhook/serve');`,
    'shared/src/form-3.ts': `export type S = import('@svault/webhook/serve').S;`,
    'shared/src/form-4.ts': `import type { S } from '@svault/webhook/serve';\nexport type T = S;`,
    'shared/src/form-5.ts': `export * from '@svault/webhook/serve';`,
    // Of node:http the programs may have the server, not the client.
    'server-kit/src/out-1.ts': `import { request } from 'node:http';\nrequest('http://x');`,
    'webhook/src/mint/out-2.ts': `import { get as g } from 'https';\ng('https://x');`,
    'server-kit/src/out-3.ts': `import http from 'node:http';\nhttp.get('http://x');`,
  }),
  ...casesOf(undefined, {
    'server-kit/src/in.ts': `import { createServer } from 'node:http';\nexport const make = createServer;`,
    'shared/src/index.ts': `export { b } from './b.ts';`,
    'cli/src/long.test.ts': 'void 0;\n'.repeat(600),
  }),
  ...casesOf(SURFACE, {
    'cli/src/a.ts': `export * from './b.ts';`,
    'cli/src/index.ts': `export { b } from './b.ts';`,
  }),
  ...casesOf(NAMES, {
    'cli/src/helpers.ts': `export const a = 1;`,
    'cli/src/services/a.ts': `export const a = 1;`,
  }),
  ...casesOf(READS, {
    'cli/test/count.browser.test.ts': `expect(await page.getByText('a').count()).toBe(1);`,
    'cli/test/text.browser.test.ts': `expect(await page.locator('h1').textContent()).toContain('a');`,
  }),
  ...casesOf(undefined, {
    'cli/test/none.browser.test.ts': `expect(await page.getByText('a').count()).toBe(0);`,
    'cli/test/retried.browser.test.ts': `await expect.poll(() => page.getByText('a').count()).toBe(1);`,
  }),
  ...casesOf('import(no-cycle)', {
    'cli/src/cycle-a.ts': `import { b } from './cycle-b.ts';\nexport const a = (): number => b();`,
    'cli/src/cycle-b.ts': `import { a } from './cycle-a.ts';\nexport const b = (): number => a();`,
    'cli/src/type-cycle-a.ts': `import type { B } from './type-cycle-b.ts';\nexport type A = B | undefined;`,
    'cli/src/type-cycle-b.ts': `import type { A } from './type-cycle-a.ts';\nexport type B = { readonly a: A };`,
  }),
  ...casesOf('eslint(max-lines)', {
    'cli/src/long.ts': 'void 0;\n'.repeat(401),
    'cli/src/longer.test.ts': 'void 0;\n'.repeat(601),
  }),
  ...casesOf('eslint(no-restricted-globals)', {
    'webhook/src/mint/out-4.ts': `export const call = (): Promise<Response> => fetch('https://x');`,
  }),
  ...casesOf('import(no-default-export)', { 'cli/src/c.ts': `export default 1;` }),
  ...casesOf('unicorn(filename-case)', { 'cli/src/camelCase.ts': `export const a = 1;` }),
  ...casesOf('typescript(no-floating-promises)', {
    'cli/src/lost.ts': `const work = async (): Promise<void> => {};\nwork();`,
  }),
  ...casesOf('typescript(no-explicit-any)', {
    'cli/src/any.ts': `export const a = (b: any): string => String(b);`,
  }),
];
