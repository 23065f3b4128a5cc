import type { Tunnel } from './tunnel.ts';

/** The owner runs a proxy in front: the webhook listens on this machine alone. */
export const custom: Tunnel = {
  title: 'a proxy of your own',
  services: '',
  webhookExtras: `    # On this machine alone: the proxy in front of it terminates TLS.
    ports:
      - '127.0.0.1:\${SVAULT_WEBHOOK_PORT:-8090}:8090'
`,
  addressProblem: () => undefined,
  before: ({
    hostname,
  }) => `The webhook listens on \`127.0.0.1:8090\` of this machine (\`SVAULT_WEBHOOK_PORT\` in \`.env\`), without TLS. Something of yours
has to answer at its address and pass requests on, all paths, bodies up to 8 MiB, answers streamed. With
[Caddy](https://caddyserver.com) that is all of its configuration:

\`\`\`
${hostname} {
  reverse_proxy 127.0.0.1:8090 {
    flush_interval -1
  }
}
\`\`\`

Have it log no queries: the \`ticket\` in them is good for one credential.`,
  tls: `**Your own proxy terminates TLS**, and sees all traffic: the credentials that agents fetch, the secrets that you store,
tickets, and the requests of the control plane. During binding this includes the key that the control plane signs with: who
learns it can act as the control plane. Run it on this machine, or on one that you trust as much. Where it forwards over a
network, that connection needs TLS too.`,
};
