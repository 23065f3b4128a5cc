import type { ReportedCheck, ReportedFailure, ReportedHeaders, ReportedRequest } from './report.ts';
import type { ShownBody } from './shown-body.ts';

/** Where each exchange is shown first, so that one which fails several checks is printed once. */
export interface ShownExchanges {
  /** @returns the name it was first shown under; undefined where that is now */
  before(exchange: Pick<ReportedFailure, 'sent' | 'received' | 'noAnswer'>, name: string): string | undefined;
}

/** For one report. */
export function shownExchanges(): ShownExchanges {
  const names = new Map<string, string>();
  return {
    before({ sent, received, noAnswer }, name) {
      if (sent === undefined) return undefined;
      const key = JSON.stringify([sent.method, sent.path, sent.headers, sent.body, received, noAnswer]);
      const first = names.get(key);
      if (first === undefined) names.set(key, name);
      return first;
    },
  };
}

/**
 * A failed check in full: what was sent, what came back, what was expected, and the requirement that asks for it.
 * @param shown of the report; absent where each check is shown on its own
 * @returns lines without colour; none for a check that did not fail
 */
export function failureLines(check: ReportedCheck, shown = shownExchanges()): readonly string[] {
  const { failure } = check;
  if (failure === undefined) return [];
  return [
    `${check.level === 'MUST' ? 'FAIL' : 'warn'}  ${check.id}`,
    ...indent([
      check.title,
      ...check.requirements.map(
        ({ id, level, section, sentence }) => `${id} (${level}, section ${section}): “${sentence}”`,
      ),
      ...exchangeLines(failure, check.id, shown),
    ]),
  ];
}

/** What was sent, what came back, what was expected; of an exchange that is shown already, where. */
export function exchangeLines(
  failure: ReportedFailure,
  name: string,
  shown: ShownExchanges,
): readonly string[] {
  const { sent, received, noAnswer, expected, hints } = failure;
  const before = shown.before(failure, name);
  if (before !== undefined)
    return [`sent, came back: as shown with ${before}`, 'expected:', ...indent(expected.split('\n'))];
  return [
    ...(sent === undefined ? [] : ['sent:', ...indent(requestLines(sent))]),
    ...(received === undefined && noAnswer === undefined ? [] : ['came back:']),
    ...(received === undefined ? [] : indent([String(received.status), ...messageLines(received)])),
    ...(noAnswer === undefined ? [] : indent([`nothing: ${noAnswer}`])),
    'expected:',
    ...indent(expected.split('\n')),
    ...(sent?.signatureBase === undefined ? [] : baseLines(sent.signatureBase)),
    ...hints.map((hint) => `hint: ${hint}`),
  ];
}

function requestLines(sent: ReportedRequest): readonly string[] {
  return [
    `${sent.method} ${sent.path}`,
    ...messageLines(sent),
    ...sent.tickets.flatMap(({ where, header, claims }) => [
      `the ticket (${where}): ${header.replaceAll('\n', ' ')}`,
      `  ${claims.replaceAll('\n', ' ')}`,
    ]),
  ];
}

function messageLines({ headers, body }: { headers: ReportedHeaders; body: ShownBody }): readonly string[] {
  return [...headers.map(([name, value]) => `${name}: ${value}`), ...bodyLines(body)];
}

const SHOWN_LINES = 20;
const SHOWN_CHARACTERS = 1200;

function bodyLines({ text, bytes, cut }: ShownBody): readonly string[] {
  if (bytes === 0) return [];
  const all = text.slice(0, SHOWN_CHARACTERS).split('\n');
  const lines = all.slice(0, SHOWN_LINES).map((line) => `| ${line}`);
  const shortened = cut || text.length > SHOWN_CHARACTERS || all.length > SHOWN_LINES;
  return shortened ? [...lines, `| … (${bytes} bytes in all)`] : lines;
}

/** A base as it is compared: every line end to be seen. */
export function baseLines(base: string): readonly string[] {
  const lines = base.split('\n');
  return [
    'the MAC was made over this base; ⏎ is one LF, and there is none after the last line:',
    ...indent(lines.map((line, index) => (index === lines.length - 1 ? line : `${line}⏎`))),
  ];
}

/** Two spaces before each line. */
export function indent(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`);
}
