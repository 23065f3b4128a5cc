import type { HeaderPairs } from '@svault/shared';
import type { Result } from '../runner.ts';

const SHOWN_BODY_CHARACTERS = 600;

/** One line per check; for a failure also what was sent, what came back, what was expected, and by which sentence. */
export function textResult({ check, level, requirements, outcome }: Result): string {
  const ids = requirements.map(({ id }) => id).join(' ');
  if (outcome.kind === 'passed') return `pass  ${check.id}`;
  if (outcome.kind === 'skipped') return `skip  ${check.id}  (${outcome.reason})`;
  const { sent, answer, expected } = outcome;
  return [
    `${level === 'MUST' ? 'FAIL' : 'warn'}  ${check.id}  ${level} ${ids}`,
    `      ${check.title}`,
    ...requirements.map(({ section, sentence }) => `      protocol ${section}: “${sentence}”`),
    ...(sent === undefined
      ? []
      : indented('sent     ', `${sent.method} ${sent.path}`, sent.headers, sent.body)),
    ...(answer === undefined
      ? ['      came back nothing']
      : indented('came back', String(answer.status), answer.headers, answer.body)),
    `      expected  ${expected}`,
  ].join('\n');
}

/** The last line of a report. */
export function textSummary(results: readonly Result[]): string {
  const count = (holds: (result: Result) => boolean): number => results.filter(holds).length;
  const failed = count(({ level, outcome }) => outcome.kind === 'failed' && level === 'MUST');
  const warned = count(({ level, outcome }) => outcome.kind === 'failed' && level === 'SHOULD');
  const passed = count(({ outcome }) => outcome.kind === 'passed');
  const skipped = count(({ outcome }) => outcome.kind === 'skipped');
  return `${passed} passed, ${failed} failed, ${warned} warnings, ${skipped} skipped`;
}

function indented(what: string, first: string, headers: HeaderPairs, body: Uint8Array): readonly string[] {
  const text = Buffer.from(body).toString('utf8');
  const shown = text.length > SHOWN_BODY_CHARACTERS ? `${text.slice(0, SHOWN_BODY_CHARACTERS)}…` : text;
  return [
    `      ${what} ${first}`,
    ...headers.map(([name, value]) => `                ${name}: ${value}`),
    ...(shown === '' ? [] : [`                ${shown}`]),
  ];
}
