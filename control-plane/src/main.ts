import { runProgram } from '@svault/server-kit/program';

await runProgram(
  async () => (await import('./commands/control-plane.ts')).CONTROL_PLANE,
  process.argv.slice(2),
);
