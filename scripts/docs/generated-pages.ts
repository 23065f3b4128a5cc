import { readFileSync } from 'node:fs';
import { cliReference } from './cli-reference.ts';
import { auditEventsTable, errorsTable, exitCodesTable, routesTables } from './code-tables.ts';
import { metricsTable } from './metrics-tables.ts';
import { openApiDocument } from './openapi-document.ts';
import { limitsTable, settingsTable, subcommandsTable } from './settings-tables.ts';

/** The parts of pages that are made from the code, by the name between their markers. */
const SECTIONS: Readonly<Record<string, () => string | Promise<string>>> = {
  'settings control-plane': () => settingsTable('control-plane'),
  'settings webhook': () => settingsTable('webhook'),
  subcommands: subcommandsTable,
  limits: limitsTable,
  routes: async () => routesTables(await openApiDocument()),
  'errors control-plane': () => errorsTable('control-plane'),
  'errors webhook': () => errorsTable('webhook'),
  'errors oauth': () => errorsTable('oauth'),
  'errors json-rpc': () => errorsTable('json-rpc'),
  'exit-codes': exitCodesTable,
  'audit-events': auditEventsTable,
  'metrics control-plane': () => metricsTable('control-plane'),
  'metrics webhook': () => metricsTable('webhook'),
  cli: cliReference,
};

const PAGES = ['settings', 'limits', 'management-api', 'errors', 'audit-events', 'cli', 'metrics'];
const BETWEEN_MARKERS = /(<!-- generated: ([\w -]+) -->\n)[\s\S]*?(<!-- \/generated -->)/g;

export interface GeneratedPage {
  readonly file: URL;
  readonly now: string;
  /** The same page with each generated part as the code has it. */
  readonly wanted: string;
}

/** @throws Error for a marker without a generator, or a generator whose part is on no page */
export async function generatedPages(): Promise<readonly GeneratedPage[]> {
  const pages = PAGES.map((name) => {
    const file = new URL(`../../docs/reference/${name}.md`, import.meta.url);
    return { file, now: readFileSync(file, 'utf8') };
  });
  const placed = pages.flatMap(({ now }) => [...now.matchAll(BETWEEN_MARKERS)].map(([, , name]) => name));
  const missing = Object.keys(SECTIONS).filter((name) => !placed.includes(name));
  if (missing.length > 0) throw new Error(`no page has the generated part ${missing.join(', ')}`);
  const parts = new Map<string, string>();
  for (const [name, make] of Object.entries(SECTIONS)) parts.set(name, await make());
  return pages.map(({ file, now }) => ({
    file,
    now,
    wanted: now.replaceAll(BETWEEN_MARKERS, (_, begin: string, name: string, end: string) => {
      const part = parts.get(name);
      if (part === undefined) throw new Error(`nothing generates ${name}`);
      return `${begin}\n${part}\n\n${end}`;
    }),
  }));
}
