import type { Level } from '../requirements.ts';
import type { ShownBody } from './shown-body.ts';
import type { ShownTicket } from './shown-tickets.ts';

/** Grows when a member changes its meaning or goes; new members may come without it. */
export const REPORT_SCHEMA = 1;

/** All that there is to say of a run, without secrets and control characters: every format is a view of this. */
export interface Report {
  readonly schema: typeof REPORT_SCHEMA;
  readonly suite: { readonly name: string; readonly version: string };
  readonly protocol: 'v1';
  readonly webhook: { readonly url: string; readonly serviceUrl: string };
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly durationMs: number;
  /** Ended before all checks had run. */
  readonly interrupted: boolean;
  /** Whether the webhook was bound, or could be. */
  readonly bound: boolean;
  /** As claimed; null where the webhook did not say. */
  readonly capabilities: readonly string[] | null;
  readonly counts: Counts;
  /** How many checks were not asked for. */
  readonly leftOut: number;
  /** No MUST failed. */
  readonly conforms: boolean;
  /** The run has exit code 0: where a baseline is given, nothing failed but what it names, and it is up to date. */
  readonly accepted: boolean;
  readonly baseline: BaselineVerdict | null;
  readonly checks: readonly ReportedCheck[];
  readonly requirements: readonly RequirementCoverage[];
}

export interface Counts {
  readonly passed: number;
  /** MUSTs, those that could not be tested among them. */
  readonly failed: number;
  /** SHOULDs. */
  readonly warnings: number;
  readonly skipped: number;
  /** How many of the failures and warnings are for want of something else. */
  readonly notTestable: number;
}

/** How a run compares with the failures that were expected. */
export interface BaselineVerdict {
  /** Checks that failed and that the baseline names. */
  readonly expected: readonly string[];
  /** Checks that failed and that it does not name. */
  readonly unexpected: readonly string[];
  /** Entries of checks that passed. */
  readonly passing: readonly string[];
  /** Entries that name no check. */
  readonly unknown: readonly string[];
}

export type Verdict = 'passed' | 'failed' | 'warned' | 'skipped';

export interface ReportedCheck {
  readonly id: string;
  readonly area: string;
  readonly title: string;
  readonly level: Level;
  readonly verdict: Verdict;
  readonly durationMs: number;
  /** Its requests were sent while the webhook was being bound, before the checks: they are not in `durationMs`. */
  readonly duringBinding?: true;
  readonly requirements: ReadonlyArray<{
    readonly id: string;
    readonly level: Level;
    readonly section: string;
    readonly sentence: string;
  }>;
  /** Why it was skipped. */
  readonly reason?: string;
  readonly failure?: ReportedFailure;
}

export interface ReportedFailure {
  readonly expected: string;
  /** Why nothing could be said about the check's own promise. */
  readonly notTestable?: string;
  readonly sent?: ReportedRequest;
  readonly received?: ReportedAnswer;
  /** Why none was received. */
  readonly noAnswer?: string;
  /** What it may come from. */
  readonly hints: readonly string[];
}

export type ReportedHeaders = ReadonlyArray<readonly [name: string, value: string]>;

export interface ReportedRequest {
  readonly method: string;
  /** Behind the webhook's address. */
  readonly path: string;
  readonly headers: ReportedHeaders;
  readonly body: ShownBody;
  readonly tickets: readonly ShownTicket[];
  /** What the MAC was made over, where that may be why the request was refused. */
  readonly signatureBase?: string;
}

export interface ReportedAnswer {
  readonly status: number;
  readonly headers: ReportedHeaders;
  readonly body: ShownBody;
}

/** A requirement of the protocol, and what this run says of it. */
export interface RequirementCoverage {
  readonly id: string;
  readonly level: Level;
  readonly section: string;
  readonly sentence: string;
  /** `unobservable`: nothing outside can see it; `not run`: by the choice of checks, or skipped. */
  readonly verdict: 'kept' | 'broken' | 'not run' | 'unobservable';
  readonly checks: readonly string[];
  /** Why it cannot be seen from outside. */
  readonly unobservable?: string;
}
