const MAX_CHARACTERS = 500;

/**
 * Whether a client id is the address of a client's metadata document (draft-ietf-oauth-client-id-metadata-document, "Client
 * Identifier"): https with a path, without fragment, userinfo and dot segments. It has to stand in the form that a URL
 * parser gives it, so that what is compared, fetched and shown is one text.
 */
export function isDocumentAddress(text: string): boolean {
  if (text.length > MAX_CHARACTERS || !URL.canParse(text)) return false;
  const { protocol, username, password, pathname, hash, href } = new URL(text);
  return (
    protocol === 'https:' &&
    href === text &&
    username === '' &&
    password === '' &&
    hash === '' &&
    !text.endsWith('#') &&
    pathname !== '/'
  );
}
