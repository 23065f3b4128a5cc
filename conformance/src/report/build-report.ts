import type { Baseline } from './baseline.ts';
import type { Answer, Sent } from '../http/client.ts';
import { jsonObject } from '../http/read-answer.ts';
import type { Kept, Outcome } from '../check/outcome.ts';
import type { Journal } from '../redaction/journal.ts';
import { onOneLine, printable } from '../redaction/printable.ts';
import type { Requirement } from '../requirements.ts';
import type { Result } from '../runner.ts';
import type { Address } from '../target.ts';
import { version } from '../version.ts';
import { compareWithBaseline } from './baseline.ts';
import { coverageOf } from './coverage.ts';
import { hintsFor } from './hints.ts';
import {
  REPORT_SCHEMA,
  type Counts,
  type Report,
  type ReportedAnswer,
  type ReportedCheck,
  type ReportedFailure,
  type ReportedHeaders,
  type ReportedRequest,
  type Verdict,
} from './report.ts';
import { shownBody } from './shown-body.ts';
import { shownTickets } from './shown-tickets.ts';

/** What a report is made of. */
export interface RunFacts {
  readonly address: Address;
  readonly results: readonly ReportedCheck[];
  /** Whether the webhook is bound to the suite. */
  readonly bound: boolean;
  readonly capabilities: readonly string[] | undefined;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly interrupted: boolean;
  readonly leftOut: number;
  readonly requirements: ReadonlyMap<string, Requirement>;
  /** Ids of every check that there is. */
  readonly known: readonly string[];
  readonly baseline: Baseline | undefined;
}

/** Puts a run's results together. */
export function buildReport(facts: RunFacts): Report {
  const { address, results } = facts;
  const baseline = facts.baseline && compareWithBaseline(facts.baseline, results, facts.known);
  const conforms = !results.some(({ verdict }) => verdict === 'failed');
  const accepted =
    baseline === undefined
      ? conforms
      : baseline.unexpected.length + baseline.passing.length + baseline.unknown.length === 0;
  return {
    schema: REPORT_SCHEMA,
    suite: { name: 'svault-conformance', version },
    protocol: 'v1',
    webhook: { url: onOneLine(address.webhookUrl), serviceUrl: onOneLine(address.serviceUrl) },
    bound: facts.bound,
    startedAt: new Date(facts.startedAtMs).toISOString(),
    durationMs: Math.round(facts.durationMs),
    interrupted: facts.interrupted,
    capabilities: facts.capabilities ?? null,
    counts: countsOf(results),
    leftOut: facts.leftOut,
    conforms,
    accepted,
    baseline: baseline ?? null,
    checks: results,
    requirements: coverageOf(facts.requirements, results),
  };
}

function countsOf(results: readonly ReportedCheck[]): Counts {
  const count = (verdict: Verdict): number => results.filter((each) => each.verdict === verdict).length;
  return {
    passed: count('passed'),
    failed: count('failed'),
    warnings: count('warned'),
    skipped: count('skipped'),
    notTestable: results.filter(({ failure }) => failure?.notTestable !== undefined).length,
  };
}

/** One check as it is reported: nothing in it is a secret of the webhook, or obeyed by a terminal. */
export function reportedCheck(result: Result, address: Address, journal: Journal): ReportedCheck {
  const { check, level, requirements, outcome, durationMs } = result;
  const clean = (text: string): string => printable(journal.secrets.redact(text));
  const verdict = verdictOf(outcome, level);
  return {
    id: check.id,
    area: check.id.split('.', 1)[0] ?? check.id,
    title: check.title,
    level,
    verdict,
    durationMs: Math.round(durationMs),
    ...('observe' in check && { duringBinding: true as const }),
    requirements: requirements.map(({ id, level: its, section, sentence }) => ({
      id,
      level: its,
      section,
      sentence,
    })),
    ...(outcome.kind === 'skipped' && { reason: clean(outcome.reason) }),
    ...(outcome.kind === 'failed' && { failure: reportedFailure(check.id, outcome, address, journal) }),
  };
}

function verdictOf({ kind }: Outcome, level: Requirement['level']): Verdict {
  if (kind !== 'failed') return kind;
  return level === 'MUST' ? 'failed' : 'warned';
}

function reportedFailure(
  id: string,
  outcome: Outcome & { readonly kind: 'failed' },
  address: Address,
  journal: Journal,
): ReportedFailure {
  const clean = (text: string): string => printable(journal.secrets.redact(text));
  const { expected, notTestable, noAnswer, sent, answer } = outcome;
  // Of a webhook that never answered every check says so, and each has to say what that may come from.
  const silence = noAnswer ?? (answer === undefined ? notTestable : undefined);
  const refusedSignature =
    sent?.signatureBase !== undefined && isSignatureRefusal(answer) && !/^401\b/.test(expected);
  // A base is beside the point where nothing was answered.
  const withBase = refusedSignature || (ABOUT_SIGNATURES.test(id) && noAnswer === undefined);
  return {
    expected: clean(expected),
    ...(notTestable !== undefined && { notTestable: clean(notTestable) }),
    ...(sent && { sent: reportedRequest(sent, journal, withBase) }),
    ...(answer && { received: reportedAnswer(answer, journal) }),
    ...(noAnswer !== undefined && { noAnswer: clean(noAnswer) }),
    hints: hintsFor({
      address,
      sent,
      answer,
      noAnswer: silence,
      expected,
      refusedSignature,
      clockAheadSeconds: journal.clockAheadSeconds(),
    }).map(clean),
  };
}

/** Checks whose failures are about the base even where the request should have been refused. */
const ABOUT_SIGNATURES = /^(signature|replay)\./;

/** What says that the signature held, since it is looked at first. */
const BEHIND_THE_SIGNATURE = /^(TICKET_INVALID|SETUP_REQUIRED|[A-Z]+_NOT_ALLOWED)$/;

function isSignatureRefusal(answer: Answer | undefined): boolean {
  if (answer?.status !== 401 && answer?.status !== 403) return false;
  return !BEHIND_THE_SIGNATURE.test(String(jsonObject(answer)?.['code']));
}

function reportedRequest(sent: Kept<Sent>, { secrets }: Journal, withBase: boolean): ReportedRequest {
  const { method, path, headers, body, wholeBytes, signatureBase } = sent;
  const clean = (text: string): string => printable(secrets.redact(text));
  return {
    method: onOneLine(method),
    path: onOneLine(secrets.redact(path)),
    headers: reportedHeaders(headers, secrets.redact),
    body: shownBody(body, secrets, { wholeBytes }),
    tickets: shownTickets(sent).map(({ where, header, claims }) => ({
      where,
      header: clean(header),
      claims: clean(claims),
    })),
    ...(withBase && signatureBase !== undefined && { signatureBase: clean(signatureBase) }),
  };
}

function reportedAnswer(answer: Kept<Answer>, { secrets, sent }: Journal): ReportedAnswer {
  const { status, headers, body, wholeBytes } = answer;
  return {
    status,
    headers: reportedHeaders(headers, secrets.redact),
    body: shownBody(body, secrets, { mayShow: sent, wholeBytes }),
  };
}

const SHOWN_HEADERS = 40;
const SHOWN_VALUE_CHARACTERS = 2000;

function reportedHeaders(headers: Sent['headers'], redact: (text: string) => string): ReportedHeaders {
  const shown = headers.slice(0, SHOWN_HEADERS).map(([name, value]) => {
    const text = onOneLine(redact(value));
    const cut = text.length > SHOWN_VALUE_CHARACTERS ? `${text.slice(0, SHOWN_VALUE_CHARACTERS)}…` : text;
    return [onOneLine(redact(name)), cut] as const;
  });
  const more = headers.length - shown.length;
  return more > 0 ? [...shown, ['…', `${more} more`]] : shown;
}
