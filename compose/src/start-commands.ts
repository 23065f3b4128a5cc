import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pairSettings } from './pair.ts';
import { type ProgramName, buildPrograms, runInTerminal } from './program-process.ts';
import { keptPorts, startPorts } from './start-addresses.ts';

const USAGE = `Usage: npm start                          run both programs until Ctrl-C
       npm start -- owner-link            print a link that signs the owner in once
       npm start -- backup FOLDER         write a copy of both databases to a new folder
       npm start -- audit verify          check the logs of both programs
       npm start -- control-plane WORDS   run another subcommand of a program with the pair's settings;
       npm start -- webhook WORDS         --help lists them
`;
const WRONG_USAGE = 2;

/** Runs a subcommand of a program on the pair. @returns the exit code */
type RunProgram = (program: ProgramName, ...words: readonly string[]) => Promise<number>;

/**
 * Runs `npm start -- WORDS` on the files and with the settings of the pair that `npm start` runs, whether it runs or not.
 * @param dir of the pair
 * @returns the exit code
 * @throws Error before the first start, or where a backup would go to a folder that exists
 */
export async function runOnPair(words: readonly string[], dir: string): Promise<number> {
  const command = words.join(' ');
  if (command === '--help') {
    process.stdout.write(USAGE);
    return 0;
  }
  const [first = '', ...operands] = words;
  // npm runs scripts in the checkout, and says here from where it was called.
  const cwd = process.env['INIT_CWD'] ?? process.cwd();
  const run: RunProgram = async (program, ...subcommand) => {
    if (!existsSync(join(dir, 'control-plane.key')))
      throw new Error(`there is no pair in ${dir} yet: npm start creates one`);
    const { env } = pairSettings(
      { dir, env: { SV_LOG_FORMAT: 'pretty' } },
      startPorts(process.env, keptPorts(dir)),
    );
    await buildPrograms();
    return runInTerminal(program, subcommand, { cwd, env });
  };
  if (command === 'owner-link') return run('control-plane', command);
  if (command === 'audit verify')
    return Math.max(await run('control-plane', ...words), await run('webhook', ...words));
  if (first === 'backup' && operands.length === 1) return backUp(resolve(cwd, operands[0] ?? ''), dir, run);
  if ((first === 'control-plane' || first === 'webhook') && operands.length > 0)
    return run(first, ...operands);
  process.stderr.write(USAGE);
  return WRONG_USAGE;
}

async function backUp(folder: string, dir: string, run: RunProgram): Promise<number> {
  if (existsSync(folder)) throw new Error(`${folder} exists already: name a new folder`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const program of ['control-plane', 'webhook'] as const) {
    const code = await run(program, 'backup', join(folder, `${program}.db`));
    if (code !== 0) return code;
  }
  const keys = ['control-plane.key', 'webhook.key'].map((name) => join(dir, name)).join(' and ');
  process.stdout.write(`Each opens with its key alone: keep copies of ${keys}, apart from the backup.\n`);
  return 0;
}
