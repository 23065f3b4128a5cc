import type { TunnelMethod } from '../tunnel-methods.ts';
import { cloudflared } from './cloudflared.ts';
import { custom } from './custom.ts';
import { ngrok } from './ngrok.ts';
import { tailscale } from './tailscale.ts';
import type { Tunnel } from './tunnel.ts';

export const TUNNELS: Readonly<Record<TunnelMethod, Tunnel>> = { cloudflared, ngrok, tailscale, custom };
