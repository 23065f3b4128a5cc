import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CODE_CASES, IMPORT_CASES } from './lint-cases.ts';

/**
 * A rule that has silently stopped to apply is worse than none. So the project's own configuration lints a small
 * tree of violations, and of the neighbours that must stay allowed, in one run; each test below reads its part.
 */
const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
interface TsConfig {
  readonly compilerOptions: object;
}
interface Finding {
  readonly filename: string;
  readonly code: string;
  readonly message: string;
}

let folder: string;
let findings: readonly Finding[];

const importing = (specifiers: readonly string[]): string =>
  specifiers
    .map((specifier, index) => `import * as a${index} from '${specifier}';\nvoid a${index};\n`)
    .join('');

async function lint(cwd: string): Promise<readonly Finding[]> {
  const oxlint = join(ROOT, 'node_modules/.bin/oxlint');
  const folders = readdirSync(cwd, { withFileTypes: true }).filter((entry) => entry.isDirectory());

  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      oxlint,
      ['--type-aware', '--format', 'json', ...folders.map(({ name }) => name)],
      { cwd },
      (error, stdout, stderr) => {
        if (stdout.startsWith('{')) resolve(stdout);
        else reject(new Error(`oxlint did not report: ${stderr}`, { cause: error }));
      },
    );
  });
  return (JSON.parse(output) as { diagnostics: Finding[] }).diagnostics;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svault-lint-'));
  for (const file of ['.oxlintrc.json', 'package.json', 'scripts/lint'])
    await cp(join(ROOT, file), join(folder, file), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const { compilerOptions } = JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8')) as TsConfig;
  // Without the references: a reference to a folder that is not there silently switches `import/no-cycle` off.
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const files = new Map([
    ...IMPORT_CASES.map(({ file, refuses, allows }) => [file, importing([...refuses, ...allows])] as const),
    ...CODE_CASES.map(({ file, code }) => [file, code] as const),
  ]);
  expect(files.size).toBe(IMPORT_CASES.length + CODE_CASES.length);
  for (const [file, code] of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), code);
  }
  findings = await lint(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Specifiers that `svault(arrows)` refused in a file. */
const refusedIn = (file: string): readonly string[] =>
  findings
    .filter(({ filename, code }) => filename === file && code === 'svault(arrows)')
    .map(({ message }) => / must not import (\S+): /.exec(message)?.[1] ?? message);

describe('arrows', () => {
  test.each(IMPORT_CASES)('of $file', ({ file, refuses }) => {
    expect(refusedIn(file).toSorted()).toEqual([...refuses].toSorted());
  });
});

describe('rules', () => {
  test.each(CODE_CASES.filter(({ refusedBy }) => refusedBy !== undefined))('$refusedBy in $file', (each) => {
    const codes = findings.filter(({ filename }) => filename === each.file).map(({ code }) => code);
    expect(codes).toContain(each.refusedBy);
  });
  test.each(CODE_CASES.filter(({ refusedBy }) => refusedBy === undefined))('nothing in $file', ({ file }) => {
    const codes = findings.filter(({ filename }) => filename === file).map(({ code }) => code);
    expect(codes.filter((code) => !code.startsWith('typescript'))).toEqual([]);
  });
});
