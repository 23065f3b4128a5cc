import type { RequestHandler } from 'express';
import type { BindingReader } from '../binding/binding.ts';
import { refusal } from '../errors.ts';

/**
 * CORS of `POST /v1/store` (protocol section 5.5): pages of the bound service's origin may post, and read every answer,
 * errors too. A request that names any other origin is refused before its ticket is looked at. One that names none
 * comes from a program and is served.
 */
export function storeCors(deps: { readonly binding: BindingReader }): RequestHandler {
  return (req, res, next) => {
    const origin = req.headers.origin;
    if (origin === undefined) return next();
    if (origin !== boundOrigin(deps.binding))
      throw refusal('ORIGIN_NOT_ALLOWED', 'this origin may not store here');
    res.setHeader('Access-Control-Allow-Origin', origin);
    res.setHeader('Vary', 'Origin');
    if (req.method !== 'OPTIONS') return next();
    res.setHeader('Access-Control-Allow-Methods', 'POST');
    res.setHeader('Access-Control-Allow-Headers', 'authorization, content-type');
    res.statusCode = 204;
    res.end();
  };
}

/** Scheme, host and port of the service's base URL; none before the binding is complete. */
function boundOrigin(reader: BindingReader): string | undefined {
  const binding = reader();
  return binding?.complete === true ? new URL(binding.serviceBaseUrl).origin : undefined;
}
