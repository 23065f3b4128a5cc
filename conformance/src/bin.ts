#!/usr/bin/env node
// Loaded by this, so that the published package can look at the version of Node first.
await import('./main.ts');
