/** The list of the webhook's pages, for the browser tests of the pair, which imports neither program. */
export { PAGE_NAMES, type WebhookPage } from '@svault/webhook/pages';
