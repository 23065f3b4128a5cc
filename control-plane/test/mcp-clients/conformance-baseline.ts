import { expect } from 'vitest';
import type { Finding } from './suite.ts';

/** A revision of the protocol whose requirements the suite knows. */
export type Revision = '2025-11-25' | '2026-07-28';

type Findings = Readonly<Record<string, Finding>>;

const all = (finding: Finding, names: readonly string[]): Findings =>
  Object.fromEntries(names.map((name) => [name, finding]));
const passing = (...names: readonly string[]) => all('passes', names);
const failing = (...names: readonly string[]) => all('fails', names);
/** Some checks of the scenario pass, by chance: nothing here implements it. */
const failingInPart = (...names: readonly string[]) => all(expect.any(Array) as string[], names);

const NOT_IMPLEMENTED = failing(
  // The specification has tools only: no resources, no prompts, nothing to complete.
  ...['resources-list', 'resources-read-text', 'resources-read-binary', 'resources-templates-read'],
  ...['prompts-list', 'prompts-get-simple', 'prompts-get-with-args', 'prompts-get-embedded-resource'],
  ...['prompts-get-with-image', 'completion-complete'],
  // These call tools of the suite's own example server, which are unknown here (-32602).
  ...['tools-call-simple-text', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource'],
  ...['tools-call-mixed-content', 'tools-call-error', 'tools-call-with-progress', 'json-schema-2020-12'],
);

/** What the public suite finds: `server --requirements REVISION`, and `authorization`. */
export const BASELINES: Readonly<Record<Revision | 'authorization', Findings>> = {
  '2025-11-25': {
    ...passing('server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'),
    ...NOT_IMPLEMENTED,
    ...failing(
      'resources-subscribe',
      'resources-unsubscribe',
      'tools-call-with-logging',
      'logging-set-level',
    ),
    // No tool asks the client anything.
    ...failing('tools-call-sampling', 'tools-call-elicitation'),
    ...failing('elicitation-sep1034-defaults', 'elicitation-sep1330-enums'),
    // No session is kept.
    'server-session-lifecycle': 'empty',
    ...failing('server-sse-multiple-streams', 'server-sse-polling'),
  },
  '2026-07-28': {
    ...passing(
      'tools-list',
      'server-sse-multiple-streams',
      'dns-rebinding-protection',
      'http-header-validation',
    ),
    // These pass for every server that asks nothing back and has no such tool.
    ...passing('input-required-result-unsupported-methods', 'input-required-result-validate-input'),
    caching: [
      'sep-2549-prompts-list-caching-hints: FAILURE',
      'sep-2549-resources-list-caching-hints: FAILURE',
      'sep-2549-resources-read-caching-hints: SKIPPED',
      'sep-2549-resources-templates-list-caching-hints: FAILURE',
    ],
    'server-stateless': [
      'sep-2575-http-server-no-independent-requests-on-stream: FAILURE',
      'sep-2575-missing-capability-http-400: FAILURE',
      'sep-2575-server-honors-notification-filter: SKIPPED',
      'sep-2575-server-no-log-without-loglevel: FAILURE',
      'sep-2575-server-rejects-undeclared-capability: FAILURE',
      'sep-2575-server-sends-prompts-list-changed-on-subscription: SKIPPED',
      'sep-2575-server-sends-subscription-ack: SKIPPED',
      'sep-2575-server-sends-tools-list-changed-on-subscription: SKIPPED',
      'sep-2575-server-tags-subscription-id: SKIPPED',
    ],
    ...NOT_IMPLEMENTED,
    ...failing('http-custom-header-server-validation'),
    ...failingInPart('sep-2164-resource-not-found'),
    // No tool asks the client anything.
    ...failing(
      ...['input-required-result-basic-elicitation', 'input-required-result-basic-sampling'],
      ...['input-required-result-basic-list-roots', 'input-required-result-request-state'],
      ...['input-required-result-multiple-input-requests', 'input-required-result-multi-round'],
      ...['input-required-result-missing-input-response', 'input-required-result-non-tool-request'],
      ...['input-required-result-result-type', 'input-required-result-tampered-state'],
      ...['input-required-result-capability-check', 'input-required-result-ignore-extra-params'],
    ),
    // Tasks are an extension; every tool answers at once.
    ...failing('tasks-lifecycle', 'tasks-capability-negotiation', 'tasks-wire-fields', 'tasks-mrtr-input'),
    ...failing('tasks-request-state-removal', 'tasks-required-task-error', 'tasks-mrtr-composition'),
    ...failing('tasks-status-notifications'),
    ...failingInPart('tasks-dispatch-and-envelope', 'tasks-request-headers'),
  },
  authorization: passing('authorization-server-metadata-endpoint', 'authorization-code-grant'),
};
