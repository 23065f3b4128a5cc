import { test } from 'vitest';
import { killMoves } from '../support/move-kills.ts';

test(
  '100 times kill -9 of move-to-postgres, from its first statement to its commit, loses nothing',
  () => killMoves(100),
  3_600_000,
);
