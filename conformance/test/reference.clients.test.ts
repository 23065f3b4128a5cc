import { conformanceTests } from '../src/vitest.ts';
import { startReferenceWebhook, type ReferenceWebhook } from './reference-webhook.ts';
import { waitingTests } from './waiting.ts';

let reference: ReferenceWebhook;

// Everything that can be seen of it: what it did not claim, and what it only should do, is a failure here.
waitingTests(startReferenceWebhook, { skipsFail: true }, (others) =>
  conformanceTests({
    webhook: async () => {
      reference = await startReferenceWebhook();
      return reference.toTest;
    },
    restart: () => reference.restart(),
    approverLink: () => reference.approverLink(),
    stop: () => reference.stop(),
    only: others,
    shouldsFail: true,
    skipsFail: true,
  }),
);
