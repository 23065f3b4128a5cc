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
    refuses: `@svault/server-kit/logger node:fs node:fs/promises node:http node:net undici express`.split(
      /\s+/,
    ),
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
    refuses:
      `@svault/webhook/serve @svault/control-plane/serve @svault/test-kit/clock undici node:http`.split(
        /\s+/,
      ),
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
      ...`../../../shared/src/ids.ts @svault/test-kit/clock express better-sqlite3 kysely undici node:https
        @svault/server-kit/sqlite @svault/server-kit/raw-body`.split(/\s+/),
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
      ...`better-sqlite3 undici node:crypto @svault/shared/egress @svault/server-kit/sqlite`.split(/\s+/),
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

export const CODE_CASES: readonly CodeCase[] = [
  // Every way to name a module is held, not `import` alone.
  { file: 'shared/src/form-1.ts', code: `export { serve } from '@svault/webhook/serve';`, refusedBy: ARROWS },
  {
    file: 'shared/src/form-2.ts',
    code: `export const s = await import('@svault/webhook/serve');`,
    refusedBy: ARROWS,
  },
  {
    file: 'shared/src/form-3.ts',
    code: `export type S = import('@svault/webhook/serve').S;`,
    refusedBy: ARROWS,
  },
  {
    file: 'shared/src/form-4.ts',
    code: `import type { S } from '@svault/webhook/serve';\nexport type T = S;`,
    refusedBy: ARROWS,
  },
  { file: 'shared/src/form-5.ts', code: `export * from '@svault/webhook/serve';`, refusedBy: ARROWS },
  // Of node:http the programs may have the server, not the client.
  {
    file: 'server-kit/src/out-1.ts',
    code: `import { request } from 'node:http';\nrequest('http://x');`,
    refusedBy: ARROWS,
  },
  {
    file: 'webhook/src/mint/out-2.ts',
    code: `import { get as g } from 'https';\ng('https://x');`,
    refusedBy: ARROWS,
  },
  {
    file: 'server-kit/src/out-3.ts',
    code: `import http from 'node:http';\nhttp.get('http://x');`,
    refusedBy: ARROWS,
  },
  {
    file: 'server-kit/src/in.ts',
    code: `import { createServer } from 'node:http';\nexport const make = createServer;`,
  },
  {
    file: 'webhook/src/mint/out-4.ts',
    code: `export const call = (): Promise<Response> => fetch('https://x');`,
    refusedBy: 'eslint(no-restricted-globals)',
  },
  { file: 'cli/src/a.ts', code: `export * from './b.ts';`, refusedBy: SURFACE },
  { file: 'cli/src/index.ts', code: `export { b } from './b.ts';`, refusedBy: SURFACE },
  { file: 'shared/src/index.ts', code: `export { b } from './b.ts';` },
  { file: 'cli/src/c.ts', code: `export default 1;`, refusedBy: 'import(no-default-export)' },
  { file: 'cli/src/helpers.ts', code: `export const a = 1;`, refusedBy: NAMES },
  { file: 'cli/src/services/a.ts', code: `export const a = 1;`, refusedBy: NAMES },
  { file: 'cli/src/camelCase.ts', code: `export const a = 1;`, refusedBy: 'unicorn(filename-case)' },
  {
    file: 'cli/src/cycle-a.ts',
    code: `import { b } from './cycle-b.ts';\nexport const a = (): number => b();`,
    refusedBy: 'import(no-cycle)',
  },
  {
    file: 'cli/src/cycle-b.ts',
    code: `import { a } from './cycle-a.ts';\nexport const b = (): number => a();`,
    refusedBy: 'import(no-cycle)',
  },
  {
    file: 'cli/src/type-cycle-a.ts',
    code: `import type { B } from './type-cycle-b.ts';\nexport type A = B | undefined;`,
    refusedBy: 'import(no-cycle)',
  },
  {
    file: 'cli/src/type-cycle-b.ts',
    code: `import type { A } from './type-cycle-a.ts';\nexport type B = { readonly a: A };`,
    refusedBy: 'import(no-cycle)',
  },
  { file: 'cli/src/long.ts', code: 'void 0;\n'.repeat(401), refusedBy: 'eslint(max-lines)' },
  { file: 'cli/src/long.test.ts', code: 'void 0;\n'.repeat(600) },
  { file: 'cli/src/longer.test.ts', code: 'void 0;\n'.repeat(601), refusedBy: 'eslint(max-lines)' },
  {
    file: 'cli/src/lost.ts',
    code: `const work = async (): Promise<void> => {};\nwork();`,
    refusedBy: 'typescript(no-floating-promises)',
  },
  {
    file: 'cli/src/any.ts',
    code: `export const a = (b: any): string => String(b);`,
    refusedBy: 'typescript(no-explicit-any)',
  },
];
