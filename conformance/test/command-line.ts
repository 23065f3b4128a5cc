import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toBase64url } from '@svault/shared';
import { afterEach, beforeEach } from 'vitest';
import { SERVICE_URL, startMinimalWebhook, type MinimalWebhook } from '../fixtures/minimal.ts';
import type { Rules } from '../fixtures/rules.ts';
import { main } from '../src/command.ts';
import type { Io } from '../src/command/io.ts';

/** The command of the suite, a webhook for it, and a folder: anew for each test. */
export interface CommandLine {
  readonly out: readonly string[];
  readonly err: readonly string[];
  readonly dir: string;
  /** Started last. */
  readonly webhook: MinimalWebhook | undefined;
  run(...args: readonly string[]): Promise<number>;
  runWith(io: Partial<Io>, ...args: readonly string[]): Promise<number>;
  /** Starts a webhook that is bound. @returns the flags that name it */
  targetFlags(changed?: Partial<Rules>): Promise<readonly string[]>;
  /** Starts a webhook that is not. @returns what its bind page ends with */
  bindLink(): Promise<string>;
}

/** Registers what sets it up before each test of a file, and clears up. */
export function useCommandLine(): CommandLine {
  let webhook: MinimalWebhook | undefined;
  let out: string[] = [];
  let err: string[] = [];
  let dir = '';
  beforeEach(() => {
    [out, err] = [[], []];
    dir = mkdtempSync(join(tmpdir(), 'svault-conformance-'));
  });
  afterEach(async () => {
    rmSync(dir, { recursive: true });
    await webhook?.close();
  });
  const runWith: CommandLine['runWith'] = (io, ...args) =>
    main(args, { out: (text) => out.push(text), err: (text) => err.push(text), ...io });
  return {
    get out() {
      return out;
    },
    get err() {
      return err;
    },
    get dir() {
      return dir;
    },
    get webhook() {
      return webhook;
    },
    runWith,
    run: (...args) => runWith({}, ...args),
    async targetFlags(changed = {}) {
      webhook = await startMinimalWebhook(changed);
      const { webhookId, key } = webhook.binding;
      const secret = toBase64url(key.secret);
      const target = `--webhook-url ${webhook.url} --webhook-id ${webhookId} --service-url ${SERVICE_URL}`;
      return `${target} --key-id ${key.id} --secret ${secret}`.split(' ');
    },
    async bindLink() {
      webhook = await startMinimalWebhook({}, { bound: false });
      return webhook.invite();
    },
  };
}
