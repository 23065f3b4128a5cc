import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { parse } from 'yaml';
import { expect, test } from 'vitest';

// That each metric which these files name exists is in control-plane/test/metrics/metrics.test.ts, and that the links to the
// runbook lead to its headings in scripts/links.test.ts.

const FOLDER = fileURLToPath(new URL('../monitoring', import.meta.url));
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
/** @throws Error with its output where it finds something */
const promtool = (...args: string[]): string =>
  execFileSync('promtool', args, { cwd: FOLDER, encoding: 'utf8', stdio: 'pipe' });

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly datasource?: object;
  readonly targets?: readonly { readonly expr: string }[];
}

const rules = (
  parse(read('alerts.yaml')) as { groups: readonly { rules: readonly Rule[] }[] }
).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('dashboard.json')) as { uid: string; panels: readonly Panel[] };

test('promtool finds no fault in the configuration and its alert rules', () => {
  expect(promtool('check', 'config', '--lint-fatal', 'prometheus.yaml')).toContain('SUCCESS');
});

test('each alert rule fires at its symptom, and none while all is well', () => {
  expect(promtool('test', 'rules', 'alerts.test.yaml')).toContain('SUCCESS');
  const tested = read('alerts.test.yaml');
  expect(rules.filter(({ alert }) => !tested.includes(`alertname="${alert}"`))).toEqual([]);
});

test('each alert rule says how bad it is, what happened, why, and where to read on', () => {
  for (const { alert, labels, annotations } of rules) {
    expect([alert, Object.keys(annotations)]).toEqual([alert, ['summary', 'description', 'runbook_url']]);
    expect(['critical', 'warning', 'info']).toContain(labels['severity']);
    expect(annotations['runbook_url']).toMatch(/^docs\/operate\/runbook\.md#[a-z-]+$/);
  }
});

test('the dashboard asks a data source that its user chooses, by expressions that promtool can parse', () => {
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  for (const { datasource } of panels)
    expect(datasource).toEqual({ type: 'prometheus', uid: '${datasource}' });
  const folder = tempDir();
  try {
    const recorded = panels
      .flatMap(({ targets = [] }) => targets)
      .map(({ expr }, at) => ({
        record: `panel_${at}`,
        expr: expr.replaceAll('$__rate_interval', '1m'),
      }));
    const file = join(folder.path, 'panels.yaml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules: recorded }] }));
    expect(promtool('check', 'rules', file)).toContain(`${recorded.length} rules found`);
  } finally {
    folder.remove();
  }
});
