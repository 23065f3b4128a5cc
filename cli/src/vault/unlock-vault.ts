import type { Run } from '../invocation.ts';
import { setLock } from './set-lock.ts';

/** `vault unlock` */
export const run: Run = (invocation) => setLock(invocation, 'unlock');
