import { join } from 'node:path';
import { type AdminClient, createAdminClient } from './admin-client.ts';
import { ensureBound } from './binding.ts';
import { freePort } from './free-port.ts';
import { pairSecrets } from './pair-secrets.ts';
import {
  type Launcher,
  type ProgramName,
  type ProgramProcess,
  buildPrograms,
  runSubcommand,
  startProgram,
} from './program-process.ts';

export interface PairOptions {
  /** Holds databases, generated secrets and compiled code; made when it does not exist, for this user alone. */
  readonly dir: string;
  /** 0 or absent: a free port. */
  readonly controlPlanePort?: number;
  readonly webhookPort?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly ownerEmail?: string;
  readonly onLine?: (program: ProgramName, line: string) => void;
  readonly launcher?: Readonly<Partial<Record<ProgramName, Launcher>>>;
}

export interface Pair {
  readonly controlPlaneUrl: string;
  readonly webhookUrl: string;
  readonly adminKey: string;
  readonly admin: AdminClient;
  /** The process that runs a program now; another one after a restart. */
  readonly process: (program: ProgramName) => ProgramProcess;
  /** Runs another subcommand with the pair's settings, while the pair runs. */
  run(program: ProgramName, ...words: string[]): Promise<string>;
  /** Starts a program anew on the same address and files, after it was stopped or killed. */
  restart(program: ProgramName): Promise<void>;
  stop(): Promise<void>;
}

/** Both programs run on this machine. What else may be reached by `http:`, the caller's environment says. */
const LOOPBACK = '127.0.0.0/8,::1/128';
const DEFAULT_OWNER = 'owner@localhost';

type Place = Pick<PairOptions, 'dir' | 'env' | 'ownerEmail'>;

/** Where the pair listens: both on 127.0.0.1. */
export interface PairPorts {
  readonly controlPlane: number;
  readonly webhook: number;
}

/** Addresses, secrets and the environment of both programs. Makes the folder and the secrets where they are missing. */
export function pairSettings({ dir, env, ownerEmail }: Place, ports: PairPorts) {
  const secrets = pairSecrets(dir);
  const urls = {
    'control-plane': `http://127.0.0.1:${ports.controlPlane}`,
    webhook: `http://127.0.0.1:${ports.webhook}`,
  };
  const settings: NodeJS.ProcessEnv = {
    // Node's own: what it compiled once is read at the next start, in half the time and with less memory.
    NODE_COMPILE_CACHE: join(dir, 'compiled'),
    ...process.env,
    SV_EGRESS_ALLOW: [LOOPBACK, process.env['SV_EGRESS_ALLOW']].filter(Boolean).join(','),
    SV_BASE_URL: urls['control-plane'],
    SV_LISTEN: `127.0.0.1:${ports.controlPlane}`,
    SV_DATABASE_URL: `sqlite:${join(dir, 'control-plane.db')}`,
    SV_MASTER_KEY_FILE: secrets.masterKeyFile,
    SV_BOOTSTRAP_EMAIL: ownerEmail ?? DEFAULT_OWNER,
    SV_BOOTSTRAP_ADMIN_KEY_FILE: secrets.adminKeyFile,
    SV_WEBHOOK_URL: urls.webhook,
    SV_WEBHOOK_LISTEN: `127.0.0.1:${ports.webhook}`,
    SV_WEBHOOK_DATA_DIR: join(dir, 'webhook'),
    SV_WEBHOOK_MASTER_KEY_FILE: secrets.webhookMasterKeyFile,
    SV_WEBHOOK_SERVICE_URL: urls['control-plane'],
    SV_WEBHOOK_SETUP_TOKEN_FILE: secrets.setupTokenFile,
    ...env,
  };
  return { urls, secrets, env: settings };
}

/** Builds both programs, starts them as processes of their own on loopback and binds them to each other. */
export async function startPair(options: PairOptions): Promise<Pair> {
  await buildPrograms();
  const [controlPlane, webhook] = await Promise.all([
    options.controlPlanePort || freePort(),
    options.webhookPort || freePort(),
  ]);
  const { urls, secrets, env } = pairSettings(options, { controlPlane, webhook });
  const running = new Map<ProgramName, ProgramProcess>();
  const start = async (name: ProgramName): Promise<void> => {
    const launcher = options.launcher?.[name];
    const process = await startProgram(name, urls[name], {
      env,
      cwd: options.dir,
      onLine: (line) => options.onLine?.(name, line),
      ...(launcher === undefined ? {} : { launcher }),
    });
    running.set(name, process);
  };
  const run = (name: ProgramName, ...words: string[]): Promise<string> =>
    runSubcommand(name, words, { env, cwd: options.dir });
  // The webhook last to start is the first to stop: no request is under way to a program that is gone.
  const stop = async (): Promise<void> => {
    await running.get('control-plane')?.stop();
    await running.get('webhook')?.stop();
  };
  const admin = createAdminClient(urls['control-plane'], secrets.adminKey);
  try {
    // Both are waited for, also where one fails: what did start must be known to `stop`.
    const starts = await Promise.allSettled([start('control-plane'), start('webhook')]);
    for (const started of starts) if (started.status === 'rejected') throw started.reason;
    await ensureBound(admin, env['SV_WEBHOOK_URL'] ?? '', () => run('webhook', 'bind-link'));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    controlPlaneUrl: urls['control-plane'],
    webhookUrl: urls.webhook,
    adminKey: secrets.adminKey,
    admin,
    process: (program) => {
      const process = running.get(program);
      if (process === undefined) throw new Error(`the ${program} was not started`);
      return process;
    },
    run,
    restart: start,
    stop,
  };
}
