/** What a text must not mention. */
export interface Facts {
  /** The webhook's own address, which it may mention. */
  readonly webhookUrl: string;
  readonly serviceUrl: string;
  /** Ids; those that may be a word as well, short ones and ones of letters alone, are not looked for. */
  readonly ids?: readonly (string | undefined)[];
  /** Of the key, 64 hex digits. */
  readonly hmacHash?: string;
}

export const PLAINLY_AN_ID = /^(?=.*[0-9_]).{6,}$/;

/** The first of the facts that a text mentions; undefined where it mentions none. */
export function mentionIn(
  text: string,
  { webhookUrl, serviceUrl, ids = [], hmacHash }: Facts,
): string | undefined {
  const plain = text.replace(/<[^>]*>/g, (tag) => ` ${tag} `).replaceAll('\\/', '/');
  const addresses = [serviceUrl, new URL(serviceUrl).host].filter((each) => !mentions(webhookUrl, each));
  const returned = addresses.find((each) => mentions(plain, each));
  if (returned !== undefined) return returned;
  const id = ids.find((each) => each !== undefined && PLAINLY_AN_ID.test(each) && text.includes(each));
  if (id !== undefined) return id;
  if (hmacHash === undefined) return undefined;
  const fours = hmacHash.slice(0, 16).match(/.{4}/g) ?? [];
  const fingerprint = new RegExp(fours.join('[^0-9A-Za-z]*'), 'i');
  return fingerprint.test(text.replace(/<[^>]*>/g, '')) ? fours.join(' ') : undefined;
}

/** Whether an address stands in a text, and not as a piece of a longer one. */
function mentions(text: string, address: string): boolean {
  const literal = address.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  return new RegExp(
    `(?<![A-Za-z0-9-]|[A-Za-z0-9]\\.)${literal}(?![A-Za-z0-9-]|:[0-9]|\\.[A-Za-z0-9])`,
    'i',
  ).test(text);
}
