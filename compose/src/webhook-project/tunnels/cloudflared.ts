import { type Tunnel, isOneWord } from './tunnel.ts';

/** A tunnel that is managed in Cloudflare's dashboard. Its token comes as a file since cloudflared 2025.4.0. */
export const cloudflared: Tunnel = {
  title: 'Cloudflare Tunnel',
  secret: {
    name: 'TUNNEL_TOKEN',
    question: 'Token of the Cloudflare tunnel',
    begins: 'eyJ',
    path: 'secrets/cloudflared.token',
    problem: (secret) =>
      isOneWord(secret) && secret.startsWith('eyJ')
        ? undefined
        : 'is no token of a tunnel: that is the one word beginning with eyJ in the command that the dashboard shows',
    fileText: (secret) => `${secret}\n`,
  },
  services: `  tunnel:
    <<: *hardened
    image: cloudflare/cloudflared:2026.8.2
    command: tunnel --metrics 127.0.0.1:20241 run --token-file /run/secrets/tunnel_token
    depends_on:
      webhook:
        condition: service_healthy
    secrets: [tunnel_token]
    healthcheck:
      test: [CMD, cloudflared, tunnel, --metrics, '127.0.0.1:20241', ready]
      interval: 10s
      timeout: 5s
      retries: 6
`,
  addressProblem: ({ port }) => (port === '' ? undefined : 'must have no port: Cloudflare answers at 443'),
  before: ({
    hostname,
  }) => `In Cloudflare's dashboard (Zero Trust, Networks, Tunnels) the tunnel needs one public hostname:

| | |
|---|---|
| Hostname | \`${hostname}\` |
| Service | \`http://webhook:8090\` |

Put no Access policy, no cache rule and no page rule in front of it: agents are no browsers, and every answer is for one
reader once.`,
  tls: `**Cloudflare terminates TLS.** Its machines see all traffic in the clear: the credentials that agents fetch, the secrets that you
store, tickets, and the requests of the control plane. During binding this includes the key that the control plane signs
with: who learns it can act as the control plane. You trust Cloudflare with all of that, and everyone who controls your
account or the domain there. A credential stored with \`--delivery sealed\` stays encrypted to its recipients.`,
};
