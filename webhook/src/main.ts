import { runProgram } from '@svault/server-kit/program';
import { serveCommand } from './commands/serve.ts';

await runProgram(
  {
    name: 'webhook',
    fallback: 'serve',
    subcommands: {
      serve: serveCommand,
    },
  },
  process.argv.slice(2),
);
