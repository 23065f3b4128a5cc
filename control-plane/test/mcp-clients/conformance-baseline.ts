import type { Baseline } from './suite-verdict.ts';

/** A revision of the protocol whose requirements the suite knows. */
export type Revision = '2025-11-25' | '2026-07-28';

/** One reason for several entries. */
const because = (reason: string, ...entries: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(entries.map((entry) => [entry, reason]));

const NO_RESOURCES = 'the specification has tools only, so there are no resources';
const NO_PROMPTS = 'the specification has tools only, so there are no prompts';
const NO_FIXTURE = 'calls a tool of the suite’s own example server; here it is unknown, -32602';
const NO_ASKING_BACK =
  'calls a tool of the suite’s own that asks the client something; none of the five does';
const NO_TASKS = 'an extension that is not offered: every tool answers at once';
const NO_SESSIONS = 'looks at sessions; none is kept, each request is answered by itself';
const NO_STREAMS =
  'looks at a subscription; nothing here changes that could be subscribed to, and none is announced';
const NO_COMPLETION = 'nothing has arguments to complete, and no completion is announced';

const RESOURCES = [
  ...['resources-list', 'resources-read-text', 'resources-read-binary', 'resources-templates-read'],
];
const PROMPTS = [
  ...['prompts-list', 'prompts-get-simple', 'prompts-get-with-args', 'prompts-get-embedded-resource'],
  'prompts-get-with-image',
];
const TOOL_FIXTURES = [
  ...['tools-call-simple-text', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource'],
  ...['tools-call-mixed-content', 'tools-call-error', 'tools-call-with-progress', 'json-schema-2020-12'],
];

/**
 * What the public suite finds here: `server --requirements REVISION`, each at its own wire, and `authorization`. Whoever
 * changes what it finds changes this file: a failure that is not here fails the run, and so does an entry that passes.
 */
export const BASELINES = {
  '2025-11-25': {
    counted: ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
    onNothing: because(NO_SESSIONS, 'server-session-lifecycle'),
    left: {
      ...because(NO_RESOURCES, ...RESOURCES, 'resources-subscribe', 'resources-unsubscribe'),
      ...because(NO_PROMPTS, ...PROMPTS),
      ...because(NO_FIXTURE, ...TOOL_FIXTURES, 'tools-call-with-logging'),
      ...because(
        NO_ASKING_BACK,
        ...['tools-call-sampling', 'tools-call-elicitation', 'elicitation-sep1034-defaults'],
        'elicitation-sep1330-enums',
      ),
      ...because(NO_SESSIONS, 'server-sse-multiple-streams', 'server-sse-polling'),
      ...because(NO_COMPLETION, 'completion-complete'),
      'logging-set-level': 'no log is sent to clients, and none is announced',
    },
  },
  '2026-07-28': {
    counted: [
      'server-stateless',
      'tools-list',
      'server-sse-multiple-streams',
      'dns-rebinding-protection',
      'caching',
      'http-header-validation',
    ],
    onNothing: {
      'tasks-status-notifications': 'the suite skips it itself',
      'input-required-result-unsupported-methods': 'passes for every server that never asks back',
      'input-required-result-validate-input':
        'calls a tool that is unknown here, and takes any error for a pass',
    },
    left: {
      ...because(
        NO_RESOURCES,
        ...RESOURCES,
        ...['sep-2164-resource-not-found', 'caching:sep-2549-resources-list-caching-hints'],
        'caching:sep-2549-resources-templates-list-caching-hints',
        'caching:sep-2549-resources-read-caching-hints',
      ),
      ...because(NO_PROMPTS, ...PROMPTS, 'caching:sep-2549-prompts-list-caching-hints'),
      ...because(
        NO_FIXTURE,
        ...TOOL_FIXTURES,
        'http-custom-header-server-validation',
        'server-stateless:sep-2575-server-rejects-undeclared-capability',
        'server-stateless:sep-2575-missing-capability-http-400',
        'server-stateless:sep-2575-http-server-no-independent-requests-on-stream',
        'server-stateless:sep-2575-server-no-log-without-loglevel',
      ),
      ...because(
        NO_STREAMS,
        'server-stateless:sep-2575-server-sends-subscription-ack',
        'server-stateless:sep-2575-server-tags-subscription-id',
        'server-stateless:sep-2575-server-honors-notification-filter',
        'server-stateless:sep-2575-server-sends-prompts-list-changed-on-subscription',
        'server-stateless:sep-2575-server-sends-tools-list-changed-on-subscription',
      ),
      ...because(
        NO_ASKING_BACK,
        ...['input-required-result-basic-elicitation', 'input-required-result-basic-sampling'],
        ...['input-required-result-basic-list-roots', 'input-required-result-request-state'],
        ...['input-required-result-multiple-input-requests', 'input-required-result-multi-round'],
        ...['input-required-result-missing-input-response', 'input-required-result-non-tool-request'],
        ...['input-required-result-result-type', 'input-required-result-tampered-state'],
        ...['input-required-result-capability-check', 'input-required-result-ignore-extra-params'],
      ),
      ...because(
        NO_TASKS,
        ...['tasks-lifecycle', 'tasks-capability-negotiation', 'tasks-wire-fields'],
        ...['tasks-request-state-removal', 'tasks-mrtr-input', 'tasks-request-headers'],
        ...['tasks-dispatch-and-envelope', 'tasks-required-task-error', 'tasks-mrtr-composition'],
      ),
      ...because(NO_COMPLETION, 'completion-complete'),
    },
  },
  authorization: {
    counted: ['authorization-server-metadata-endpoint', 'authorization-code-grant'],
    onNothing: {},
    left: {},
  },
} as const satisfies Record<Revision | 'authorization', Baseline>;
