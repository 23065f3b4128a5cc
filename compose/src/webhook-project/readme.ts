import { type ProjectValues, isBuilt } from './env-file.ts';
import type { ProjectKind } from './project-file.ts';
import type { TunnelMethod } from './tunnel-methods.ts';
import { TUNNELS } from './tunnels/tunnels.ts';

type Addresses = Pick<ProjectValues, 'webhookUrl' | 'serviceUrl' | 'more'>;

/** README.md: one page for the operator of the machine. */
export function readmeFile(method: TunnelMethod, values: Addresses, kind: ProjectKind = 'init'): string {
  const { webhookUrl, serviceUrl } = values;
  const { title, tls, before, secret, folders = [] } = TUNNELS[method];
  const kept = ['secrets/', ...folders.map((folder) => `${folder}/`)]
    .map((name) => `\`${name}\``)
    .join(' and ');
  const { origin, start, stop, startAgain, update, envName, maker } = WORDS[kind](
    webhookUrl,
    isBuilt(values),
  );
  return `# A webhook of svault

It holds the credentials of your vault at ${serviceUrl}, on this machine, and delivers them at
${webhookUrl} by way of ${title}. The control plane decides who may fetch which credential,
and never sees one.
${origin}
## Who terminates TLS

${tls}

## Before the first start

${before(new URL(webhookUrl))}

## Start, bind, look

${start}

Once it is bound the page \`/bind\` is closed.

## Stop: the kill switch

\`\`\`sh
${stop}
\`\`\`

From then on no credential can be delivered, stored or used, even if the control plane is compromised. Tickets issued before
expire after 90 seconds. Agents keep the credentials that they fetched before: revoke those at their providers. The data
stays; \`${startAgain}\` starts it again. \`docker compose down --volumes\` would erase it.

## Back up

Copy \`secrets/master.key\` to another place once, now. This works while the webhook runs:

\`\`\`sh
docker compose run --rm -T -v "$PWD/backups:/backups" webhook backup /backups/vault-$(date +%F).db
\`\`\`

A backup is useless without \`secrets/master.key\`, and the two together reveal every credential: keep them apart. Without the
key the data is lost for good. To restore a backup into an empty volume, with the webhook stopped:
\`docker compose run --rm -T -v "$PWD/backups:/backups" webhook restore-backup /backups/FILE\`.

## Change the root key

The running webhook takes the new key over by itself. Older backups still need the former key:

\`\`\`sh
(umask 077; openssl rand 32 | basenc --base64url | tr -d '=\\n' > secrets/next.key)
docker compose run --rm -T -v "$PWD/secrets/next.key:/run/secrets/next:ro" \\
  -e SV_WEBHOOK_MASTER_KEY_NEXT_FILE=/run/secrets/next webhook rotate-master-key \\
  && mv secrets/master.key "secrets/former-$(date -u +%FT%H%M%SZ).key" && mv secrets/next.key secrets/master.key
docker compose up -d --force-recreate webhook
\`\`\`

## Update

${update}

## What is here

| | |
|---|---|
| \`compose.yaml\` | the containers: they run as your user, on a read-only file system, without capabilities |
| \`${envName}\` | addresses and names, no secret |
| \`secrets/master.key\` | wraps every credential's key; made by ${maker}, stored only here |
| \`secrets/setup.token\` | the set-up token for the page \`/bind\` |
${secret === undefined ? '' : `| \`${secret.path}\` | ${secret.question[0]?.toLowerCase()}${secret.question.slice(1)} |\n`}
Only you may read ${kept}. Keep them out of repositories (\`.gitignore\` does) and
out of other people's backups.
`;
}

const BUILT = `The first start builds the image from the checkout of svault that \`SVAULT_SOURCES\` in \`.env\` names. For a machine without
one: build it where there is one (\`docker compose build\` here, or its compose/webhook.Dockerfile), and bring it over with
\`docker save\` and \`docker load\`.`;

const GIVEN = `\`SVAULT_WEBHOOK_IMAGE\` in \`.env\` names the image. It has to be on this machine, or where docker can pull it from: a file of
\`docker save\` is taken in by \`docker load --input FILE\`.`;

const WORDS = {
  init: (webhookUrl: string, built: boolean) => ({
    origin: `
${built ? BUILT : GIVEN}
`,
    start: `\`\`\`sh
svault webhook up        # starts it and waits until it is healthy
svault webhook bind      # binds it to the control plane: compare the fingerprint, then say yes (admin)
svault webhook status    # whether the control plane reaches it (admin)
\`\`\`

Without the client: \`docker compose up -d\`, then open ${webhookUrl}/bind and enter the set-up token, which is
in \`secrets/setup.token\`.`,
    stop: 'svault webhook down',
    startAgain: 'svault webhook up',
    update: `Versions are pinned in \`compose.yaml\`. With a newer \`svault\`:

\`\`\`sh
svault webhook init --force .    # writes compose.yaml and this file anew; .env and secrets stay
${built ? 'docker compose build --pull      # from what SVAULT_SOURCES has now\n' : ''}svault webhook up
\`\`\``,
    envName: '.env',
    maker: '`init`',
  }),
  repository: (webhookUrl: string) => ({
    origin: `
These addresses are examples from \`.env.example\`; yours go into \`.env\`. compose/scripts/write-projects.ts writes all
files here. \`svault webhook init\` writes the same project with your addresses.
`,
    start: `\`\`\`sh
cp .env.example .env           # and set the addresses, and who you are, in it
./make-secrets.sh
docker compose up -d --wait
\`\`\`

Then open ${webhookUrl}/bind and enter the set-up token, which is in \`secrets/setup.token\`. Or
have a link printed that needs no token, and open it where you are signed in to the control plane as an admin:

\`\`\`sh
docker compose exec -T webhook node /svault/webhook/dist/main.js bind-link
\`\`\``,
    stop: 'docker compose stop',
    startAgain: 'docker compose up -d --wait',
    update: `Versions are pinned in \`compose.yaml\`. With newer sources of svault:

\`\`\`sh
docker compose build --pull
docker compose up -d --wait
\`\`\``,
    envName: '.env.example',
    maker: '`make-secrets.sh`',
  }),
} satisfies Record<ProjectKind, unknown>;
