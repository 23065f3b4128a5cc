import { PAGE_NAMES, type WebhookPage } from '@svault/webhook/pages';

export type WebhookPageName = WebhookPage['name'];

/** Every page of the webhook, for the browser tests of the pair, which import neither program. */
export const WEBHOOK_PAGES: readonly WebhookPageName[] = PAGE_NAMES;
