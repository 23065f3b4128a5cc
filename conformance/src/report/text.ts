import { exchangeLines, failureLines, indent, shownExchanges, type ShownExchanges } from './failure-text.ts';
import { plural } from './plural.ts';
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
  const { suite, webhook, protocol, checks } = report;
  const shown = shownExchanges();
  const failed = checks.filter(({ failure }) => failure !== undefined && failure.notTestable === undefined);
  return [
    `${suite.name} ${suite.version} · protocol ${protocol} · ${webhook.url}`,
    `capabilities: ${capabilitiesText(report)}`,
    '',
    ...areasOf(checks).flatMap(([area, its]) => [
      areaLine(area, its, paint),
      ...(verbose ? indent(its.map((each) => checkLine(each, paint))) : []),
    ]),
    ...failed.flatMap((check) => ['', ...painted(failureLines(check, shown), paint)]),
    ...notTestableLines(checks, paint, shown),
    ...baselineLines(report.baseline),
    '',
    ...(report.interrupted ? [`interrupted: ${plural(checks.length, 'check')} had run`] : []),
    ...leftOutLines(report),
    textSummary(report),
  ].join('\n');
}

/** Says which checks a run was not asked for. */
function leftOutLines({ leftOut, checks }: Report): readonly string[] {
  if (leftOut === 0) return [];
  const of = `${leftOut} of ${leftOut + checks.length}`;
  return [`left out: ${of} checks, by --only, --skip or --fast (one check for each requirement, no waiting)`];
}

/** The last line of a report. */
export function textSummary({ counts, checks }: Report): string {
  const { passed, failed, warnings, skipped } = counts;
  const untested = (of: ReportedCheck['verdict']): string => {
    const count = checks.filter((each) => each.verdict === of && each.failure?.notTestable !== undefined);
    return count.length === 0 ? '' : ` (${count.length} not testable)`;
  };
  const warned = `${plural(warnings, 'warning')}${untested('warned')}`;
  return `${passed} passed, ${failed} failed${untested('failed')}, ${warned}, ${skipped} skipped`;
}

/** What the webhook claims, or why that is not known. */
export function capabilitiesText({ capabilities, bound }: Report): string {
  if (capabilities === null) return bound ? 'unknown (POST /v1/health does not say)' : 'unknown (not bound)';
  return capabilities.length === 0 ? 'none' : capabilities.join(', ');
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
    ...(warned > 0 ? [plural(warned, 'warning')] : []),
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

const UNCLAIMED = /^the webhook does not claim (.+)$/;

/** Each reason once, in few words; what the webhook does not claim in one of them. */
function reasonsOf(checks: readonly ReportedCheck[]): string {
  const reasons = checks.flatMap(({ reason }) => reason ?? []);
  const unclaimed = reasons.flatMap((reason) => UNCLAIMED.exec(reason)?.[1]?.split(', ') ?? []);
  const others = reasons.filter((reason) => !UNCLAIMED.test(reason));
  const claim = unclaimed.length === 0 ? [] : [`${[...new Set(unclaimed)].join(', ')} not claimed`];
  return [...claim, ...new Set(others.map((each) => each.replace(/^the webhook /, '')))].join('; ');
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
function notTestableLines(
  checks: readonly ReportedCheck[],
  paint: Paint,
  shown: ShownExchanges,
): readonly string[] {
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
        : exchangeLines({ ...first.failure, expected: 'the setup to succeed' }, first.id, shown);
    return [
      '',
      paint('red', `FAIL  not testable: ${reason}`),
      ...indent([
        ids.length === 1 ? 'this check:' : `these ${ids.length} checks:`,
        ...indent(wrapped(ids)),
        ...exchange,
      ]),
    ];
  });
}

const LINE_CHARACTERS = 100;

/** All of them, since a baseline needs each. */
function wrapped(ids: readonly string[]): readonly string[] {
  const lines: string[] = [];
  for (const id of ids) {
    const joined = `${lines.at(-1) ?? ''}, ${id}`;
    if (lines.length > 0 && joined.length <= LINE_CHARACTERS) lines[lines.length - 1] = joined;
    else lines.push(id);
  }
  return lines;
}

function baselineLines(baseline: BaselineVerdict | null): readonly string[] {
  if (baseline === null) return [];
  const { expected, unexpected, passing, unknown } = baseline;
  return [
    '',
    ...(expected.length > 0 ? [`baseline: ${plural(expected.length, 'failure')} expected`] : []),
    ...unexpected.map((id) => `baseline: ${id} failed and is not listed`),
    ...passing.map((id) => `baseline: ${id} is listed and passes: take it out`),
    ...unknown.map((id) => `baseline: ${id} is listed and is the id of no check: take it out`),
  ];
}
