/** Warnings of the last store, for the screen that follows it. */
const WARNINGS = 'svault warnings';

/**
 * Leaves the form of a secret for the credential's screen. A load, so that nothing of the secret is left in memory.
 * @param warnings of the webhook; they have nothing of the secret (PROTOCOL.md SAV-37)
 */
export function leaveForm(serviceName: string, warnings: readonly string[]): void {
  if (warnings.length > 0) sessionStorage.setItem(WARNINGS, JSON.stringify([serviceName, ...warnings]));
  window.location.assign(`/credentials/${encodeURIComponent(serviceName)}`);
}

/** The warnings that were left for the screen of a credential; once. */
export function takeWarnings(serviceName: string): readonly string[] {
  const [name, ...warnings] = JSON.parse(sessionStorage.getItem(WARNINGS) ?? '[]') as string[];
  sessionStorage.removeItem(WARNINGS);
  return name === serviceName ? warnings : [];
}
