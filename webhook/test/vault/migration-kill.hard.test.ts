import { ManualClock } from '@svault/shared';
import { test } from 'vitest';
import { webhookOfTest } from '../support/bound-webhook.ts';
import { killMigrations } from '../support/kill-migrations.ts';

test('over a hundred kills in the middle of migrations, steps are whole, and running them again finishes', async () =>
  killMigrations(await webhookOfTest({ clock: new ManualClock(Date.now()) }), 100));
