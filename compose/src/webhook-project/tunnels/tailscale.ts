import { type Tunnel, isOneWord } from './tunnel.ts';

/** `TS_SERVE_CONFIG`: one name, to everybody (Funnel), on to the webhook. The image fills in the name. */
const SERVE = {
  TCP: { '443': { HTTPS: true } },
  Web: { '${TS_CERT_DOMAIN}:443': { Handlers: { '/': { Proxy: 'http://webhook:8090' } } } },
  AllowFunnel: { '${TS_CERT_DOMAIN}:443': true },
};

/** The node's name is the first label of the address; Tailscale adds the tailnet's. */
const nodeName = ({ hostname }: URL): string => hostname.split('.')[0] ?? '';

const LABELS = 4;

export const tailscale: Tunnel = {
  title: 'Tailscale Funnel',
  secret: {
    name: 'TS_AUTHKEY',
    question: 'Auth key of Tailscale',
    begins: 'tskey-',
    path: 'secrets/tailscale.key',
    problem: (secret) =>
      isOneWord(secret) && secret.startsWith('tskey-')
        ? undefined
        : 'is no auth key of Tailscale: that is one word beginning with tskey-',
    fileText: (secret) => `${secret}\n`,
  },
  services: `  tunnel:
    <<: *hardened
    image: tailscale/tailscale:v1.102.5
    depends_on:
      webhook:
        condition: service_healthy
    environment:
      TS_AUTHKEY: file:/run/secrets/tunnel_token
      TS_AUTH_ONCE: 'true'
      TS_ENABLE_HEALTH_CHECK: 'true'
      TS_HOSTNAME: \${TS_HOSTNAME:?set TS_HOSTNAME in .env to the first part of the webhook's host}
      TS_LOCAL_ADDR_PORT: 127.0.0.1:9002
      TS_SERVE_CONFIG: /config/serve.json
      TS_SOCKET: /tmp/tailscaled.sock
      TS_STATE_DIR: /var/lib/tailscale
      TS_USERSPACE: 'true'
    secrets: [tunnel_token]
    volumes:
      - ./tailscale:/config:ro
      # The node's identity and certificate. A folder, since a new named volume would belong to root.
      - ./tailscale-state:/var/lib/tailscale
    healthcheck:
      test: [CMD, wget, -q, -O, /dev/null, 'http://127.0.0.1:9002/healthz']
      interval: 10s
      timeout: 5s
      retries: 6
`,
  files: [{ path: 'tailscale/serve.json', text: `${JSON.stringify(SERVE, null, 2)}\n` }],
  folders: ['tailscale-state'],
  settings: (url) => ({ TS_HOSTNAME: nodeName(url) }),
  addressProblem: ({ hostname, port, pathname }) =>
    hostname.endsWith('.ts.net') && hostname.split('.').length === LABELS && port === '' && pathname === '/'
      ? undefined
      : 'must look like https://NODE.TAILNET.ts.net, which is what Funnel gives a node',
  before: (url) => `In Tailscale's admin console:

- DNS: MagicDNS and HTTPS certificates are on.
- Access controls: the node has the attribute \`funnel\`. With tags, for example, an auth key for \`tag:svault\` and
  \`"nodeAttrs": [{ "target": ["tag:svault"], "attr": ["funnel"] }]\`.
- No other node is called \`${nodeName(url)}\`: this one would then get another name than in its address.

The auth key is used once. Afterwards the node's identity is in \`tailscale-state/\`: who has that folder can be this node.
The first request waits some seconds for the certificate.`,
  tls: `**TLS is terminated here**, in the container \`tunnel\` on this machine: Tailscale's relays cannot read the traffic. Some trust
remains. Tailscale names the nodes and runs the domain \`ts.net\`, so it could have a certificate issued for this name, and
the administrators of your tailnet could give the name to another node. Either would then see all traffic, and during
binding the key that the control plane signs with: who learns it can act as the control plane. Issued certificates are
public ([crt.sh](https://crt.sh)). The container \`tunnel\` sees all traffic too.`,
};
