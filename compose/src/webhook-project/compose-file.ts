import type { ProjectKind } from './project-file.ts';
import type { TunnelMethod } from './tunnel-methods.ts';
import { TUNNELS } from './tunnels/tunnels.ts';

/** The image that runs where `SVAULT_WEBHOOK_IMAGE` says nothing else. */
export const WEBHOOK_IMAGE = 'svault-webhook:0.1.0';

const WRITER: Readonly<Record<ProjectKind, string>> = {
  init: '`svault webhook init --force` writes this file anew',
  repository: 'compose/scripts/write-projects.ts writes this file',
};

/** In a checkout, what the image is built from. */
export const DOCKERFILE = 'compose/webhook.Dockerfile';

/** Where what it is built from is: in the repository, in the checkout that .env names, or nowhere. */
const buildFrom = (checkout: string): string => `    build:
      context: ${checkout}
      dockerfile: ${DOCKERFILE}
`;
const BUILDS: Readonly<Record<ProjectBuild, string>> = {
  here: buildFrom('../../..'),
  checkout: buildFrom(
    '${SVAULT_SOURCES:?set SVAULT_SOURCES in .env to a checkout of svault, from which the image is built}',
  ),
  nowhere: '',
};

/** What the image of a project is built from; nowhere: the engine has it, or pulls it. */
type ProjectBuild = 'here' | 'checkout' | 'nowhere';

/**
 * compose.yaml. Of the webhook's image it expects that its entry point is the program, that `node` is on its path, and that
 * its folder /var/lib/svault can be written to by everybody (mode 1777): a new volume takes that over, and the program runs as
 * the user who owns the secrets.
 */
export function composeFile(method: TunnelMethod, kind: ProjectKind, build: ProjectBuild): string {
  const { title, services, webhookExtras = '', secret } = TUNNELS[method];
  return `# A webhook of svault, reached by way of ${title}.
# Settings are in .env, secrets in secrets/. ${WRITER[kind]}: put changes of your own
# into compose.override.yaml.

x-hardened: &hardened
  read_only: true
  cap_drop: [ALL]
  security_opt: ['no-new-privileges:true']
  tmpfs: ['/tmp:rw,noexec,nosuid,nodev,size=64m,mode=1777']
  # The owner of secrets/: files of mode 0600 are readable for them alone.
  user: \${SVAULT_UID:?set SVAULT_UID in .env to the user who owns secrets}:\${SVAULT_GID:?set SVAULT_GID in .env to that user's group}
  restart: unless-stopped
  logging:
    driver: json-file
    options: { max-size: 10m, max-file: '3' }

services:
  webhook:
    <<: *hardened
    image: \${SVAULT_WEBHOOK_IMAGE:-${WEBHOOK_IMAGE}}
${BUILDS[build]}    # A setting that is misspelt in .env is one that the program does not start with.
    env_file: .env
    environment:
      SV_WEBHOOK_URL: \${SV_WEBHOOK_URL:?set SV_WEBHOOK_URL in .env to the address at which this webhook is reached}
      SV_WEBHOOK_SERVICE_URL: \${SV_WEBHOOK_SERVICE_URL:?set SV_WEBHOOK_SERVICE_URL in .env to the control plane that may bind it}
      SV_WEBHOOK_LISTEN: 0.0.0.0:8090
      SV_WEBHOOK_DATA_DIR: /var/lib/svault/webhook
      SV_WEBHOOK_MASTER_KEY_FILE: \${SV_WEBHOOK_MASTER_KEY_FILE-/run/secrets/webhook_master_key}
      SV_WEBHOOK_SETUP_TOKEN_FILE: /run/secrets/webhook_setup_token
    secrets: [webhook_master_key, webhook_setup_token]
    volumes:
      - data:/var/lib/svault
${webhookExtras}    stop_grace_period: 45s
    healthcheck:
      test:
        [
          CMD,
          node,
          -e,
          "fetch('http://127.0.0.1:8090/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))",
        ]
      interval: 10s
      timeout: 5s
      retries: 3
      start_period: 30s
${services === '' ? '' : `\n${services}`}
volumes:
  data:

secrets:
  webhook_master_key:
    file: ./secrets/master.key
  webhook_setup_token:
    file: ./secrets/setup.token
${secret === undefined ? '' : `  tunnel_token:\n    file: ./${secret.path}\n`}`;
}
