const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,64})-----([A-Za-z0-9+/=\s:,-]*?)-----END \1-----/g;
/** What the providers sign with (RFC 7518 section 3.3). */
const KEY_BITS = { min: 2_048, max: 8_192 };

interface Block {
  readonly label: string;
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
}

function blocksIn(text: string): readonly Block[] {
  return [...text.matchAll(BLOCK)].map(([, label = '', body = '']) => {
    // RFC 1421: headers of an encrypted key end with an empty line.
    const base64 = body.replace(/^[\s\S]*?:[\s\S]*?\n\s*\n/, '').replace(/\s/g, '');
    return { label, bytes: /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? bytesOf(base64) : undefined };
  });
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** PEM with one line end at its end, as programs read it. */
export const pemText = (text: string): string => `${text.replace(/\r\n?/g, '\n').trim()}\n`;

/** What is wrong with a text that should be PEM; nothing of the text is in the answer. */
export function pemProblem(text: string, is: 'certificate' | 'private key'): string | undefined {
  const blocks = blocksIn(text);
  const wanted = is === 'certificate' ? /^(X509 |TRUSTED )?CERTIFICATE$/ : /PRIVATE KEY$/;
  if (blocks.length === 0)
    return /-----BEGIN /.test(text)
      ? 'The PEM text is damaged or cut off: a BEGIN line has no END line of the same name.'
      : `This is not a ${is} in PEM: it begins with a line -----BEGIN … and ends with -----END …`;
  if (!blocks.some(({ label }) => wanted.test(label)))
    return `This is PEM, but not a ${is}: it says ${blocks[0]?.label.toLowerCase() ?? 'nothing'}.`;
  return blocks.some(({ bytes }) => bytes === undefined)
    ? 'The PEM text is damaged: what is between BEGIN and END is not base64.'
    : undefined;
}

/** The same for a key that the webhook signs with: RSA of 2048 to 8192 bits, not encrypted. */
export async function signingKeyProblem(text: string): Promise<string | undefined> {
  const problem = pemProblem(text, 'private key');
  if (problem !== undefined) return problem;
  const { label, bytes } = blocksIn(text).find((block) => block.label.endsWith('PRIVATE KEY')) ?? {};
  if (label?.startsWith('ENCRYPTED') || /^Proc-Type:.*ENCRYPTED/m.test(text))
    return 'This key is encrypted by a passphrase. Store it without one: openssl rsa -in key.pem -out plain.pem';
  const bits = bytes && (await rsaBits(label === 'RSA PRIVATE KEY' ? asPkcs8(bytes) : bytes));
  if (bits === undefined) return 'This is not an RSA private key, or it is damaged.';
  return bits < KEY_BITS.min || bits > KEY_BITS.max
    ? `This RSA key has ${bits} bits; 2048 to 8192 are needed.`
    : undefined;
}

async function rsaBits(pkcs8: Uint8Array<ArrayBuffer>): Promise<number | undefined> {
  try {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']);
    return (key.algorithm as RsaKeyAlgorithm).modulusLength;
  } catch {
    return undefined;
  }
}

/** `rsaEncryption` with its NULL, RFC 8017 appendix A.1. */
const RSA = [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/** The RSAPrivateKey of RFC 8017 in the PrivateKeyInfo of RFC 5208, the one form that browsers read. */
const asPkcs8 = (pkcs1: Uint8Array): Uint8Array<ArrayBuffer> =>
  der(0x30, [0x02, 0x01, 0x00, ...RSA, ...der(0x04, pkcs1)]);

function der(tag: number, content: Iterable<number> & { readonly length: number }): Uint8Array<ArrayBuffer> {
  const { length } = content;
  const lengthBytes = length < 0x80 ? [length] : [0x82, length >> 8, length & 0xff];
  return Uint8Array.from([tag, ...lengthBytes, ...content]);
}
