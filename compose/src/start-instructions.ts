/** What `npm start` prints once both programs run: where they are, and lines to copy for the first credential. */
export function startInstructions(running: {
  /** Absolute, so that the lines work from any folder. */
  readonly dir: string;
  readonly controlPlaneUrl: string;
  readonly webhookUrl: string;
  readonly ownerLink: string;
}): string {
  const { dir, controlPlaneUrl, webhookUrl, ownerLink } = running;
  const admin = `-H "Authorization: Bearer $(cat ${inShell(`${dir}/admin.key`)})"`;
  const json = `-H 'Content-Type: application/json'`;
  return `
svault is running; its files are in ${dir}

  control plane  ${controlPlaneUrl}
  webhook        ${webhookUrl}  (bound)
  owner link     ${ownerLink}
                 (signs you in once, within 30 minutes)

1. Make a first agent; the answer shows its key once:

  curl -sS -X POST ${controlPlaneUrl}/api/agents ${admin} ${json} -d '{"name":"first"}'

2. Keep its id and key from that answer:

  AGENT=agt_…
  KEY=svagent_…

3. Store a first credential: name it at the control plane, which answers a ticket, and hand the secret to the webhook:

  TICKET=$(curl -sS ${controlPlaneUrl}/api/tokens ${admin} ${json} -d '{"serviceName":"github","tokenType":"PlainText"}' | sed 's/.*"ticket":"\\([^"]*\\)".*/\\1/')
  curl -sS ${webhookUrl}/v1/store -H "Authorization: Bearer $TICKET" ${json} -d '{"tokenType":"PlainText","value":"my first secret"}'

4. Grant it to the agent for an hour, and fetch it as the agent does:

  curl -sS ${controlPlaneUrl}/api/agents/$AGENT/grants ${admin} ${json} -d '{"serviceName":"github","expiresInSeconds":3600}'
  curl -sSL "${controlPlaneUrl}/api/agents/credentials?service=github" -H "Authorization: Bearer $KEY"

5. Or give an MCP client this address; it opens a page where you, signed in by the owner link, let it act as the agent:

  ${controlPlaneUrl}/api/agents/mcp

Ctrl-C stops both; the next start goes on with the same files.
`;
}

/** A path as one word of a shell, left alone where it needs no quotes. */
const inShell = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
