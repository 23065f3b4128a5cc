import { runProgram } from '@svault/server-kit/program';
import { CONTROL_PLANE } from './commands/control-plane.ts';

await runProgram(CONTROL_PLANE, process.argv.slice(2));
