/**
 * The forms in which a secret could lie in a file, a log or on a wire: as it is, escaped in JSON or a URL, in hex,
 * and in base64 at each of the three offsets that it can have inside longer base64 text.
 */
export function secretForms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const inBase64 = [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    // Only the digits that depend on nothing but the secret: its neighbours share the outer ones.
    const digits = padded
      .toString('base64')
      .replace(/=+$/, '')
      .slice(offset === 0 ? 0 : offset + 1, -2);
    return [digits, digits.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...inBase64,
  ];
  return [...new Set(forms)];
}

/** The forms of a secret that occur in some bytes; empty when there is no trace of it. */
export function tracesOf(secret: string, bytes: Buffer): readonly string[] {
  return secretForms(secret).filter(
    (form) => bytes.includes(form, 0, 'latin1') || bytes.includes(form, 0, 'utf8'),
  );
}
