import { runProgram } from '@svault/server-kit/program';

await runProgram(async () => (await import('./commands/webhook.ts')).WEBHOOK, process.argv.slice(2));
