import { runProgram } from '@svault/server-kit/program';
import { CONTROL_PLANE } from './program.ts';

await runProgram(CONTROL_PLANE, process.argv.slice(2));
