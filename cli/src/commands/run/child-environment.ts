import { readFileSync } from 'node:fs';
import { usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { systemRoots } from './trust-store.ts';

type Environment = Invocation['env'];

/** Each replaces the roots that its program trusts, so their files contain those too. */
const BUNDLES = [
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'AWS_CA_BUNDLE',
] as const;
/** Variables of programs that otherwise read one of those above. */
const BUNDLES_WHERE_SET = [
  'PIP_CERT',
  'NPM_CONFIG_CAFILE',
  'npm_config_cafile',
  'CARGO_HTTP_CAINFO',
  'HTTPLIB2_CA_CERTS',
  'NIX_SSL_CERT_FILE',
] as const;
/** Each adds to the roots that its program trusts. */
const ADDITIONS = ['NODE_EXTRA_CA_CERTS', 'DENO_CERT'] as const;
const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy'] as const;
/** Hosts that would bypass the local proxy. */
const EXCEPTIONS = ['NO_PROXY', 'no_proxy'] as const;

/**
 * The environment of the command: that of svault without SVAULT_ variables, with the local proxy and its authority.
 * @param options.write writes a file that is removed after the run. @returns its path
 * @throws Failure usage if a bundle that a variable names cannot be read
 */
export function childEnvironment(
  env: Environment,
  options: {
    readonly proxyUrl: string;
    /** PEM of the run's certificate authority. */
    readonly authority: string;
    readonly placeholders: readonly string[];
    readonly write: (name: string, text: string) => string;
  },
): Readonly<Record<string, string | undefined>> {
  const { proxyUrl, authority, placeholders, write } = options;
  const own = Object.entries(env).filter(([name]) => !name.startsWith('SVAULT_'));
  const files = new Map<string, string>();
  const withAuthority = (base: string, text: () => string): string => {
    const path =
      files.get(base) ??
      write(`trusted-${files.size + 1}.pem`, `${text().trimEnd()}\n${authority}`.trimStart());
    files.set(base, path);
    return path;
  };
  /** Names a variable's file with the authority added. @param base what is extended where the variable is not set */
  const extending =
    (base: string, text: () => string) =>
    (name: string): readonly [string, string] => {
      const { [name]: named = '' } = env;
      return [
        name,
        named === '' ? withAuthority(base, text) : withAuthority(named, () => bundleAt(name, named)),
      ];
    };
  const bundle = extending('system', systemRoots);
  return {
    ...Object.fromEntries(own),
    ...Object.fromEntries(PROXIES.map((name) => [name, proxyUrl])),
    ...Object.fromEntries(EXCEPTIONS.map((name) => [name, ''])),
    NODE_USE_ENV_PROXY: '1',
    ...Object.fromEntries(BUNDLES.map(bundle)),
    ...Object.fromEntries(BUNDLES_WHERE_SET.filter((name) => (env[name] ?? '') !== '').map(bundle)),
    ...Object.fromEntries(ADDITIONS.map(extending('nothing', () => ''))),
    ...Object.fromEntries(placeholders.map((name) => [name, placeholderOf(name)])),
  };
}

/** Recognizable as no credential even where a program shows only its first characters. */
const placeholderOf = (name: string): string =>
  `svault-placeholder-${name.toLowerCase().replaceAll('_', '-')}`;

function bundleAt(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw usage(`${name} names a file that cannot be read: unset it, or correct it`);
  }
}
