import { toBase64url } from '@svault/shared';
import * as z from 'zod';
import { parseAddress, parseBinding, type Address, type Binding, type WebhookToTest } from '../target.ts';
import { UsageRefused } from './io.ts';

const savedSchema = z.object({
  webhookUrl: z.string(),
  serviceUrl: z.string(),
  webhookId: z.string(),
  keyId: z.string(),
  hmacSecret: z.string(),
});

/** What `--save-binding` keeps and `--binding` reads. */
export function writeBinding({ webhookUrl, serviceUrl }: Address, { webhookId, key }: Binding): string {
  const hmacSecret = toBase64url(key.secret);
  return `${JSON.stringify({ webhookUrl, serviceUrl, webhookId, keyId: key.id, hmacSecret }, null, 2)}\n`;
}

/** @throws UsageRefused, TargetRefused; neither quotes the file */
export function readBinding(
  text: string,
  options: { readonly timeoutMs: number; readonly serviceUrl?: string | undefined },
): WebhookToTest & { readonly binding: Binding } {
  const { webhookUrl, serviceUrl, webhookId, keyId, hmacSecret } = parse(text);
  return {
    address: parseAddress({
      webhookUrl,
      serviceUrl: options.serviceUrl ?? serviceUrl,
      timeoutMs: options.timeoutMs,
    }),
    binding: parseBinding({ webhookId, keyId, secret: hmacSecret }),
  };
}

function parse(text: string): z.infer<typeof savedSchema> {
  try {
    return savedSchema.parse(JSON.parse(text));
  } catch {
    // Without the cause, which may quote the key.
    throw new UsageRefused('--binding: the file is not one that --save-binding wrote');
  }
}
