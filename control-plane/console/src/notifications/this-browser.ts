import { browserName } from '../account/browser-name.ts';
import { Problem, answerOf, api } from '../api/client.ts';

/** As `vite.config.ts` names it. */
const WORKER = '/assets/push-worker.js';

/** Why this browser cannot be told anything; undefined where it can. */
export function problemHere(): string | undefined {
  if (!('serviceWorker' in navigator) || !('PushManager' in window))
    return 'This browser does not support notifications here. They need https or localhost; on an iPhone or iPad, add the console to the home screen first.';
  if (Notification.permission === 'denied')
    return 'This browser blocks notifications of this site. Allow them in its settings first.';
  return undefined;
}

/**
 * Has this browser told of approvals. It asks its person, so it is called by their click.
 *
 * @throws Problem where they say no; ApiFailure
 */
export async function tellThisBrowser() {
  const problem = problemHere();
  if (problem !== undefined) throw new Problem(problem);
  const { pushKey } = await answerOf(api.GET('/api/notifications/options'));
  if ((await Notification.requestPermission()) !== 'granted')
    throw new Problem('Nothing changed: this browser may not show notifications.');
  const registration = await navigator.serviceWorker.register(workerUrl());
  await isActive(registration);
  const wanted = { userVisibleOnly: true, applicationServerKey: pushKey };
  // One of another installation at this address is of no use.
  const subscription = await registration.pushManager.subscribe(wanted).catch(async () => {
    await (await registration.pushManager.getSubscription())?.unsubscribe();
    return registration.pushManager.subscribe(wanted).catch(() => {
      throw new Problem('This browser could not subscribe at its push service. Try again later.');
    });
  });
  const { endpoint = '', keys = {} } = subscription.toJSON();
  const { p256dh = '', auth = '' } = keys;
  return answerOf(
    api.POST('/api/notifications', {
      body: {
        type: 'push',
        name: browserName(navigator.userAgent).slice(0, 100),
        subscription: { endpoint, keys: { p256dh, auth } },
      },
    }),
  );
}

/** Of a registration whose scope holds no page, `ready` never comes. */
function isActive({ active, installing, waiting }: ServiceWorkerRegistration): Promise<void> {
  const worker = installing ?? waiting;
  if (active !== null || worker === null) return Promise.resolve();
  return new Promise((resolve, reject) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated') resolve();
      if (worker.state === 'redundant')
        reject(new Problem('The service worker was not installed. Try again.'));
    });
  });
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(text: string): string },
  ): { createScriptURL(text: string): string };
}

/** The console requires Trusted Types, and this is its one script that a program starts. */
function workerUrl(): string {
  const { trustedTypes } = window as { readonly trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('svault-push-worker', { createScriptURL: () => WORKER });
  return policy?.createScriptURL('') ?? WORKER;
}
