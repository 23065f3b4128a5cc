import type { TunnelMethod } from './tunnel-methods.ts';
import { TUNNELS } from './tunnels/tunnels.ts';

/** README.md: one page for whoever keeps the machine. */
export function readmeFile(
  method: TunnelMethod,
  { webhookUrl, serviceUrl }: { readonly webhookUrl: string; readonly serviceUrl: string },
): string {
  const { title, tls, before, secret, folders = [] } = TUNNELS[method];
  const url = new URL(webhookUrl);
  const kept = ['secrets/', ...folders.map((folder) => `${folder}/`)]
    .map((name) => `\`${name}\``)
    .join(' and ');
  return `# A webhook of svault

It holds the credentials of your vault at ${serviceUrl}, on this machine, and delivers them at
${webhookUrl} by way of ${title}. The service decides who may fetch what and never sees a credential.

## Who ends TLS

${tls}

## Before the first start

${before(url)}

## Start, bind, look

\`\`\`sh
svault webhook up        # starts it and waits until it is healthy
svault webhook bind      # binds it to the service: compare the fingerprint, then say yes (admin)
svault webhook status    # whether the service reaches it (admin)
\`\`\`

Without the client: \`docker compose up -d\`, then open ${webhookUrl}/bind and enter the set-up token, which is
in \`secrets/setup.token\`. Once it is bound that page is closed.

## Stop: the kill switch

\`\`\`sh
svault webhook down
\`\`\`

From then on no credential can be delivered, stored or used by anybody, whatever the service says. Tickets that were issued
before are refused when they are over (90 seconds), and what agents fetched before is theirs: revoke it where it comes from.
The data stays; \`svault webhook up\` starts it again. \`docker compose down --volumes\` would erase it.

## Back up

\`\`\`sh
docker compose run --rm -T -v "$PWD/backups:/backups" webhook backup /backups/vault-$(date +%F).db
\`\`\`

Copy \`secrets/master.key\` to another place once, now. The line above works while the webhook runs. A backup is of no use without \`secrets/master.key\`, and the two together are every credential: keep
them apart. Without that key nobody, you included, can ever read the data again. To bring one back into an empty volume, with
the webhook stopped: \`docker compose run --rm -T -v "$PWD/backups:/backups" webhook restore-backup /backups/FILE\`.

## Update

Versions are pinned in \`compose.yaml\`. With a newer \`svault\`:

\`\`\`sh
svault webhook init --force .    # writes compose.yaml and this file anew; .env and secrets stay
svault webhook up
\`\`\`

## What is here

| | |
|---|---|
| \`compose.yaml\` | what runs: as your own user, on a read-only file system, without capabilities |
| \`.env\` | addresses and names, no secret |
| \`secrets/master.key\` | wraps every credential's key; made by \`init\`, kept nowhere else |
| \`secrets/setup.token\` | what the \`/bind\` page asks for |
${secret === undefined ? '' : `| \`${secret.path}\` | ${secret.question[0]?.toLowerCase()}${secret.question.slice(1)} |\n`}
Only you may read ${kept}. Keep them out of repositories (\`.gitignore\` does) and out of other people's backups.
`;
}
