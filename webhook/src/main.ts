import { runProgram } from '@svault/server-kit/program';
import { WEBHOOK } from './commands/webhook.ts';

await runProgram(WEBHOOK, process.argv.slice(2));
