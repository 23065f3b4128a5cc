import '../../scripts/old-node.js';
await import('./demo.ts');
