/**
 * Who may import what, as data. Neither `tsc -b` nor a rule against cycles holds the direction of an import,
 * so the rule `svault/arrows` reads these tables and refuses each import that goes against them.
 * A target is either a bare specifier as it is written (`express`, `node:fs`, `@svault/shared/egress`) or, for a
 * relative import, the path from the repository's root behind a `./` (`./webhook/src/sqlite/schema.ts`).
 */

/** Package folder → folders of the workspace packages that its `src/` may import, itself aside. */
export const PACKAGE_ARROWS: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  'server-kit': ['shared'],
  webhook: ['server-kit', 'shared'],
  'control-plane': ['server-kit', 'shared'],
  conformance: ['shared'],
  cli: ['compose', 'shared'],
  // What runs in an agent depends on nothing of ours.
  clients: [],
  compose: ['shared'],
  'test-kit': ['compose', 'control-plane', 'server-kit', 'shared', 'webhook'],
  bench: ['compose', 'shared', 'test-kit'],
};

/** Package name → its folder. */
export const PACKAGE_FOLDERS: Readonly<Record<string, string>> = {
  '@svault/shared': 'shared',
  '@svault/server-kit': 'server-kit',
  '@svault/webhook': 'webhook',
  '@svault/control-plane': 'control-plane',
  'svault-conformance': 'conformance',
  svault: 'cli',
  '@svault/client': 'clients',
  '@svault/compose': 'compose',
  '@svault/test-kit': 'test-kit',
  '@svault/bench': 'bench',
};

/** One direction inside a package that an import may not take. Tests are exempt: they drive a file from outside. */
export interface Arrow {
  /** Importing files, by their path from the root. */
  readonly from: RegExp;
  /** Targets that these files may not import. */
  readonly to: RegExp;
  /** With names, only these are refused, and default and namespace imports, which include them. */
  readonly names?: readonly string[];
  readonly why: string;
}

/** Folder of `control-plane/src` → folders and files of it that its files may import, itself aside. */
export const CONTROL_PLANE_ARROWS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  limits: ['core'],
  policies: ['core', 'limits'],
  audit: ['core'],
  'sign-in': ['core', 'audit'],
  access: ['core', 'audit', 'limits', 'policies'],
  'authorization-server': ['core', 'sign-in'],
  webhook: ['core', 'audit', 'access'],
  refresh: ['core', 'audit', 'limits', 'webhook'],
  forwarding: ['core', 'access', 'refresh', 'webhook', 'sign-in', 'authorization-server'],
  notifications: ['core'],
  management: [
    'core',
    'audit',
    'limits',
    'policies',
    'sign-in',
    'webhook',
    'refresh',
    'forwarding',
    'notifications',
  ],
  api: [
    'core',
    'limits',
    'policies',
    'audit',
    'sign-in',
    'access',
    'authorization-server',
    'webhook',
    'refresh',
    'forwarding',
    'notifications',
    'management',
  ],
  store: ['core', 'limits', 'policies', 'audit', 'sign-in', 'access'],
  config: ['core', 'limits'],
};

/** Files of `control-plane/src` that every folder may import. */
const CONTROL_PLANE_ROOT = ['metrics.ts'];

/** Files of `webhook/src` that every folder may import. */
const WEBHOOK_ROOT = ['errors.ts', 'metrics.ts', 'sliding-window.ts'];

/** Folder of `webhook/src` → folders of it that its files may import, itself aside. */
export const WEBHOOK_ARROWS: Readonly<Record<string, readonly string[]>> = {
  audit: [],
  config: [],
  binding: ['audit'],
  replay: ['audit', 'binding'],
  vault: ['config', 'audit'],
  approvals: ['audit', 'binding', 'vault'],
  refresh: ['audit', 'vault'],
  mint: ['vault', 'refresh'],
  delivery: ['audit', 'vault', 'approvals', 'refresh', 'mint'],
  proxy: ['audit', 'vault', 'approvals', 'delivery'],
  http: ['binding', 'replay'],
  routes: ['config', 'audit', 'binding', 'vault', 'approvals', 'refresh', 'delivery', 'proxy', 'http'],
  sqlite: ['audit', 'binding', 'replay', 'vault', 'approvals', 'proxy'],
};

/** Files of `cli/src` that every folder may import. */
const CLI_ROOT = [
  'failure.ts',
  'invocation.ts',
  'json-in.ts',
  'one-by-one.ts',
  'public-jwk.ts',
  'system-reason.ts',
];

/** Folder of `cli/src` → folders of it that its files may import, itself aside. Only the program imports `commands/`. */
export const CLI_ARROWS: Readonly<Record<string, readonly string[]>> = {
  output: [],
  http: ['output'],
  contexts: ['output', 'http'],
  'secret-input': ['output'],
  api: ['output', 'http', 'contexts'],
  'compose-engine': ['output'],
  'webhook-project': ['output', 'http'],
  'webhook-direct': ['output', 'http', 'contexts', 'secret-input', 'api'],
  'security-key': ['output'],
  commands: [
    'output',
    'http',
    'contexts',
    'secret-input',
    'api',
    'compose-engine',
    'webhook-project',
    'webhook-direct',
    'security-key',
    'global-flags.ts',
    'private-cache-folder.ts',
  ],
};

/** @param root files of `src/` that every folder may import */
const arrowsOf = (
  workspace: string,
  table: Readonly<Record<string, readonly string[]>>,
  root: readonly string[] = [],
): readonly Arrow[] =>
  Object.entries(table).map(([folder, allowed]) => ({
    from: new RegExp(`^${workspace}/src/${folder}/`),
    to: new RegExp(`^\\./${workspace}/src/(?!(${[folder, ...allowed, ...root].join('|')})(/|$))`),
    why: `${folder}/ may import ${allowed.join(', ') || 'no other folder'}`,
  }));

const SERVER = String.raw`^(webhook|control-plane)/src/`;
/** From process to wiring. */
const SPINE = String.raw`(main|serve|app|jobs|context)\.ts$`;
const serverExcept = (folders: string): RegExp => new RegExp(`${SERVER}(?!(${folders})/|${SPINE})`);
/** What the routes share reads addresses too. */
const ROUTES = new RegExp(`${SERVER}(routes|api)/(?!http/)`);

const DATABASE = /^(better-sqlite3|kysely|pg|ioredis)(\/|$)|^@svault\/server-kit\/(sqlite|checkpoint)/;
const CLIENT_NAMES = ['request', 'get', 'Agent', 'globalAgent', 'ClientRequest'];
/** Code that runs inside one of the two programs, the one way out itself aside. */
const IN_A_PROGRAM = /^(shared\/src\/(?!egress\/)|(server-kit|webhook|control-plane)\/src\/)/;

export const ARROWS: readonly Arrow[] = [
  ...arrowsOf('webhook', WEBHOOK_ARROWS, WEBHOOK_ROOT),
  ...arrowsOf('control-plane', CONTROL_PLANE_ARROWS, CONTROL_PLANE_ROOT),
  ...arrowsOf('cli', CLI_ARROWS, CLI_ROOT),
  {
    from: /^shared\/src\/(?!egress\/)/,
    to: /^(node:)?(fs|net|http|https|http2|tls|dns|dgram|child_process|cluster|worker_threads)(\/|$)/,
    why: 'the root entry and the schemas of shared do no I/O; only egress/ opens connections',
  },
  {
    from: /^shared\/src\/(?!egress\/)/,
    to: /^\.\/shared\/src\/egress\//,
    why: 'code that signs or verifies must not load the HTTP client',
  },
  {
    from: /^shared\/src\//,
    to: /^(express|better-sqlite3|kysely|pg|pino)(\/|$)|^(node:)?fs(\/|$)/,
    why: 'shared knows no server, no database and no files',
  },
  {
    from: IN_A_PROGRAM,
    to: /^undici(\/|$)/,
    why: 'both programs call out through @svault/shared/egress alone, which checks the address (protocol section 6)',
  },
  {
    from: IN_A_PROGRAM,
    to: /^(node:)?(http|https|http2)$/,
    names: [...CLIENT_NAMES, 'connect'],
    why: 'both programs call out through @svault/shared/egress alone, which checks the address (protocol section 6)',
  },
  {
    from: serverExcept('routes|api|http|commands'),
    to: /^express(\/|$)|^@svault\/server-kit\/(listener|raw-body|request-handler|error-handler|security-headers)$/,
    why: 'only routes know HTTP',
  },
  {
    from: serverExcept('store|sqlite|commands'),
    to: DATABASE,
    why: 'a feature declares a store interface; store/ (sqlite/ of the webhook) implements it',
  },
  {
    from: ROUTES,
    to: /^(node:)?crypto$|^libsodium-wrappers$|^@svault\/shared\/egress$|^@svault\/server-kit\/(aead|group-commit)$/,
    why: 'a route parses, authorises, calls one function and serialises: no cryptography, no outgoing HTTP',
  },
  {
    from: new RegExp(`${SERVER}(?!context\\.ts$)[^/]+$`),
    to: /^\.\/(webhook|control-plane)\/src\/(store|sqlite)\//,
    why: 'only context.ts and the commands build stores; everyone else sees an interface of a feature',
  },
];
