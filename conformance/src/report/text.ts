import { exchangeLines, failureLines, indent } from './failure-text.ts';
import type { BaselineVerdict, Report, ReportedCheck } from './report.ts';

export interface TextOptions {
  /** Every check has its line, those that passed too. */
  readonly verbose?: boolean;
  /** With ANSI colours. */
  readonly color?: boolean;
}

type Paint = (color: 'red' | 'green' | 'yellow' | 'bold', text: string) => string;

const SGR = { red: 31, green: 32, yellow: 33, bold: 1 } as const;

/** The report for a terminal: a line per area, failures in full, and a summary as the last line. */
export function textReport(report: Report, { verbose = false, color = false }: TextOptions = {}): string {
  const paint: Paint = (name, text) => (color ? `\u001b[${SGR[name]}m${text}\u001b[0m` : text);
  const { suite, webhook, protocol, capabilities, checks } = report;
  const failed = checks.filter(({ failure }) => failure !== undefined && failure.notTestable === undefined);
  return [
    `${suite.name} ${suite.version} · protocol ${protocol} · ${webhook.url}`,
    `it claims: ${capabilities === null ? 'nothing that could be read' : capabilities.join(', ')}`,
    '',
    ...areasOf(checks).flatMap(([area, its]) => [
      areaLine(area, its, paint),
      ...(verbose ? indent(its.map((each) => checkLine(each, paint))) : []),
    ]),
    ...failed.flatMap((check) => ['', ...painted(failureLines(check), paint)]),
    ...notTestableLines(checks, paint),
    ...baselineLines(report.baseline),
    '',
    ...(report.interrupted ? [`interrupted: ${checks.length} checks had run`] : []),
    textSummary(report),
  ].join('\n');
}

/** The last line of a report. */
export function textSummary({ counts }: Report): string {
  const { passed, failed, warnings, skipped, notTestable } = counts;
  const untested = notTestable === 0 ? '' : ` (${notTestable} of these not testable)`;
  return `${passed} passed, ${failed} failed, ${warnings} warnings${untested}, ${skipped} skipped`;
}

/** Checks by their area, in order. */
export function areasOf(
  checks: readonly ReportedCheck[],
): ReadonlyArray<readonly [area: string, checks: readonly ReportedCheck[]]> {
  const areas = new Map<string, ReportedCheck[]>();
  for (const check of checks) {
    const its = areas.get(check.area) ?? [];
    its.push(check);
    areas.set(check.area, its);
  }
  return [...areas];
}

const AREA_WIDTH = 14;

function areaLine(area: string, checks: readonly ReportedCheck[], paint: Paint): string {
  const count = (verdict: ReportedCheck['verdict']): number =>
    checks.filter((each) => each.verdict === verdict).length;
  const [passed, failed, warned, skipped] = [
    count('passed'),
    count('failed'),
    count('warned'),
    count('skipped'),
  ];
  const rest = [
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(warned > 0 ? [`${warned} warnings`] : []),
    ...(skipped > 0 ? [`${skipped} skipped: ${reasonsOf(checks)}`] : []),
  ];
  const mark =
    failed > 0
      ? paint('red', 'FAIL')
      : warned > 0
        ? paint('yellow', 'warn')
        : passed > 0
          ? paint('green', 'ok  ')
          : 'skip';
  return `${mark}  ${area.padEnd(AREA_WIDTH)} ${passed} of ${checks.length} passed${rest.map((each) => `, ${each}`).join('')}`;
}

function reasonsOf(checks: readonly ReportedCheck[]): string {
  return [...new Set(checks.flatMap(({ reason }) => reason ?? []))].join('; ');
}

function checkLine({ id, verdict, title, reason }: ReportedCheck, paint: Paint): string {
  switch (verdict) {
    case 'passed':
      return `${paint('green', 'pass')}  ${id}  ${title}`;
    case 'skipped':
      return `skip  ${id}  (${reason ?? ''})`;
    case 'failed':
      return `${paint('red', 'FAIL')}  ${id}  ${title}`;
    case 'warned':
      return `${paint('yellow', 'warn')}  ${id}  ${title}`;
  }
}

function painted([first = '', ...rest]: readonly string[], paint: Paint): readonly string[] {
  return [paint(first.startsWith('FAIL') ? 'red' : 'yellow', first), ...rest];
}

/** Equal reasons once, with what was seen the first time. */
function notTestableLines(checks: readonly ReportedCheck[], paint: Paint): readonly string[] {
  const byReason = new Map<string, ReportedCheck[]>();
  for (const check of checks) {
    const reason = check.failure?.notTestable;
    if (reason !== undefined) byReason.set(reason, [...(byReason.get(reason) ?? []), check]);
  }
  return [...byReason].flatMap(([reason, [first, ...others]]) => {
    if (first?.failure === undefined) return [];
    const ids = [first, ...others].map(({ id }) => id);
    const exchange =
      first.failure.sent === undefined
        ? first.failure.hints.map((hint) => `hint: ${hint}`)
        : exchangeLines({ ...first.failure, expected: 'what these checks need first' });
    return [
      '',
      paint('red', `FAIL  not testable: ${reason}`),
      ...indent([
        `${ids.length === 1 ? 'this check' : `these ${ids.length} checks`}: ${wrapped(ids)}`,
        ...exchange,
      ]),
    ];
  });
}

const SHOWN_IDS = 12;

function wrapped(ids: readonly string[]): string {
  const shown = ids.slice(0, SHOWN_IDS).join(', ');
  return ids.length > SHOWN_IDS ? `${shown} and ${ids.length - SHOWN_IDS} more` : shown;
}

function baselineLines(baseline: BaselineVerdict | null): readonly string[] {
  if (baseline === null) return [];
  const { expected, unexpected, passing, unknown } = baseline;
  return [
    '',
    ...(expected.length > 0 ? [`baseline: ${expected.length} failures were expected`] : []),
    ...unexpected.map((id) => `baseline: ${id} failed and is not listed`),
    ...passing.map((id) => `baseline: ${id} is listed and passes: take it out`),
    ...unknown.map((id) => `baseline: ${id} is listed and is the id of no check: take it out`),
  ];
}
