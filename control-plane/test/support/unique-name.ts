let made = 0;

/** A name that no other agent of a test has: agents of an account have different names. */
export const uniqueName = (base: string): string => `${base} ${++made}`;
