import { join } from 'node:path';
import { startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { tempDir } from '@svault/test-kit/temp-dir';
import { onTestFinished, test } from 'vitest';
import { crashDrill } from './support/crash-drill.ts';
import { storedState } from './support/stored-state.ts';

// R1; a hundred kills, with limits on, are in kill.hard.test.ts.

test('kill -9 under load loses nothing that was answered', async () => {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const pair = await startPair({ dir: dir.path, env: { SV_LOG_LEVEL: 'error', ...RAISED_LIMITS } });
  onTestFinished(() => pair.stop());
  await crashDrill(pair, {
    state: storedState(`sqlite:${join(dir.path, 'control-plane.db')}`),
    dir: dir.path,
    callers: 8,
    kills: 2,
    answersBeforeKill: (round) => 20 + 200 * round,
  });
});
