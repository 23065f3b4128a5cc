/** What docs/guides/other-languages.md says of clients that webhook/test/http/redirect.clients.test.ts does not run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPython } from '@svault/test-kit/foreign-packages';
import { CACHE, isInstalled, mustRun, run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { filesOf } from './support/guide-programs.ts';
import { pythonEnvironment } from './support/python.ts';
import { type RogueServer, json, startRogueServer } from './support/rogue-server.ts';

const seen: IncomingHttpHeaders[] = [];
let webhook: RogueServer;
let controlPlane: RogueServer;
beforeAll(async () => {
  webhook = await startRogueServer((_, { headers }) => {
    seen.push(headers);
    return json(200, {});
  });
  controlPlane = await startRogueServer(() => json(307, {}, { location: webhook.url }));
});
afterAll(async () => {
  await controlPlane.close();
  await webhook.close();
});

/** Runs a program that asks the control plane with both headers. @returns the status that it saw, and what the webhook did */
async function ask(command: readonly string[]): Promise<object> {
  const before = seen.length;
  const { code, stdout, stderr } = await run([...command, controlPlane.url]);
  expect([code, stderr]).toEqual([0, '']);
  return {
    status: Number(stdout),
    atWebhook: seen.slice(before).map((headers) => [headers.authorization, headers['x-agent-key']]),
  };
}

describe.skipIf(!hasPython)('httpx of Python', () => {
  const program = (options: string): string =>
    `import sys, httpx; headers = {"authorization": "Bearer a", "x-agent-key": "b"}
print(httpx.get(sys.argv[1], headers=headers${options}).status_code)`;

  test('follows no redirect by itself', async () => {
    expect(await ask([await pythonEnvironment(), '-c', program('')])).toEqual({ status: 307, atWebhook: [] });
  });

  test('drops Authorization where it is told to follow, and keeps x-agent-key', async () => {
    expect(await ask([await pythonEnvironment(), '-c', program(', follow_redirects=True')])).toEqual({
      status: 200,
      atWebhook: [[undefined, 'b']],
    });
  });
});

describe.skipIf(!isInstalled('cargo', '--version'))('ureq of Rust', () => {
  const PROGRAM = `fn main() {
    let address = std::env::args().nth(1).unwrap();
    let answer = ureq::get(address).header("authorization", "Bearer a").header("x-agent-key", "b").call();
    println!("{}", answer.unwrap().status().as_u16());
}
`;
  const folder = tempDir();
  const target = join(CACHE, 'rust');
  beforeAll(async () => {
    const [[, manifest] = ['', '']] = filesOf({ page: 'other-languages.md', name: 'rust' });
    mkdirSync(join(folder.path, 'src'));
    writeFileSync(join(folder.path, 'Cargo.toml'), manifest.replace('name = "agent"', 'name = "follower"'));
    writeFileSync(join(folder.path, 'src/main.rs'), PROGRAM);
    await mustRun(['cargo', 'build', '--quiet', '--target-dir', target], { cwd: folder.path });
  }, 600_000);
  afterAll(() => folder.remove());

  test('follows redirects by itself, drops Authorization, and keeps x-agent-key', async () => {
    expect(await ask([join(target, 'debug/follower')])).toEqual({
      status: 200,
      atWebhook: [[undefined, 'b']],
    });
  });
});
