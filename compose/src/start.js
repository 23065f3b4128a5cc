import '../../scripts/old-node.js';
await import('./start.ts');
