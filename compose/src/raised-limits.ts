const HIGH = '1000000000';

/** Settings with raised limits, for benchmarks and drills that do not test limits. */
export const RAISED_LIMITS: Readonly<Record<string, string>> = {
  SV_LIMIT_AGENT_CREDENTIALS: HIGH,
  SV_LIMIT_AGENT_NO_GRANT: HIGH,
  SV_LIMIT_MANAGEMENT_WRITE: HIGH,
  SV_LIMIT_MCP_HANDSHAKE: HIGH,
  SV_LIMIT_PROXY_MCP: HIGH,
  SV_LIMIT_USER_AGGREGATE: HIGH,
};
