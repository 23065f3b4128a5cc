import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SETTINGS as CONTROL_PLANE } from '@svault/control-plane/config';
import { SCOPE_DESCRIPTIONS } from '@svault/control-plane/limit-descriptions';
import { type CountedScope, SCOPES } from '@svault/control-plane/limits';
import { QUOTAS, QUOTA_NOUNS, quotaScope } from '@svault/control-plane/quotas';
import { type Setting, comesFromCommand, comesFromFile } from '@svault/server-kit/settings';
import { SETTINGS as WEBHOOK } from '@svault/webhook/config';
import { code, sentence, table } from './tables.ts';

type Program = 'control-plane' | 'webhook';

const PROGRAMS: Readonly<Record<Program, Readonly<Record<string, Setting<unknown>>>>> = {
  'control-plane': CONTROL_PLANE,
  webhook: WEBHOOK,
};

/** Settings of a program, without its limits. */
export function settingsTable(program: Program): string {
  const settings = Object.entries(PROGRAMS[program]).filter(([name]) => !name.startsWith('SV_LIMIT_'));
  return table(
    ['Setting', 'Meaning', 'Default', 'Also'],
    settings.map(([name, setting]) => [
      code(name),
      sentence(setting.description),
      defaultOf(setting),
      [comesFromFile(name, setting) ? '`_FILE`' : '', comesFromCommand(name) ? '`_COMMAND`' : '']
        .filter((suffix) => suffix !== '')
        .join(', '),
    ]),
  );
}

function defaultOf({ fallback }: Setting<unknown>): string {
  if (fallback === undefined) return 'required';
  const value = fallback.value as
    | undefined
    | string
    | number
    | readonly string[]
    | { readonly host: string; readonly port: number }
    | { readonly kind: string; readonly path: string };
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'none';
  if (typeof value !== 'object') return code(String(value));
  if ('host' in value) return code(`${value.host}:${value.port}`);
  if ('kind' in value) return code(`${value.kind}:${value.path}`);
  return code(value.join(','));
}

const WINDOWS = new Map([
  [60_000, 'a minute'],
  [3_600_000, 'an hour'],
  [86_400_000, 'a day'],
]);

/** Every limit and quota, with its setting. */
export function limitsTable(): string {
  const row = (scope: keyof typeof SCOPE_DESCRIPTIONS, allowed: string): string[] => {
    const { per, counts } = SCOPE_DESCRIPTIONS[scope];
    return [code(`SV_LIMIT_${scope.toUpperCase()}`), `${allowed} per ${per}`, sentence(counts)];
  };
  return table(
    ['Setting', 'Default', 'Counts'],
    [
      ...(Object.keys(SCOPES) as CountedScope[]).map((scope) =>
        row(scope, `${SCOPES[scope].limit} ${WINDOWS.get(SCOPES[scope].windowMs)}`),
      ),
      row('user_aggregate', '600 to 3000 a minute'),
      ...QUOTA_NOUNS.map((noun) => row(quotaScope(noun), String(QUOTAS[noun]))),
    ],
  );
}

/** What each program prints as its subcommands. */
export function subcommandsTable(): string {
  const rows = (Object.keys(PROGRAMS) as Program[]).flatMap((program) => {
    const main = fileURLToPath(new URL(`../../${program}/src/main.ts`, import.meta.url));
    const help = execFileSync(process.execPath, [main, '--help'], { encoding: 'utf8' });
    return [...help.matchAll(/^ {2}(\S.*?) {2,}(.+)$/gm)].map(([, words = '', about = '']) => [
      code(`npx node ${program}/src/main.ts ${words}`),
      sentence(about),
    ]);
  });
  return table(['Command', 'What it does'], rows);
}
