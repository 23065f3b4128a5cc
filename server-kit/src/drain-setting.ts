import { type Setting, integer } from './settings.ts';

/** `SV_DRAIN_SECONDS`, of both programs. */
export const drainSeconds: Setting<number> = integer({
  min: 0,
  max: 30,
  default: 0,
  description: 'how long a program that was told to stop goes on taking requests, not ready any more',
});
