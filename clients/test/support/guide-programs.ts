import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasPython } from '@svault/test-kit/foreign-packages';
import { CACHE, ROOT, isInstalled, mustRun } from '@svault/test-kit/run-program';
import { NODE_CLIENT, PYTHON_CLIENT } from './packed-clients.ts';
import { pythonEnvironment } from './python.ts';

/** How a program is run in its folder. */
interface Runnable {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Code of a page in docs/guides, marked there by `<!-- tested: NAME FILE -->`. */
export interface GuideSnippet {
  readonly page: string;
  readonly name: string;
}

/** Code that fetches `github` and calls GitHub's API with it. */
export interface GuideProgram extends GuideSnippet {
  readonly isInstalled: boolean;
  /** Builds what was written into the folder. */
  prepare(folder: string): Promise<Runnable>;
}

const inEnvironment = (name: string): GuideProgram => ({
  page: 'python-agent.md',
  name,
  isInstalled: hasPython,
  prepare: async () => ({ command: [await pythonEnvironment(), '-W', 'error', 'agent.py'] }),
});

/** Gson, kept among what the toolchains downloaded. @returns its file */
async function gson(): Promise<string> {
  const [group, name, version] = ['com.google.code.gson', 'gson', '2.13.2'];
  const folder = join(CACHE, 'java');
  const artifact = `-Dartifact=${group}:${name}:${version}`;
  await mustRun(['mvn', '-q', '-B', 'dependency:copy', artifact, `-DoutputDirectory=${folder}`]);
  return join(folder, `${name}-${version}.jar`);
}

export const GUIDE_PROGRAMS: readonly GuideProgram[] = [
  inEnvironment('requests'),
  inEnvironment('httpx'),
  inEnvironment('urllib'),
  {
    page: 'python-agent.md',
    name: 'client',
    isInstalled: hasPython,
    async prepare(folder) {
      const { interpreter, env } = await PYTHON_CLIENT.install(folder);
      return { command: [...interpreter, 'agent.py'], env };
    },
  },
  {
    page: 'node-agent.md',
    name: 'fetch',
    isInstalled: true,
    prepare: async () => ({ command: ['node', 'agent.mjs'] }),
  },
  {
    page: 'node-agent.md',
    name: 'client',
    isInstalled: true,
    async prepare(folder) {
      const { interpreter, env } = await NODE_CLIENT.install(folder);
      return { command: [...interpreter, 'agent.mjs'], env };
    },
  },
  {
    page: 'other-languages.md',
    name: 'curl',
    isInstalled: isInstalled('curl', '--version') && isInstalled('jq', '--version'),
    prepare: async () => ({ command: ['sh', 'agent.sh'] }),
  },
  {
    page: 'other-languages.md',
    name: 'go',
    isInstalled: isInstalled('go', 'version'),
    async prepare(folder) {
      await mustRun(['go', 'build', '-o', 'agent', 'main.go'], { cwd: folder });
      return { command: ['./agent'] };
    },
  },
  {
    page: 'other-languages.md',
    name: 'java',
    isInstalled: isInstalled('javac', '-version') && isInstalled('mvn', '--version'),
    prepare: async () => ({ command: ['java', '-cp', await gson(), 'Agent.java'] }),
  },
  {
    page: 'other-languages.md',
    name: 'rust',
    isInstalled: isInstalled('cargo', '--version'),
    async prepare(folder) {
      const target = join(CACHE, 'rust');
      await mustRun(['cargo', 'build', '--quiet', '--target-dir', target], { cwd: folder });
      return { command: [join(target, 'debug/agent')] };
    },
  },
];

/** guide-snippets.clients.test.ts runs these. */
export const GUIDE_SNIPPETS: readonly GuideSnippet[] = [
  { page: 'python-agent.md', name: 'unit-test' },
  { page: 'python-agent.md', name: 'mcp' },
  { page: 'node-agent.md', name: 'unit-test' },
];

/** What a page marks with a program's name: each file with its text. */
export function filesOf({ page, name }: GuideSnippet): readonly (readonly [string, string])[] {
  return markedBlocks(page)
    .filter((block) => block.name === name)
    .map(({ file, text }) => [file, text]);
}

/** Every block of a page with a mark. */
export function markedBlocks(
  page: string,
): readonly { readonly name: string; readonly file: string; readonly text: string }[] {
  const source = readFileSync(join(ROOT, 'docs/guides', page), 'utf8');
  return [...source.matchAll(/^<!-- tested: (\S+) (\S+) -->\n```\w+\n([\s\S]*?)^```$/gm)].map(
    ([, name = '', file = '', text = '']) => ({ name, file, text }),
  );
}
