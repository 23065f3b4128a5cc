import type { DirectHandler } from '@svault/server-kit/direct-routes';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { readCredentialHistory } from '../../audit/credential-history.ts';
import type { Stores } from '../../core/stores.ts';
import type { WebhookRecords } from '../../webhook/token-metadata.ts';
import { type DescribeGrants, createDescribeGrants } from './describe-grants.ts';
import { createMcpHandler } from './mcp-handler.ts';
import type { Tool } from './tool.ts';
import { type ReadHistory, credentialHistory } from './tools/credential-history.ts';
import { getCredential } from './tools/get-credential.ts';
import { listCredentials } from './tools/list-credentials.ts';
import { requestAccess } from './tools/request-access.ts';
import { showCredential } from './tools/show-credential.ts';
import { type ReadAgentProfile, createReadAgentProfile, whoami } from './tools/whoami.ts';

/** The tools of the specification, in its order. */
export const createTools = (features: {
  readonly describeGrants: DescribeGrants;
  readonly readProfile: ReadAgentProfile;
  readonly readHistory: ReadHistory;
}): readonly Tool[] => [
  listCredentials(features.describeGrants),
  getCredential,
  whoami(features.readProfile),
  showCredential(features.describeGrants),
  credentialHistory(features.readHistory),
  // Beyond the specification (DIVERGENCES.md).
  requestAccess,
];

/** The MCP endpoint of agents, with its tools. */
export function createMcpApi(
  dependencies: Omit<Parameters<typeof createMcpHandler>[0], 'tools'> & {
    readonly stores: Pick<Stores, 'agents' | 'audit' | 'policies' | 'tokens'>;
    readonly records: WebhookRecords;
    readonly masterKeys: MasterKeys;
  },
): DirectHandler {
  const { stores, records, masterKeys: keys } = dependencies;
  const tools = createTools({
    describeGrants: createDescribeGrants({ tokens: stores.tokens, records }),
    readProfile: createReadAgentProfile(stores),
    readHistory: (subject, request) => readCredentialHistory({ log: stores.audit, keys }, subject, request),
  });
  return createMcpHandler({ ...dependencies, tools });
}
