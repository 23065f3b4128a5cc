import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { storeCredential } from '@svault/compose/admin-client';
import { expect } from 'vitest';
import type { PairedService } from '../paired-service.ts';
import type { ERROR_ROWS } from './error-rows.ts';
import type { SERVICE_ROWS } from './webhook-rows.ts';

const SVAULT = fileURLToPath(new URL('../../../cli/src/bin.ts', import.meta.url));

/** The command-line client as a process, signed in by its environment. */
class Client {
  readonly env: NodeJS.ProcessEnv;

  constructor(service: PairedService, key: string, configDir: string) {
    this.env = {
      PATH: process.env['PATH'],
      HOME: configDir,
      SVAULT_CONFIG_DIR: configDir,
      SVAULT_KEYCHAIN: 'off',
      SVAULT_BASE_URL: service.pair.controlPlaneUrl(),
      SVAULT_KEY: key,
    };
  }

  /** @param onStderr sees each piece that it says meanwhile */
  run(args: readonly string[], onStderr: (text: string) => void = () => undefined): Promise<number> {
    const child = spawn(process.execPath, [SVAULT, ...args], {
      env: this.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.setEncoding('utf8').on('data', onStderr);
    return new Promise((resolve) => child.once('close', (code) => resolve(code ?? -1)));
  }

  /** @param input on stdin @returns stdout */
  told(args: readonly string[], input: string, env: NodeJS.ProcessEnv = this.env): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = execFile(process.execPath, [SVAULT, ...args], { env }, (error, out) =>
        error === null ? resolve(out) : reject(new Error('svault refused', { cause: error })),
      );
      child.stdin?.end(input);
    });
  }
}

type Play = (service: PairedService, configDir: string) => Promise<void>;

/** Rows that only the command-line client can show. The client's own tests play its whole table. */
export const CLIENT_PLAYS = {
  'exit code 6': async (service, configDir) => {
    const client = new Client(service, service.pair.adminKey, configDir);
    await storeCredential(service.pair.admin, 'empty', { tokenType: 'PlainText', value: '' });
    expect(await client.run(['tokens', 'get', 'empty', '--check'])).toBe(6);
    const agent = await service.agent('empty');
    expect(await new Client(service, agent.apiKey, configDir).run(['get', 'empty', '--check'])).toBe(6);
  },
  'exit code 7': async (service, configDir) => {
    const client = new Client(service, service.pair.adminKey, configDir);
    await storeCredential(service.pair.admin, 'stubborn', { tokenType: 'PlainText', value: 'x' });
    for (let call = 0; call < 10; call += 1) await service.admin('POST', '/api/tokens/stubborn/refresh');
    expect(await client.run(['tokens', 'refresh', 'stubborn'])).toBe(7);
  },
  'exit code 7, again': async (service, configDir) => {
    const agent = await service.agent();
    let retryAfterSeconds = 0;
    while (retryAfterSeconds === 0) {
      const { status, json } = await agent.list();
      if (status === 429) retryAfterSeconds = Number(json.retryAfter);
    }
    // One second is left of the lockout when the client asks first.
    service.clock.advance((retryAfterSeconds - 1) * 1_000);
    let said = '';
    const code = await new Client(service, agent.apiKey, configDir).run(['ls'], (text) => {
      if (said === '') service.clock.advance(1_000);
      said += text;
    });
    expect(said).toContain('again in 1 s');
    expect(code).toBe(0);
  },
} as const satisfies Partial<Record<keyof typeof ERROR_ROWS, Play>>;

/** As above, of the client's sessions. */
export const CLIENT_CONTEXT_PLAYS = {
  'admin users, CLI': async (service, configDir) => {
    const client = new Client(service, service.pair.adminKey, configDir);
    const { SVAULT_KEY: key = '', ...env } = client.env;
    await client.told(['login', '--as', 'work', '--key', '-'], key, env);
    expect(await client.told(['context', 'current'], '', env)).toBe('work\n');
    expect(await client.told(['whoami', '--format', 'json'], '', env)).toContain('owner@example.org');
  },
} as const satisfies Partial<Record<keyof typeof SERVICE_ROWS, Play>>;
