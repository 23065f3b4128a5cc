import type { Run } from '../invocation.ts';
import { setLock } from './set-lock.ts';

/** `vault lock` */
export const run: Run = (invocation) => setLock(invocation, 'lock');
