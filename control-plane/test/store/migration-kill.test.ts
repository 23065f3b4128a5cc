import { test } from 'vitest';
import { killMigrations } from '../support/kill-migrations.ts';

// A hundred kills: migration-kill.hard.test.ts.

test('kill -9 in the middle of migrations leaves whole steps, and running them again finishes', () =>
  killMigrations(5));
