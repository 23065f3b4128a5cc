import type { TunnelMethod } from './tunnel-methods.ts';
import { TUNNELS } from './tunnels/tunnels.ts';
import { WEBHOOK_IMAGE } from './compose-file.ts';

/** What a project is told; none of it is a secret. */
export interface ProjectValues {
  /** Public address of the webhook, in its one spelling. */
  readonly webhookUrl: string;
  /** Of the service that may bind it, exactly as that one's `SV_BASE_URL`. */
  readonly serviceUrl: string;
  /** Tells the project's containers and volumes from those of another one on the same machine. */
  readonly projectName: string;
  /** Numbers of the user that the containers run as. */
  readonly owner: { readonly uid: number; readonly gid: number };
  /** Further settings by their names. */
  readonly more: Readonly<Record<string, string>>;
}

/** What may be set besides, and a value that each could have. */
const MORE = {
  SVAULT_WEBHOOK_IMAGE: WEBHOOK_IMAGE,
  SVAULT_WEBHOOK_PORT: '8090',
  SV_EGRESS_ALLOW: '10.1.2.3,api.internal.example.org',
  SV_AWS_STS_ENDPOINT: 'https://sts.example.org',
  SV_LOG_LEVEL: 'info',
} as const;

/** Names that `ProjectValues.more` may have. */
export const moreSettings = (method: TunnelMethod): readonly string[] =>
  Object.keys(MORE).filter((name) => name !== 'SVAULT_WEBHOOK_PORT' || method === 'custom');

/** .env */
export function envFile(method: TunnelMethod, values: ProjectValues): string {
  const { webhookUrl, serviceUrl, projectName, owner, more } = values;
  const line = (name: string, value: string): string => `${name}=${value}`;
  const optional = moreSettings(method).map((name) =>
    name in more ? line(name, more[name] ?? '') : `#${line(name, MORE[name as keyof typeof MORE])}`,
  );
  return `# What compose.yaml is filled in with. No secret is here: those are in secrets/.

# How this webhook is reached; \`svault webhook init --force\` reads it.
SVAULT_TUNNEL=${method}

# Where agents and the service reach this webhook. Another address takes unbinding and binding again.
SV_WEBHOOK_URL=${webhookUrl}
# The one service that may bind it, exactly as that service's own SV_BASE_URL.
SV_WEBHOOK_SERVICE_URL=${serviceUrl}

# What the containers and the volume are called after: with another name the webhook would start with an empty volume.
COMPOSE_PROJECT_NAME=${projectName}
# The user who runs them and owns secrets/. With an engine that runs rootless, you are 0 inside: SVAULT_UID=0, SVAULT_GID=0.
SVAULT_UID=${owner.uid}
SVAULT_GID=${owner.gid}
${Object.entries(TUNNELS[method].settings(new URL(webhookUrl)))
  .map(([name, value]) => `${line(name, value)}\n`)
  .join('')}
# Optional.
${optional.join('\n')}
`;
}

/** The values of a .env. Those that init writes need no quotes, and get none. */
export function readEnvFile(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').map((line) => /^([A-Z_]+)=(.*)$/.exec(line.trim()));
  return new Map(lines.flatMap((match) => (match === null ? [] : [[match[1] ?? '', match[2] ?? '']])));
}
