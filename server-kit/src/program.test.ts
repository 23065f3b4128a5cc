import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { VERSION } from './version.ts';

const script = `
  const { runProgram } = await import(${JSON.stringify(new URL('./program.ts', import.meta.url).href)});
  const say = (word) => async (operands) => console.log([word, ...operands].join(' '));
  await runProgram(async () => ({ name: 'prog', fallback: 'serve', subcommands: {
    serve: { summary: 'serves', operands: 0, run: say('serving') },
    'audit verify': { summary: 'verifies', operands: 0, run: say('verified') },
    backup: { usage: 'FILE', summary: 'copies', operands: 1, run: say('copied') },
    talk: { summary: 'says something each time that it is told to', operands: 1, run: async (operands, { out, err }) => {
      for await (const _ of process.stdin) for (const write of [out, err]) write('something\\n');
      return Number(operands[0]);
    } },
    fail: { summary: 'fails', operands: 0, run: async () => { throw new Error('no svagent_abcdefghijkl here'); } },
  } }), process.argv.slice(1));
`;
const run = (...args: string[]) => {
  const options = { encoding: 'utf8', cwd: fileURLToPath(new URL('.', import.meta.url)) } as const;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script, '--', ...args],
    options,
  );
  return { status, stdout, stderr };
};

describe('runProgram', () => {
  it('runs the default, subcommands of one and two words, and operands', () => {
    expect(run().stdout).toBe('serving\n');
    expect(run('audit', 'verify').stdout).toBe('verified\n');
    expect(run('backup', 'f').stdout).toBe('copied f\n');
  });
  it('prints its name and version', () => {
    expect(run('--version')).toEqual({ status: 0, stdout: `prog ${VERSION}\n`, stderr: '' });
  });
  it('exits 2 with the usage for wrong arguments', () => {
    for (const args of [['nonsense'], ['backup'], ['serve', 'more'], ['audit']]) {
      const { status, stdout, stderr } = run(...args);
      expect([status, stdout]).toEqual([2, '']);
      expect(stderr).toContain('Usage: prog');
    }
  });
  it.each([
    ['3', 3],
    ['0', 1],
  ])(
    'goes on where nobody reads what it writes any more; a code of %s is %i then',
    async (code, expected) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, '--', 'talk', code]);
      const ended = once(child, 'exit');
      child.stdin.write('now');
      for (const stream of [child.stdout, child.stderr]) {
        await once(stream, 'data');
        await once(stream.destroy(), 'close');
      }
      child.stdin.write('now');
      child.stdin.end('now');
      expect(await ended).toEqual([expected, null]);
    },
  );
  it('prints one scrubbed line without a stack and exits 1 after a failure', () => {
    expect(run('fail')).toEqual({ status: 1, stdout: '', stderr: 'prog: no svagent_[redacted] here\n' });
  });
});
