import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const COMPOSE = fileURLToPath(new URL('..', import.meta.url));

/** A service of a compose.yaml, as far as the tests look at it. */
export interface Service {
  readonly image?: string;
  readonly build?: { readonly dockerfile: string };
  readonly user?: string;
  readonly env_file?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly read_only?: boolean;
  readonly privileged?: boolean;
  readonly network_mode?: string;
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly logging?: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
  readonly restart?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly secrets?: readonly string[];
}

/** One compose.yaml of the repository with the .env.example beside it. */
export interface Deployment {
  /** From compose/ on; `.` is the pair. */
  readonly name: string;
  readonly folder: string;
  readonly services: Readonly<Record<string, Service>>;
  /** Paths of the files that hold its secrets. */
  readonly secretFiles: readonly string[];
  /** `${NAME…}` of compose.yaml; the text behind `:-`, where there is some. */
  readonly interpolated: ReadonlyMap<string, string | undefined>;
  /** Lines of .env.example that are in force. */
  readonly set: ReadonlyMap<string, string>;
  /** Lines of .env.example behind a `#`. */
  readonly shown: ReadonlyMap<string, string>;
}

/** Every deployment that the repository has. */
export function deployments(): readonly Deployment[] {
  const files = readdirSync(COMPOSE, { recursive: true, encoding: 'utf8' })
    .filter((path) => basename(path) === 'compose.yaml' && !path.includes('node_modules'))
    .toSorted();
  return files.map((path) => deploymentIn(path.replace(/\/?compose\.yaml$/, '') || '.'));
}

function deploymentIn(name: string): Deployment {
  const folder = join(COMPOSE, name);
  const text = readFileSync(join(folder, 'compose.yaml'), 'utf8');
  const file = parse(text, { merge: true }) as {
    readonly services: Record<string, Service>;
    readonly secrets?: Readonly<Record<string, { readonly file: string }>>;
  };
  const env = readFileSync(join(folder, '.env.example'), 'utf8');
  return {
    name,
    folder,
    services: file.services,
    secretFiles: Object.values(file.secrets ?? {}).map((secret) => secret.file),
    interpolated: interpolatedIn(text),
    set: linesOf(env, /^([A-Za-z_]\w*)=(.*)$/gm),
    shown: linesOf(env, /^#([A-Za-z_]\w*)=(.*)$/gm),
  };
}

function interpolatedIn(text: string): ReadonlyMap<string, string | undefined> {
  const found = text.replace(/^\s*#.*$/gm, '').matchAll(/\$\{?(\w+)(?::?-([^}]*))?/g);
  return new Map([...found].map(([, name = '', value]) => [name, value]));
}

function linesOf(text: string, form: RegExp): ReadonlyMap<string, string> {
  const lines = [...text.matchAll(form)].map(([, name = '', value = '']) => [name, value] as const);
  const names = lines.map(([name]) => name);
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  if (twice.length > 0) throw new Error(`.env.example has two lines of ${twice.join(', ')}`);
  return new Map(lines);
}

/** A Dockerfile of the repository. */
export interface Dockerfile {
  readonly bases: readonly string[];
  /** Who its last stage runs as. */
  readonly user: string | undefined;
  readonly hasHealthCheck: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** @param path from the root, as `build.dockerfile` says it */
export function dockerfile(path: string): Dockerfile {
  const text = readFileSync(join(COMPOSE, '..', path), 'utf8').replaceAll('\\\n', ' ');
  const words = (instruction: string): string[] =>
    [...text.matchAll(new RegExp(`^${instruction} +(.*)$`, 'gm'))].map(([, rest = '']) => rest.trim());
  const env = words('ENV').flatMap((line) => line.split(/\s+/));
  return {
    bases: words('FROM').map((line) => line.split(' ')[0] ?? ''),
    user: words('USER').at(-1),
    hasHealthCheck: words('HEALTHCHECK').length > 0,
    env: Object.fromEntries(env.map((pair) => pair.split('=', 2) as [string, string])),
  };
}

/** What compose makes of a value: `${NAME}`, `${NAME:-…}`, `${NAME-…}`, `${NAME:?…}`. */
export const filledIn = (value: string, env: ReadonlyMap<string, string>): string =>
  value.replace(/\$\{(\w+)(?:(:?)([-?])([^}]*))?\}/g, (_, name: string, colon, kind, rest = '') => {
    const given = env.get(name);
    const isThere = colon === ':' ? given !== undefined && given !== '' : given !== undefined;
    return isThere || kind !== '-' ? (given ?? '') : String(rest);
  });
