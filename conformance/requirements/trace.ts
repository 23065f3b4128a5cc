/**
 * `node conformance/requirements/trace.ts`: brings `v1.yaml` in step with the requirements of
 * `shared/PROTOCOL.md` and with the checks, and keeps the reasons why something cannot be seen from outside. Fails, and
 * names them, where a requirement has neither checks nor a reason.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { CHECKS } from '../src/registry.ts';

interface Row {
  readonly id: string;
  readonly level: 'MUST' | 'SHOULD';
  readonly section: string;
  readonly sentence: string;
  readonly checks?: readonly string[];
  readonly unobservable?: string;
}

const PAGE = new URL('../../shared/PROTOCOL.md', import.meta.url);
const FILE = new URL('./v1.yaml', import.meta.url);
const HEAD = `# What protocol v1 asks: the requirements of shared/PROTOCOL.md, word by word, and the checks that observe them in a webhook.
# \`unobservable\` says why nothing can be seen from outside. Made by trace.ts beside it.
`;
const BINDS_THE_SERVICE = /^A (service|sender) (MUST|SHOULD)/;

const before = new Map(
  (parse(readFileSync(FILE, 'utf8')) as { requirements: Row[] }).requirements.map((row) => [row.id, row]),
);
const rows = rowsOf(readFileSync(PAGE, 'utf8'));
writeFileSync(FILE, HEAD + stringify({ protocol: 'v1', requirements: rows }, { lineWidth: 0 }));
const untraced = rows.filter(
  ({ checks, unobservable }) => checks === undefined && unobservable === undefined,
);
for (const { id, sentence } of untraced)
  process.stderr.write(`${id}: neither checks nor a reason: ${sentence}\n`);
process.exitCode = untraced.length === 0 ? 0 : 1;

function rowsOf(page: string): Row[] {
  let section = '';
  return page.split('\n').flatMap((line) => {
    section = /^##+ (\d+(?:\.\d+)?)/.exec(line)?.[1] ?? section;
    const [, id, sentence] = /^- \*\*([A-Z]{3}-\d\d)\*\* (.+)$/.exec(line) ?? [];
    const level = /\b(MUST|SHOULD)\b/.exec(sentence ?? '')?.[1];
    if (id === undefined || sentence === undefined || level === undefined) return [];
    return [
      {
        id,
        level: /\bMUST\b/.test(sentence) ? ('MUST' as const) : ('SHOULD' as const),
        section,
        sentence,
        ...traceOf(id, sentence),
      },
    ];
  });
}

function traceOf(id: string, sentence: string): Pick<Row, 'checks' | 'unobservable'> {
  const checks = CHECKS.filter(({ requirements }) => requirements.includes(id)).map((check) => check.id);
  if (checks.length > 0) return { checks };
  const reason = before.get(id)?.unobservable;
  if (reason !== undefined) return { unobservable: reason };
  return BINDS_THE_SERVICE.test(sentence) ? { unobservable: 'it binds the service' } : {};
}
