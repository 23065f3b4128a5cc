/** Specification, "Command-line client": three tunnel providers and `custom`. */
export const TUNNEL_METHODS = ['cloudflared', 'ngrok', 'tailscale', 'custom'] as const;
export type TunnelMethod = (typeof TUNNEL_METHODS)[number];
