import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pythonEnvironment } from '@svault/test-kit/foreign-packages';
import { ROOT } from '@svault/test-kit/run-program';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect } from 'vitest';
import { BIN } from '../command-line.ts';
import { type CoveredApi, SECRET, coveredApi } from './covered-api.ts';
import { holdersOf } from './processes.ts';

/** How a program gets at the API: with the credential itself, by the proxy's base URL, or in `svault run`. */
type Way = 'direct' | 'base' | 'run';

export interface Ran {
  readonly code: number | null;
  readonly out: Buffer;
  readonly err: string;
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Of `svault run`. */
  readonly flags?: readonly string[];
  /** Gets all that stdout has shown so far. */
  readonly onOut?: (text: string) => void;
}

type Start = (command: readonly [string, ...string[]], options?: RunOptions) => Promise<Ran>;

/**
 * An API and programs that call it. A program that goes through the proxy has no way around it, and what it must not
 * have is searched for while it calls and when it has ended: in its files, in processes, logs and traffic.
 */
export interface Programs extends CoveredApi {
  /** Home, working folder and temporary folder of each way. */
  readonly homes: Readonly<Record<Way, string>>;
  readonly direct: Start;
  readonly byBaseUrl: Start;
  readonly inRun: Start;
}

/** @param options as of `coveredApi`; `secrets` are the forms that the credential has in requests */
export async function programs({
  secrets = [SECRET],
  ...options
}: Parameters<typeof coveredApi>[0] & { readonly secrets?: readonly string[] }): Promise<Programs> {
  let onRequest = (): void => undefined;
  const api = await coveredApi({
    ...options,
    api: (req, res) => {
      onRequest();
      return options.api(req, res);
    },
  });
  const folder = tempDir();
  const homeOf = (way: Way): string => {
    const home = join(folder.path, way);
    mkdirSync(home);
    return home;
  };
  const homes = { direct: homeOf('direct'), base: homeOf('base'), run: homeOf('run') };
  const { PATH = '', SVAULT_BASE_URL: _, SVAULT_KEY: __, ...trusting } = api.env;
  const surroundings = {
    direct: { ...trusting, PATH },
    base: { PATH },
    run: { ...api.env },
  };
  /** What nobody but the webhook may have, and, in a run, nobody but svault itself. */
  const kept = { direct: [], base: secrets, run: [...secrets, api.key] };

  const start =
    (way: Way): Start =>
    async (command, { env, flags = [], onOut } = {}) => {
      const [program, ...args] =
        way === 'run' ? [process.execPath, BIN, 'run', ...flags, '--', ...command] : command;
      const home = homes[way];
      const found = new Set<string>();
      const { length: before } = api.heads;
      const child = spawn(program, args, {
        env: { ...surroundings[way], HOME: home, TMPDIR: home, ...env },
        cwd: home,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      onRequest = () => {
        const holders = way === 'run' ? holdersOf(api.agent.key).filter(({ pid }) => pid !== child.pid) : [];
        for (const held of [...kept[way].flatMap(holdersOf), ...holders]) found.add(held.where);
        onRequest = () => undefined;
      };
      const chunks: Buffer[] = [];
      let err = '';
      child.stdout.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        onOut?.(Buffer.concat(chunks).toString());
      });
      child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
      const [code] = (await once(child, 'close')) as [number | null];
      const ran = { code, out: Buffer.concat(chunks), err };
      if (way === 'direct') return ran;
      for (const secret of kept[way]) {
        for (const file of filesIn(home))
          if (tracesOf(secret, readFileSync(file)).length > 0) found.add(file);
        if (tracesOf(secret, Buffer.concat([ran.out, Buffer.from(err)])).length > 0) found.add('output');
      }
      for (const secret of [...secrets, api.key, api.agent.key]) {
        if (tracesOf(secret, api.traffic()).length > 0) found.add('traffic of control plane and webhook');
        for (const name of ['control-plane', 'webhook'] as const)
          if (tracesOf(secret, Buffer.from(api.people.pair.logOf(name))).length > 0)
            found.add(`log of the ${name}`);
      }
      const asked = Buffer.from(api.heads.slice(before).join('\n'));
      for (const own of [api.key, api.agent.key, 'svault-placeholder'])
        if (tracesOf(own, asked).length > 0)
          found.add(`a request to the API has ${own}:\n${asked.toString()}`);
      expect([...found]).toEqual([]);
      if (asked.length === 0) throw new Error(`it asked the API nothing: ${ran.out.toString()}${err}`);
      return ran;
    };
  return {
    ...api,
    homes,
    direct: start('direct'),
    byBaseUrl: start('base'),
    inRun: start('run'),
    close: async () => {
      await api.close();
      folder.remove();
    },
  };
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);

/** The command that a page shows in a block which begins so, for the addresses of a test. */
export function shown(page: string, begins: string, replaced: Readonly<Record<string, string>>): string {
  const source = readFileSync(new URL(`../../../docs/guides/${page}`, import.meta.url), 'utf8');
  const block = [...source.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].find(([, text = '']) =>
    text.startsWith(begins),
  );
  let text = block?.[1] ?? '';
  for (const [from, to] of Object.entries(replaced)) {
    if (!text.includes(from))
      throw new Error(`${page} has no block that begins with ${begins} and has ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

export const expectSuccess = ({ code, out, err }: Ran): void =>
  expect({ code, shown: code === 0 ? '' : `${out.toString()}${err}` }).toEqual({ code: 0, shown: '' });

/** Python with the programs of requirements.txt. @returns its interpreter */
export const pythonOfPrograms = (): Promise<string> =>
  pythonEnvironment(join(ROOT, 'cli/test/run/requirements.txt'));
