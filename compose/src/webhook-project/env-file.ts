import { WEBHOOK_IMAGE } from './compose-file.ts';
import type { ProjectKind } from './project-file.ts';
import type { TunnelMethod } from './tunnel-methods.ts';
import { TUNNELS } from './tunnels/tunnels.ts';

/** The settings of a project; none is a secret. */
export interface ProjectValues {
  /** Public address of the webhook, in its one spelling. */
  readonly webhookUrl: string;
  /** Of the control plane that may bind it, exactly as that one's `SV_BASE_URL`. */
  readonly serviceUrl: string;
  /** Tells the project's containers and volumes from those of another one on the same machine. */
  readonly projectName: string;
  /** Numbers of the user that the containers run as. */
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly more: Readonly<Record<string, string>>;
}

/** What may be set besides: by default that, or an example of it. */
const MORE = {
  SVAULT_SOURCES: {
    value: '/home/me/svault',
    about: 'The checkout of svault that the image is built from, where the engine does not have it.',
  },
  SVAULT_WEBHOOK_IMAGE: { value: WEBHOOK_IMAGE, about: 'What runs.' },
  SVAULT_WEBHOOK_PORT: { value: '8090', about: 'Where it listens on this machine.' },
  SV_EGRESS_ALLOW: {
    value: '10.1.2.3,api.internal.example.org',
    about: 'Private addresses and host names of upstreams and token endpoints that it may call.',
  },
  SV_AWS_STS_ENDPOINT: {
    value: 'https://sts.example.org',
    about: 'Another STS than the region’s public one.',
  },
  SV_LOG_LEVEL: { value: 'info', about: 'fatal, error, warn, info, debug, trace or silent.' },
  SV_LOG_FORMAT: { value: 'json', about: 'json or pretty.' },
  SV_METRICS_LISTEN: {
    value: '0.0.0.0:9190',
    about: 'GET /metrics, for containers that share a network with this one.',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    value: 'http://collector:4318',
    about: 'A collector of OpenTelemetry that gets traces, which are off without it.',
  },
  OTEL_TRACES_SAMPLER_ARG: { value: '1', about: 'The part of the requests that is traced, 0 to 1.' },
  SV_BACKUP_RECIPIENTS: {
    value: 'age1aqv984j7mhl70277l2nq726avkl6y7er6ush64nhwajznaa47fsq328du5',
    about: 'Recipients of age (age1…) to whom backups are encrypted.',
  },
  SV_DRAIN_SECONDS: {
    value: '0',
    about:
      'After a stop signal, so many seconds of answering while GET /readyz says 503 already: for a proxy that asks there.',
  },
} as const;

/** Whether the project's image is built from a checkout on its machine. */
export const isBuilt = ({ more }: Pick<ProjectValues, 'more'>): boolean => 'SVAULT_SOURCES' in more;

/** Names that `ProjectValues.more` may have. */
export const moreSettings = (method: TunnelMethod): readonly string[] =>
  Object.keys(MORE).filter((name) => name !== 'SVAULT_WEBHOOK_PORT' || method === 'custom');

/** Settings that take a file which compose.yaml does not mount. */
const KEYS = `# Headers for the collector of traces.
#OTEL_EXPORTER_OTLP_HEADERS_FILE=/run/secrets/otlp_headers
# Only for rotate-master-key.
#SV_WEBHOOK_MASTER_KEY_NEXT_FILE=/run/secrets/webhook_master_key_next
# Instead of the root key: the first line unchanged, and a file that compose.override.yaml mounts.
#SV_WEBHOOK_MASTER_KEY_FILE=
#SV_WEBHOOK_PASSPHRASE_FILE=/run/secrets/webhook_passphrase`;

const HEAD: Readonly<Record<ProjectKind, string>> = {
  init: `# Settings of the webhook in compose.yaml. No secret is here: those are in secrets/.
# A line with # shows the default, or an example.`,
  repository: `# Settings of the webhook in compose.yaml: cp .env.example .env
# A line without # is required; one with # shows the default, or an example. No secret is here: make-secrets.sh
# puts those into secrets/.`,
};

/** .env, or .env.example in the repository. */
export function envFile(method: TunnelMethod, values: ProjectValues, kind: ProjectKind = 'init'): string {
  const { webhookUrl, serviceUrl, projectName, owner, more } = values;
  const line = (name: string, value: string): string => `${name}=${value}`;
  const names = moreSettings(method).filter((name) => name !== 'SVAULT_SOURCES' || isBuilt(values));
  const optional = names.map((name) => {
    const { value, about } = MORE[name as keyof typeof MORE];
    return `# ${about}\n${name in more ? line(name, more[name] ?? '') : `#${line(name, value)}`}`;
  });
  return `${HEAD[kind]}

# How this webhook is reached; \`svault webhook init --force\` reads it.
SVAULT_TUNNEL=${method}

# Where agents and the control plane reach this webhook. Another address takes unbinding and binding again.
SV_WEBHOOK_URL=${webhookUrl}
# The one service that may bind it, exactly as that service's own SV_BASE_URL.
SV_WEBHOOK_SERVICE_URL=${serviceUrl}

# What the containers and the volume are called after: with another name the webhook would start with an empty volume.
COMPOSE_PROJECT_NAME=${projectName}
# The user who runs them and owns secrets/, as \`id -u\` and \`id -g\` print it. With an engine that runs rootless, you are 0
# inside: SVAULT_UID=0, SVAULT_GID=0.
SVAULT_UID=${owner.uid}
SVAULT_GID=${owner.gid}
${Object.entries(TUNNELS[method].settings?.(new URL(webhookUrl)) ?? {})
  .map(([name, value]) => `# The first part of the host above.\n${line(name, value)}\n`)
  .join('')}
# ---- Optional ----

${optional.join('\n')}
${KEYS}
`;
}

/** The values of a .env. Those that init writes need no quotes, and get none. */
export function readEnvFile(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').map((line) => /^([A-Z_]+)=(.*)$/.exec(line.trim()));
  return new Map(lines.flatMap((match) => (match === null ? [] : [[match[1] ?? '', match[2] ?? '']])));
}
