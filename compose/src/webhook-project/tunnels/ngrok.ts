import { type Tunnel, isOneWord } from './tunnel.ts';

/**
 * Outside of the environment its agent takes the token only from a configuration file, so the secret is
 * that file. It stores no requests (`inspect_db_size`), and takes no remote commands.
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
  addressProblem: ({ port, pathname }) =>
    port === '' && pathname === '/' ? undefined : 'must be a domain by itself, without port and path',
  before: ({
    hostname,
  }) => `\`${hostname}\` has to be reserved for your account in ngrok's dashboard (Domains), since an address that
changes would unbind the webhook. Leave *full capture* of the Traffic Inspector off: it would keep what passes.`,
  tls: `**ngrok terminates TLS.** Its machines see all traffic in the clear: the credentials that agents fetch, the secrets that you
store, tickets, and the requests of the control plane. During binding this includes the key that the control plane signs
with: who learns it can act as the control plane. You trust ngrok with all of that, and everyone who controls your account
there. A credential stored with \`--delivery sealed\` stays encrypted to its recipients.`,
};
