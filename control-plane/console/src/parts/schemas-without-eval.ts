import { config } from 'zod';

// Schemas are compiled by `new Function`, which the policy of the page forbids. Set before the first of them is made.
config({ jitless: true });
