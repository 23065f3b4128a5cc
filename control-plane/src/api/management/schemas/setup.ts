import { z } from 'zod';
import { SETUP_STATES, SETUP_STEPS } from '../../../core/setup.ts';

export const setupGuideSchema = z
  .object({
    steps: z.array(z.object({ step: z.enum(SETUP_STEPS), state: z.enum(SETUP_STATES) })),
    complete: z.boolean().meta({ description: 'Whether no step is open' }),
  })
  .meta({ id: 'SetupGuide' });

/** Any text is let through: a step that there is none of is not found. */
export const setupStepParams = z.object({
  step: z.string().meta({ override: { type: 'string', enum: [...SETUP_STEPS] } }),
});

export const setupMarkSchema = z.strictObject({
  state: z.enum(SETUP_STATES).optional().meta({ description: 'done unless it says otherwise' }),
});
