import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SIGNATURE_REFUSAL_REASONS, TICKET_REFUSAL_REASONS } from '@svault/shared';
import { expect, test } from 'vitest';
import { ROOT } from './command-blocks.ts';

/** What the webhook adds to the reasons of signatures and tickets: `webhook/src/http/` and `webhook/src/replay/`. */
const OF_THE_WEBHOOK = [
  ...['key_former', 'key_gone', 'not_bound', 'missing_or_repeated'],
  ...['replayed', 'below_time_floor', 'before_restore'],
];

test('the runbook explains only reasons that the webhook logs, each once, and every reason of its own', () => {
  const runbook = readFileSync(join(ROOT, 'docs/operate/runbook.md'), 'utf8');
  const [, table = ''] = runbook.split('## Refused tickets and requests');
  const [, ...rows] = table.split('\n').filter((line) => line.startsWith('| `'));
  const explained = rows.flatMap((row) => (row.split('|')[1] ?? '').match(/(?<=`)[a-z_]+(?=`)/g) ?? []);
  const known: readonly string[] = [
    ...SIGNATURE_REFUSAL_REASONS,
    ...TICKET_REFUSAL_REASONS,
    ...OF_THE_WEBHOOK,
  ];
  expect(explained.filter((reason) => !known.includes(reason))).toEqual([]);
  expect(new Set(explained).size).toBe(explained.length);
  expect(explained).toEqual(expect.arrayContaining(OF_THE_WEBHOOK));
});
