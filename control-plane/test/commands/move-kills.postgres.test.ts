import { test } from 'vitest';
import { killMoves } from '../support/move-kills.ts';

// A hundred are in move-kills.postgres.hard.test.ts.

test('kill -9 in the middle of move-to-postgres loses nothing, and running it again finishes it', () =>
  killMoves(5));
