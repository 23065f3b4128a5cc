import { shellWord } from '@svault/shared';

/** Where a pair keeps its files, and how its owner gets at them. */
export interface PairPlace {
  /** Ends "its files are in". */
  readonly files: string;
  /** A command of the shell that prints the admin key. */
  readonly showAdminKey: string;
  /** The command line of the checkout, which is on no registry: its path from the folder in which the lines are copied. */
  readonly svault: string;
  readonly stopping: string;
}

/** The pair that `npm start` runs. @param dir absolute, so that the lines work from any folder */
export const pairInFolder = (dir: string): PairPlace => ({
  files: dir,
  showAdminKey: `cat ${shellWord(`${dir}/admin.key`)}`,
  svault: './svault',
  stopping: 'Ctrl-C stops both; the next start goes on with the same files.',
});

/** Lets the command line act as the owner of a pair. */
export const ownerExports = (
  { showAdminKey }: Pick<PairPlace, 'showAdminKey'>,
  { controlPlaneUrl, webhookUrl }: { readonly controlPlaneUrl: string; readonly webhookUrl: string },
): string =>
  `export SVAULT_BASE_URL=${controlPlaneUrl} SVAULT_WEBHOOK_URL=${webhookUrl} SVAULT_KEY=$(${showAdminKey})`;

/** The output of a later start: what changes with each, and where the rest is. */
export function restartInstructions(
  place: PairPlace,
  running: { readonly controlPlaneUrl: string; readonly webhookUrl: string },
): string {
  return `
svault is running again; its files are in ${place.files}

  console        ${running.controlPlaneUrl}/
  owner link     npm start -- owner-link
  control plane  ${running.controlPlaneUrl}
  webhook        ${running.webhookUrl}  (bound)
  command line   ${ownerExports(place, running)}
  first steps    docs/quickstart.md

${place.stopping}
`;
}

/** The output once both programs run for the first time: their addresses, and lines to copy for the first credential. */
export function startInstructions(
  place: PairPlace,
  running: { readonly controlPlaneUrl: string; readonly webhookUrl: string; readonly ownerLink: string },
): string {
  const { controlPlaneUrl, webhookUrl, ownerLink } = running;
  return `
svault is running; its files are in ${place.files}

  console        ${controlPlaneUrl}/
  owner link     ${ownerLink}
                 (signs you in to the console, once, within 30 minutes)
  control plane  ${controlPlaneUrl}
  webhook        ${webhookUrl}  (bound)

1. Let the command line act as the owner, in another terminal in this folder (your browser does it too: ${place.svault} login):

  ${ownerExports(place, running)}

2. Store a first credential. It asks for the secret, which goes to the webhook alone:

  ${place.svault} add github

3. Make a first agent, whose key is shown once, and let it have the credential for an hour:

  KEY=$(${place.svault} agents create --name first)
  ${place.svault} grant first github --expires 1h

4. Fetch it as the agent; or with any HTTP client: ask the control plane for an address, and fetch that without the key:

  SVAULT_KEY=$KEY ${place.svault} get github
  URL=$(curl -sS "${controlPlaneUrl}/api/agents/credentials?service=github&redirect=false" -H "Authorization: Bearer $KEY" | jq -r .url)
  curl -sS "$URL"

5. Or give an MCP client this address; it opens a page where you, signed in by the owner link, let it act as the agent:

  ${controlPlaneUrl}/api/agents/mcp

${place.stopping}
`;
}
