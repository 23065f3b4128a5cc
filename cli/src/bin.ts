#!/usr/bin/env node
import { keepCompiledCode } from './compiled-code.ts';

keepCompiledCode(process.env);
// Only now, so that what it loads is kept.
const { main } = await import('./main.ts');
await main();
