import { ManualClock } from '@svault/shared';
import { test } from 'vitest';
import { webhookOfTest } from '../support/bound-webhook.ts';
import { killMigrations } from '../support/kill-migrations.ts';

// A hundred kills: migration-kill.hard.test.ts.

test('kill -9 in the middle of migrations leaves whole steps, and running them again finishes', async () =>
  killMigrations(await webhookOfTest({ clock: new ManualClock(Date.now()) }), 5));
