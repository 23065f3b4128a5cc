import { readFileSync } from 'node:fs';
import type { ApprovalDecision, ApprovalFacts, ApprovalScope } from '@svault/shared';
import type { RequestDenial, RequestRule } from '@svault/shared/request-rules';

/** What a vector expects: `reason` is one of our closed lists, for the log; outside all refusals look alike. */
interface Expected {
  readonly name: string;
  readonly expect: 'accept' | 'refuse';
  readonly reason?: string;
  /** The requirement of PROTOCOL.md that is broken. */
  readonly breaks?: string;
}

export interface DigestVector extends Expected {
  readonly body: string;
  readonly value: string;
}

export interface RequestVector extends Expected {
  /** Seconds since 1970 at the webhook. */
  readonly now: number;
  /** Hex. */
  readonly key: string;
  readonly request: RecordedRequest;
  readonly signatureBase: string;
}

export interface RecordedRequest {
  readonly method: string;
  readonly authority: string;
  readonly path: string;
  readonly query: string;
  readonly headers: ReadonlyArray<readonly [string, string]>;
  readonly body: string;
}

export interface TicketVector extends Expected {
  readonly now: number;
  readonly op: 'credential' | 'store' | 'proxy';
  readonly issuer: string;
  readonly audience: string;
  /** Hex, by key id. */
  readonly keys: Readonly<Record<string, string>>;
  readonly header: string;
  readonly claims: string;
  readonly ticket: string;
}

export interface SealedVector extends Expected {
  readonly privateJwk: object;
  readonly thumbprint: string;
  readonly plaintext: string;
  readonly jwe: string;
}

export interface RecipientVector extends Expected {
  readonly jwk: object;
  readonly thumbprint?: string;
}

export interface RequestRulesVector {
  readonly name: string;
  readonly rules: readonly RequestRule[];
  readonly request: {
    readonly method: string;
    /** Of the upstream: scheme, host and port. */
    readonly url: string;
    readonly target: string;
    readonly headers: ReadonlyArray<readonly [string, string]>;
    readonly body?: string;
    /** In the place of `body` where that is not UTF-8. */
    readonly bodyBase64?: string;
  };
  readonly allowed: boolean;
  readonly reason?: RequestDenial;
}

export interface ApprovalVectors {
  readonly requests: readonly {
    readonly name: string;
    readonly kind: 'http' | 'mcp';
    readonly method: string;
    readonly fields: ReadonlyArray<readonly [string, string]>;
    readonly body: string;
    readonly bodyDigest?: string;
    readonly digest?: string;
    readonly handshake?: true;
    /** In the place of a digest. */
    readonly reason?: RequestDenial;
  }[];
  readonly decisions: readonly {
    readonly name: string;
    readonly facts: ApprovalFacts;
    readonly text: string;
    readonly decision: ApprovalDecision;
    readonly scope: ApprovalScope;
    /** base64url */
    readonly challenge: string;
  }[];
}

export interface Published {
  readonly 'rfc9421-b.2.5': {
    readonly key: string;
    readonly request: RecordedRequest;
    readonly components: readonly string[];
    readonly signatureParams: string;
    readonly signatureBase: string;
    readonly mac: string;
  };
  readonly 'rfc7515-a.1': { readonly key: string; readonly signingInput: string; readonly mac: string };
  readonly 'rfc6238-b': ReadonlyArray<{
    readonly algorithm: 'SHA1' | 'SHA256' | 'SHA512';
    readonly seed: string;
    readonly digits: number;
    readonly period: number;
    readonly time: number;
    readonly code: string;
  }>;
}

export const digestVectors = vectorsOf<DigestVector>('content-digests.json');
export const requestVectors = vectorsOf<RequestVector>('request-signatures.json');
export const ticketVectors = vectorsOf<TicketVector>('tickets.json');
export const sealedVectors = vectorsOf<SealedVector>('sealed.json');
export const recipientVectors = vectorsOf<RecipientVector>('recipients.json');
export const requestRulesVectors = vectorsOf<RequestRulesVector>('request-rules.json');
export const approvalVectors = read('approvals.json') as ApprovalVectors;
export const published = read('published.json') as Published;

/** By name, for tests that are about one vector. */
export function requestVector(name: string): RequestVector {
  const found = requestVectors.find((vector) => vector.name === name);
  if (found === undefined) throw new Error(`no vector is called ${name}`);
  return found;
}

function vectorsOf<T>(file: string): readonly T[] {
  return (read(file) as { readonly vectors: readonly T[] }).vectors;
}

function read(file: string): unknown {
  return JSON.parse(readFileSync(new URL(`../vectors/${file}`, import.meta.url), 'utf8'));
}
