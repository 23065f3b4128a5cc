import type { RequestHandler } from 'express';
import { Counter, type Registry } from 'prom-client';

/** Endpoints that are counted by name; all other paths are one, so that a stranger cannot make names up. */
const ENDPOINTS: ReadonlySet<string> = new Set([
  '/bind',
  '/v1/exchange',
  '/v1/health',
  '/v1/storage',
  '/v1/store',
  '/v1/credential',
  '/v1/proxy',
]);

/** Counts answers by endpoint and status. */
export function countAnswers(registry: Registry): RequestHandler {
  const counter = new Counter({
    name: 'svault_webhook_answers_total',
    help: 'Answers by endpoint and status.',
    labelNames: ['endpoint', 'status'],
    registers: [registry],
  });
  return (req, res, next) => {
    const endpoint = ENDPOINTS.has(req.path) ? req.path : 'other';
    res.once('finish', () => counter.inc({ endpoint, status: res.statusCode }));
    next();
  };
}
