/**
 * The service worker, for notifications alone: it sees no request of the console. It is built as a file by itself, under one
 * name, which browsers keep asking for (`vite.config.ts`).
 */

/** What of a worker's scope is used here; the types of the DOM do not have it. */
interface Scope {
  readonly registration: Pick<ServiceWorkerRegistration, 'showNotification'>;
  readonly clients: { openWindow(url: string): Promise<unknown> };
  addEventListener(type: 'push', handle: (event: Push) => void): void;
  addEventListener(type: 'notificationclick', handle: (event: Click) => void): void;
}
interface Lasting {
  waitUntil(done: Promise<unknown>): void;
}
interface Push extends Lasting {
  readonly data: { json(): unknown } | null;
}
interface Click extends Lasting {
  readonly notification: Notification;
}

/** What the control plane encrypts for this browser. */
interface Message {
  readonly title: string;
  readonly body: string;
  /** Of the approval: in the console, or at the webhook. */
  readonly url: string;
  readonly tag: string;
}

const scope = self as unknown as Scope;

scope.addEventListener('push', (event) => {
  const { title, body, url, tag } = messageIn(event);
  event.waitUntil(scope.registration.showNotification(title, { body, tag, data: { url } }));
});

// The link and nothing else: no notification decides.
scope.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { url } = event.notification.data as Pick<Message, 'url'>;
  event.waitUntil(scope.clients.openWindow(url));
});

/** A browser has to show something for each message, also for one that it cannot read. */
const UNREADABLE: Message = {
  title: 'A request waits for an approval',
  body: '',
  url: '/approvals',
  tag: 'approvals',
};

function messageIn({ data }: Push): Message {
  try {
    return (data?.json() ?? UNREADABLE) as Message;
  } catch {
    return UNREADABLE;
  }
}
