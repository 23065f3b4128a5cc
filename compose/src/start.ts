import { resolve } from 'node:path';
import { startPair } from './pair.ts';

/**
 * `npm start`: both programs on this machine, bound to each other, with their files under `.svault/`.
 * Prints where the console is, a one-time link for the owner, and a line that makes a first agent.
 */
const CONTROL_PLANE_PORT = 8080;
const WEBHOOK_PORT = 8090;

const dir = resolve('.svault');
const pair = await startPair({
  dir,
  controlPlanePort: CONTROL_PLANE_PORT,
  webhookPort: WEBHOOK_PORT,
  env: { SV_LOG_FORMAT: 'pretty', SV_LOG_LEVEL: process.env['SV_LOG_LEVEL'] ?? 'warn' },
  onLine: (program, line) => process.stderr.write(`${program}: ${line}\n`),
}).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});

const ownerLink = /https?:\S+/.exec(await pair.run('control-plane', 'owner-link'))?.[0] ?? '';

process.stdout.write(`
svault is running; its files are in ${dir}

  control plane  ${pair.controlPlaneUrl}
  webhook        ${pair.webhookUrl}  (bound)
  owner link     ${ownerLink}
                 (works once)

Make a first agent; the answer shows its key once:

  curl -sS -X POST ${pair.controlPlaneUrl}/api/agents -H "Authorization: Bearer $(cat .svault/admin.key)" -H 'Content-Type: application/json' -d '{"name":"first"}'

Ctrl-C stops both.
`);

for (const program of ['control-plane', 'webhook'] as const) {
  pair.process(program).child.once('exit', (code, signal) => {
    if (stopping) return;
    process.stderr.write(`${program} ended (${code ?? signal}); stopping the other one\n`);
    process.exitCode = 1;
    stop();
  });
}

let stopping = false;
function stop(): void {
  if (stopping) return;
  stopping = true;
  void pair.stop();
}
process.once('SIGINT', stop).once('SIGTERM', stop);
