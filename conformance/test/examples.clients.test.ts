import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from 'vitest';
import { conformanceTests } from '../src/vitest.ts';
import { isInstalled, startExample, type Example, type RunningExample } from './example-webhook.ts';
import { waitingTests } from './waiting.ts';

const folderOf = (name: string): string => fileURLToPath(new URL(`../examples/${name}/`, import.meta.url));

const EXAMPLES: readonly Example[] = [
  {
    name: 'python',
    installed: ['python3', '--version'],
    folder: folderOf('python'),
    serve: (_, settings) => ['python3', 'webhook.py', 'serve', ...settings],
    bindLink: (_, settings) => ['python3', 'webhook.py', 'bind-link', ...settings],
  },
  {
    name: 'go',
    installed: ['go', 'version'],
    folder: folderOf('go'),
    build: (into) => ['go', 'build', '-o', join(into, 'svault-webhook'), '.'],
    serve: (built, settings) => [join(built, 'svault-webhook'), 'serve', ...settings],
    bindLink: (built, settings) => [join(built, 'svault-webhook'), 'bind-link', ...settings],
    approverLink: (built, settings) => [join(built, 'svault-webhook'), 'approver-link', ...settings],
  },
];

// What an example does not claim is not scored; what it should do, and does not, is a failure as what it must do.
for (const example of EXAMPLES) {
  const installed = isInstalled(example.installed);
  if (!installed)
    process.stderr.write(
      `NOT TESTED: conformance/examples/${example.name}, since ${example.installed[0]} is not installed\n`,
    );
  describe.skipIf(!installed)(`the example in ${example.name}:`, () => {
    let running: RunningExample | undefined;
    waitingTests(
      () => startExample(example),
      { skipsFail: false },
      (others) =>
        conformanceTests({
          webhook: async () => {
            running = await startExample(example);
            return running.toTest;
          },
          approverLink: async () => (await running?.approverLink()) ?? '',
          stop: async () => running?.stop(),
          only: others,
          shouldsFail: true,
        }),
    );
  });
}
