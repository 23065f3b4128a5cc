import { type Tunnel, isOneWord } from './tunnel.ts';

/**
 * Its agent takes the token from a configuration file alone where it shall not stand in the environment, so the secret is
 * that file. Requests are kept nowhere (`inspect_db_size`), and nobody steers the agent from outside.
 */
const configuration = (authtoken: string): string => `version: "3"
agent:
  authtoken: ${JSON.stringify(authtoken)}
  console_ui: false
  inspect_db_size: -1
  remote_management: false
  update_check: false
  web_addr: 127.0.0.1:4040
`;

export const ngrok: Tunnel = {
  title: 'ngrok',
  secret: {
    name: 'NGROK_AUTHTOKEN',
    question: 'Authtoken of ngrok',
    begins: '',
    path: 'secrets/ngrok.yml',
    problem: (secret) =>
      isOneWord(secret) ? undefined : 'is no authtoken of ngrok: the dashboard shows it as one word',
    fileText: configuration,
  },
  services: `  tunnel:
    <<: *hardened
    image: ngrok/ngrok:3.39.11-alpine
    command: http http://webhook:8090 --url \${SV_WEBHOOK_URL} --inspect=false --log stdout
    depends_on:
      webhook:
        condition: service_healthy
    environment:
      NGROK_CONFIG: /run/secrets/tunnel_token
    secrets: [tunnel_token]
    healthcheck:
      test: [CMD-SHELL, 'wget -q -O - http://127.0.0.1:4040/api/tunnels | grep -q public_url']
      interval: 10s
      timeout: 5s
      retries: 6
`,
  settings: () => ({}),
  addressProblem: ({ port, pathname }) =>
    port === '' && pathname === '/' ? undefined : 'must be a domain by itself, without port and path',
  before: ({
    hostname,
  }) => `\`${hostname}\` has to be reserved for your account in ngrok's dashboard (Domains), since an address that
changes would unbind the webhook. Leave *full capture* of the Traffic Inspector off: it would keep what passes.`,
  tls: `**ngrok ends TLS.** What passes is in the clear on its machines before it goes on through the tunnel: credentials that
agents fetch, secrets that you store, tickets, and the requests of the service. At the moment of binding that includes the
key that the service signs with: who learns it can act as the service. ngrok, and whoever controls your account there, has
to be trusted with all that. Records stored with \`--delivery sealed\` stay encrypted to their recipients and can be read
by nobody on the way.`,
};
