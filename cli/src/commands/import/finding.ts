import type { Secret } from '@svault/shared';
import type { Members } from '../tokens/record-members.ts';

/** What `--kind` takes: whose file it is. */
export const KINDS = ['env', 'mcp', 'aws', 'gh', 'netrc', 'npmrc'] as const;
export type Kind = (typeof KINDS)[number];

/** A file that may hold credentials. */
export interface Source {
  readonly kind: Kind;
  /** Absolute. */
  readonly path: string;
  /** The folder that it is in: names of its variables begin so. */
  readonly folder: string;
  /** What tells credentials of the same name apart: the client of an MCP configuration, which of the .env files. */
  readonly label: string;
  /** Whether a person named the file: then it has to be there. */
  readonly isNamed: boolean;
}

/** A credential in a file. */
export interface Finding {
  /** From 1. */
  readonly line: number;
  /** Where it is in the file: `GITHUB_TOKEN`, `mcpServers.github.headers.Authorization`. No part of a value. */
  readonly place: string;
  /** What it may be called; another one may be called so, too. */
  readonly called: string;
  readonly tokenType: 'PlainText' | 'RawCredential';
  /** Of the secret part. */
  readonly bytes: number;
  readonly hosts: readonly string[];
  /** What the webhook would store; undefined where the place has a key of svault already. */
  readonly record: Secret<Members> | undefined;
  /** Set where a proxy can replace the credential in the file. */
  readonly server?: McpServer | undefined;
}

/** A server of an MCP configuration that has an address and one secret header. */
export interface McpServer {
  /** In the document: names of members. */
  readonly path: readonly string[];
  readonly url: string;
  /** The header with the secret, as it is spelt. */
  readonly header: string;
  /** What the proxy sends along, with `${TOKEN}` for the credential. */
  readonly headerTemplates: Readonly<Record<string, string>>;
}

/** What a parser makes of a file. */
export interface Parsed {
  readonly findings: readonly Finding[];
  /** Values that are placeholders, references or no secrets. */
  readonly skipped: number;
}

/** @param values of a file in their order; undefined for one that is skipped */
export function parsedFrom(values: readonly (Finding | undefined)[]): Parsed {
  const findings = values.filter((value) => value !== undefined);
  return { findings, skipped: values.length - findings.length };
}
