#!/usr/bin/env node
import '../../scripts/old-node.js';
await import('./bin.ts');
