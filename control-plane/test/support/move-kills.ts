import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { programEnv } from '@svault/test-kit/program-env';
import { expect, inject } from 'vitest';
import { type WireFault, startWire } from './database-wire.ts';
import { emptyTarget, moveSource, rowsOfAll } from './move-source.ts';
import { command } from './run-program.ts';
import { storedState } from './stored-state.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/**
 * Moves one database again and again to an empty one, with a `kill -9` at each of as many statements from the first to the
 * commit, before or after the server has it. Then no `serve` starts on a part of it, nothing of the source has changed, and
 * the same command finishes it.
 */
export async function killMoves(kills: number): Promise<void> {
  const source = await moveSource(1_200);
  const wire = await startWire(inject('postgres')?.url ?? '', 'postgres');
  const expected = await rowsOfAll(source, source.state);
  const { SV_DATABASE_URL_NEXT: _, ...alone } = source.env;
  try {
    wire.taken();
    await moveOverWire(await emptyTarget(), undefined);
    const statements = wire.taken().length;
    const outcomes = new Set<string>();
    for (let kill = 0; kill < kills; kill++) {
      expect((await command(alone, 'undo-move')).code).toBe(0);
      const target = await emptyTarget();
      // Each place in both ways; the last is the commit.
      const at = 1 + Math.floor(((statements - 1) * Math.floor(kill / 2)) / Math.floor((kills - 1) / 2));
      const fault = kill % 2 === 0 ? 'cut before' : undefined;
      expect(await moveOverWire(target, { at, fault })).toBe('SIGKILL');
      expect(await rowsOfAll(source, source.state)).toEqual(expected);
      outcomes.add(await afterKill(target));
      if (at === statements) expect(await sourceSays()).toContain('was moved to PostgreSQL');
      const { code, stderr } = await command(
        { ...source.env, SV_DATABASE_URL_NEXT: target },
        'move-to-postgres',
      );
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^$|Comparing/)]);
      expect(await rowsOfAll(source, storedState(target))).toEqual(expected);
      expect(await sourceSays()).toContain('was moved to PostgreSQL');
    }
    expect(outcomes).toContain('unfinished');
  } finally {
    await wire.close();
    await source.remove();
  }

  async function sourceSays(): Promise<string> {
    return (await command(alone, 'audit', 'verify')).stderr;
  }

  /** What a `serve` finds there; nothing but a whole copy may be served on, and then not the source. */
  async function afterKill(target: string): Promise<string> {
    const there = await command({ ...alone, SV_DATABASE_URL: target }, 'audit', 'verify');
    if (/has not finished: run move-to-postgres again/.test(there.stderr)) return 'unfinished';
    if (/there is no database/.test(there.stderr)) return 'not begun';
    expect([there.code, there.stderr]).toEqual([0, '']);
    expect(await sourceSays()).toContain('was moved to PostgreSQL');
    expect(await rowsOfAll(source, storedState(target))).toEqual(expected);
    return 'moved';
  }

  /** @returns the signal that ended it */
  async function moveOverWire(
    target: string,
    kill: { readonly at: number; readonly fault: WireFault | undefined } | undefined,
  ): Promise<NodeJS.Signals | null> {
    const env = programEnv({ ...source.env, SV_DATABASE_URL_NEXT: wire.over(target) });
    const child = spawn(process.execPath, [MAIN, 'move-to-postgres'], { env, stdio: 'ignore' });
    let statement = 0;
    wire.fault = () => {
      statement++;
      if (kill === undefined || statement < kill.at) return undefined;
      child.kill('SIGKILL');
      return kill.fault;
    };
    const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    wire.fault = undefined;
    return signal;
  }
}
