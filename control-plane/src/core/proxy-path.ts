/** Where clients of a proxy call it, below the service's public address. */
export const PROXY_PATH = '/api/proxy/mcp';
