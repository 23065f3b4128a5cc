/** Specification, "ABAC policy": approval is not available, and denies every request that its policy is attached to. */
export const isApproved = (): boolean => false;
