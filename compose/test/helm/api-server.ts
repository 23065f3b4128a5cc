import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../src/free-port.ts';
import { kubectl } from './tools.ts';

/** The folder of envtest's programs: https://book.kubebuilder.io/reference/envtest */
const ASSETS = process.env['KUBEBUILDER_ASSETS'];

/** What a test says that does not run here. */
export const NO_API_SERVER = 'needs KUBEBUILDER_ASSETS, the folder of etcd and kube-apiserver';

export const hasApiServer = ASSETS !== undefined;
/** Makes the pods of workloads; envtest's own archives lack it. */
export const hasControllers = ASSETS !== undefined && existsSync(join(ASSETS, 'kube-controller-manager'));

/** An API server with its database, and with the controllers where they are there: a cluster without nodes. */
export interface ApiServer {
  /** A file that lets kubectl and helm do everything. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

const POLL_MS = 100;
const POLLS = 1200;
const ADMIN_TOKEN = 'admin-token-of-a-test';

/**
 * @param dir receives its data and logs
 * @throws Error with the end of the log of the program that does not start
 */
export async function startApiServer(dir: string): Promise<ApiServer> {
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const started: ChildProcess[] = [];
  const file = (name: string, text: string): string => {
    const path = join(dir, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const start = (program: string, settings: Readonly<Record<string, string | number | boolean>>): void => {
    const args = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    const log = openSync(join(dir, `${program}.log`), 'w', 0o600);
    const child = spawn(join(ASSETS ?? '', program), args, { stdio: ['ignore', log, log] });
    const withUs = (): void => void child.kill('SIGKILL');
    process.once('exit', withUs);
    child.once('exit', () => process.off('exit', withUs));
    started.push(child);
  };
  start('etcd', {
    'data-dir': join(dir, 'etcd'),
    'listen-client-urls': `http://127.0.0.1:${client}`,
    'advertise-client-urls': `http://127.0.0.1:${client}`,
    'listen-peer-urls': `http://127.0.0.1:${peer}`,
    'unsafe-no-fsync': true,
  });
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = file('service-accounts.key', privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
  const certificates = join(dir, 'certificates');
  start('kube-apiserver', {
    'etcd-servers': `http://127.0.0.1:${client}`,
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    'secure-port': port,
    'cert-dir': certificates,
    'service-cluster-ip-range': '10.0.0.0/24',
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-signing-key-file': key,
    'service-account-key-file': key,
    'authorization-mode': 'RBAC',
    'token-auth-file': file('tokens.csv', `${ADMIN_TOKEN},admin,1,system:masters\n`),
  });
  const kubeconfig = file('kubeconfig', JSON.stringify(configOf(port, join(certificates, 'apiserver.crt'))));
  await until(started, dir, async () => {
    const { code } = await kubectl('--kubeconfig', kubeconfig, 'get', '--raw', '/readyz');
    return code === 0;
  });
  if (hasControllers)
    start('kube-controller-manager', {
      kubeconfig,
      'bind-address': '127.0.0.1',
      'secure-port': await freePort(),
      'cert-dir': join(dir, 'certificates-of-controllers'),
      'leader-elect': false,
      'service-account-private-key-file': key,
    });
  return {
    kubeconfig,
    stop: async () => {
      for (const child of started.toReversed()) await end(child);
    },
  };
}

const configOf = (port: number, authority: string): object => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    {
      name: 'test',
      cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': authority },
    },
  ],
  users: [{ name: 'admin', user: { token: ADMIN_TOKEN } }],
  contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
  'current-context': 'test',
});

async function until(
  needed: readonly ChildProcess[],
  dir: string,
  isReady: () => Promise<boolean>,
): Promise<void> {
  for (let polls = 0; polls < POLLS; polls++) {
    const ended = needed.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
    if (ended !== undefined) break;
    if (await isReady()) return;
    await delay(POLL_MS);
  }
  const logs = ['etcd', 'kube-apiserver'].map((program) =>
    readFileSync(join(dir, `${program}.log`), 'utf8').slice(-1000),
  );
  throw new Error(`the API server does not start:\n${logs.join('\n')}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
