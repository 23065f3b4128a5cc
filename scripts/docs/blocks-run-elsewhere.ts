import type { CommandBlock } from './command-blocks.ts';

/** Blocks that page-commands does not run, and why: another test runs them, or nothing here can. */
interface Elsewhere {
  /** One page, or all below a folder that ends with a slash. */
  readonly page: string;
  /** How the blocks begin; without it, every block of the page. */
  readonly begins?: string;
  readonly why: string;
}

const CONTAINERS = 'compose/test/containers runs these commands against the built images';
const DEVELOPMENT = 'the gate runs these commands: .ci/run';
const POSTGRES =
  'needs a PostgreSQL server: control-plane/test/two-processes.postgres.hard.test.ts starts such processes, and ' +
  'control-plane/test/commands/moved-pair.postgres.test.ts moves to one';
const GUIDES = 'clients/test/guides.clients.test.ts runs the programs of this page and installs the clients';
const ONE_MACHINE = 'scripts/docs/one-machine.clients.test.ts runs these commands in a folder in place of /';

export const RUN_ELSEWHERE: readonly Elsewhere[] = [
  { page: 'README.md', why: DEVELOPMENT },
  { page: 'CONTRIBUTING.md', why: DEVELOPMENT },
  { page: 'cli/README.md', why: DEVELOPMENT },
  { page: 'compose/README.md', why: DEVELOPMENT },
  { page: 'conformance/README.md', why: DEVELOPMENT },
  { page: 'control-plane/README.md', why: DEVELOPMENT },
  { page: 'webhook/README.md', why: DEVELOPMENT },
  { page: 'clients/', why: 'the tests of clients/ build, install and run both packages' },
  { page: 'compose/webhook/', why: 'compose/test/containers/webhook-alone runs the lines of this page' },
  {
    page: 'docs/webhook-authors/authoring.md',
    begins: 'npx svault-conformance',
    why: 'conformance/test/authoring.test.ts runs them',
  },
  { page: 'docs/deploy/containers.md', why: CONTAINERS },
  {
    page: 'docs/security.md',
    begins: 'sha256sum --check',
    why: 'takes a signed release; scripts/release/checksums.test.ts has sha256sum read such checksums',
  },
  { page: 'docs/performance.md', why: 'measures for minutes, on a machine that does nothing else' },
  { page: 'docs/operate/scale.md', why: 'measures for minutes, on a machine that does nothing else' },
  {
    page: 'docs/operate/backup-and-restore.md',
    begins: 'pg_dump',
    why: 'control-plane/test/commands/dump-and-restore.clients.test.ts runs them on a PostgreSQL server',
  },
  { page: 'docs/operate/backup-and-restore.md', begins: 'umask 077; mkdir -p backups', why: CONTAINERS },
  { page: 'docs/operate/backup-and-restore.md', begins: 'docker compose', why: CONTAINERS },
  { page: 'docs/operate/key-rotation.md', begins: 'openssl rand 32 |', why: CONTAINERS },
  {
    page: 'docs/operate/key-rotation.md',
    begins: "(umask 077; openssl rand 32 | basenc --base64url | tr -d '=",
    why: CONTAINERS,
  },
  { page: 'docs/operate/upgrades.md', begins: 'docker compose', why: CONTAINERS },
  {
    page: 'docs/operate/audit-log.md',
    begins: './svault audit checkpoint',
    why: 'there is a checkpoint after a minute: cli/test/audit-checkpoint.test.ts moves the clock, and runs these commands',
  },
  { page: 'docs/deploy/postgresql.md', why: POSTGRES },
  { page: 'docs/deploy/one-machine.md', why: ONE_MACHINE },
  { page: 'docs/operate/backup-and-restore.md', begins: 'now=', why: ONE_MACHINE },
  { page: 'docs/operate/backup-and-restore.md', begins: 'systemctl', why: ONE_MACHINE },
  { page: 'docs/operate/backup-and-restore.md', begins: '(umask 077; echo', why: ONE_MACHINE },
  { page: 'docs/operate/backup-and-restore.md', begins: 'export SVAULT_BASE_URL', why: ONE_MACHINE },
  { page: 'docs/operate/key-rotation.md', begins: 'cd /etc/svault', why: ONE_MACHINE },
  { page: 'docs/operate/key-rotation.md', begins: './svault webhook unbind', why: ONE_MACHINE },
  {
    page: 'docs/operate/runbook.md',
    why: 'scripts/docs/runbook.clients.test.ts plays each symptom and runs these commands',
  },
  {
    page: 'docs/operate/root-keys.md',
    why: 'scripts/docs/root-keys.clients.test.ts runs these commands in a folder in place of /',
  },
  { page: 'docs/operate/upgrades.md', begins: 'cd /opt/svault', why: ONE_MACHINE },
  { page: 'docs/operate/upgrades.md', begins: 'ln -sfn OLD', why: ONE_MACHINE },
  {
    page: 'docs/operate/upgrades.md',
    begins: 'systemctl start svault-backup@',
    why: 'installs on this machine; compose/test/debian-package.clients.test.ts unpacks and runs the package',
  },
  {
    page: 'docs/deploy/kubernetes.md',
    why: 'needs a cluster; compose/test/helm renders the charts with the values of this page, and runs its jobs on an API server',
  },
  {
    page: 'docs/quickstart.md',
    begins: 'npm ci',
    why: 'compose/test/start.clients.test.ts starts the pair so',
  },
  {
    page: 'docs/guides/approvals.md',
    begins: 'svault-run webhook approver-link',
    why: 'there are no passkeys at the address of this pair; webhook/test/approvals/commands.test.ts runs both',
  },
  {
    page: 'docs/guides/claude-code.md',
    begins: 'claude',
    why: 'Claude Code is no part of the tests; mcp-clients tests other clients',
  },
  {
    page: 'docs/guides/claude-code.md',
    begins: './svault set github-mcp',
    why: 'asks at a terminal; cli/test/prompt.test.ts answers there',
  },
  {
    page: 'docs/guides/claude-code.md',
    begins: 'curl -sS $SVAULT_BASE_URL/api/proxy/mcp',
    why: 'calls GitHub; control-plane/test/forwarding sends such requests to other upstreams',
  },
  {
    page: 'docs/guides/cursor-and-vscode.md',
    begins: 'npx mcp-inspector',
    why: 'control-plane/test/mcp-clients/inspector.clients.test.ts runs it',
  },
  { page: 'docs/guides/node-agent.md', why: GUIDES },
  { page: 'docs/guides/other-languages.md', why: GUIDES },
  { page: 'docs/guides/python-agent.md', why: GUIDES },
  {
    page: 'docs/guides/google-cloud.md',
    begins: 'SVAULT_KEY=$KEY',
    why: 'calls Google; webhook/test/mint tests minting',
  },
  { page: 'docs/guides/import.md', begins: 'vault kv', why: 'needs other vaults' },
  {
    page: 'docs/reference/cli.md',
    begins: 'npm run build:single-file',
    why: 'npm run test:single-file builds it',
  },
  {
    page: 'docs/reference/cli.md',
    begins: 'export SVAULT_WEBHOOK_URL',
    why: 'names an example address; cli/test/known-webhook.test.ts',
  },
  {
    page: 'docs/reference/management-api.md',
    begins: 'curl -sS $API/api/cli/login/exchange',
    why: 'needs a person at a browser: control-plane/test/sign-in/cli-login.test.ts',
  },
];

export const isElsewhere = ({ page, text }: CommandBlock, { page: where, begins = '' }: Elsewhere): boolean =>
  (where.endsWith('/') ? page.startsWith(where) : page === where) && text.startsWith(begins);
