/** Address of a credential's screen. */
export const credentialPath = (serviceName: string): string =>
  `/credentials/${encodeURIComponent(serviceName)}`;
