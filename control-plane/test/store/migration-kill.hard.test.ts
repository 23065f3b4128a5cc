import { test } from 'vitest';
import { killMigrations } from '../support/kill-migrations.ts';

test('over a hundred kills in the middle of migrations, steps are whole, and running them again finishes', () =>
  killMigrations(100));
