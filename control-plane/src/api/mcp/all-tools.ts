import type { ReadAgentProfile } from './agent-profile.ts';
import type { DescribeGrants } from './describe-grants.ts';
import type { Tool } from './tool.ts';
import { type ReadHistory, credentialHistory } from './tools/credential-history.ts';
import { getCredential } from './tools/get-credential.ts';
import { listCredentials } from './tools/list-credentials.ts';
import { showCredential } from './tools/show-credential.ts';
import { whoami } from './tools/whoami.ts';

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
];
