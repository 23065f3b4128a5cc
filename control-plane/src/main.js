import '../../scripts/old-node.js';
await import('./main.ts');
