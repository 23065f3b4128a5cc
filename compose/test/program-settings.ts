import { isDeepStrictEqual } from 'node:util';
import { SETTINGS_READERS, type SettingsReader, namesAskedFor } from '@svault/test-kit/program-settings';
import { toBase64url } from '@svault/shared';
import { type Deployment, type Service, dockerfile, filledIn } from './deployment.ts';

type Env = Readonly<Record<string, string>>;

/** A program that a service of a deployment runs. */
export interface RunningProgram {
  readonly service: string;
  /** Every name that it asks its environment for, `…_FILE` twins too. */
  readonly names: ReadonlySet<string>;
  /** Names that compose.yaml sets itself for it. */
  readonly ownNames: ReadonlySet<string>;
  /** Members of its configuration that another environment changes, each as it is without. @throws where it would not start */
  changedBy(more: Env): Readonly<Record<string, unknown>>;
}

/** By the Dockerfile of the image that runs. */
const READERS: Readonly<Record<string, SettingsReader>> = {
  'compose/control-plane.Dockerfile': SETTINGS_READERS['control-plane'],
  'compose/webhook.Dockerfile': SETTINGS_READERS.webhook,
};

/** In place of a file that containers have, by the setting. */
export const SECRETS: Env = {
  SV_MASTER_KEY: toBase64url(new Uint8Array(32)),
  SV_WEBHOOK_MASTER_KEY: toBase64url(new Uint8Array(32)),
  SV_WEBHOOK_SETUP_TOKEN: 'a'.repeat(43),
  SV_BOOTSTRAP_ADMIN_KEY: `svadmin_${'a'.repeat(43)}`,
  SV_DATABASE_URL: 'postgres://svault:password@postgres:5432/svault',
  SV_REDIS_URL: 'redis://:password@valkey:6379',
  SV_MASTER_KEY_NEXT: toBase64url(new Uint8Array(32).fill(1)),
  SV_WEBHOOK_MASTER_KEY_NEXT: toBase64url(new Uint8Array(32).fill(1)),
  SV_WEBHOOK_PASSPHRASE: 'a long passphrase',
  SV_OIDC_CLIENT_SECRET: 'secret',
  SV_SMTP_URL: 'smtps://user:password@mail.example.org:465',
};

/** What both programs, the control plane alone or the webhook alone read in one deployment. */
export const programsOf = ({ services, set }: Deployment): readonly RunningProgram[] =>
  Object.entries(services).flatMap(([name, service]) => {
    const file = service.build?.dockerfile ?? '';
    const read = READERS[file];
    if (read === undefined) return [];
    const env = withoutFiles(environmentOf(service, file, set));
    const usual = read(env) as Record<string, unknown>;
    return {
      service: name,
      names: new Set(namesAskedFor(read)),
      ownNames: new Set(Object.keys(service.environment ?? {})),
      changedBy: (more) => {
        const other = read({ ...env, ...more }) as Record<string, unknown>;
        const changed = Object.keys(other).filter((key) => !isDeepStrictEqual(other[key], usual[key]));
        return Object.fromEntries(changed.map((key) => [key, usual[key]]));
      },
    };
  });

function environmentOf(service: Service, file: string, set: ReadonlyMap<string, string>): Env {
  const own = Object.entries(service.environment ?? {}).map(([name, value]) => [name, filledIn(value, set)]);
  const fromFile = service.env_file === '.env' ? Object.fromEntries(set) : {};
  return { ...dockerfile(file).env, ...fromFile, ...(Object.fromEntries(own) as Env) };
}

function withoutFiles(env: Env): Env {
  const pairs = Object.entries(env).map(([name, value]) => {
    if (!name.startsWith('SV_') || !name.endsWith('_FILE') || value === '') return [name, value];
    const secret = name.slice(0, -'_FILE'.length);
    return [secret, SECRETS[secret] ?? `no secret is known for ${secret}`];
  });
  return Object.fromEntries(pairs) as Env;
}
