import type { DecisionSchema } from './decision-schema.ts';
import type { ManagementSchema } from './management-schema.ts';
import type { OauthSchema } from './oauth-schema.ts';
import type { PeopleSchema } from './people-schema.ts';
import type { PolicySchema } from './policy-schema.ts';
import type { RefreshSchema } from './refresh-schema.ts';

/**
 * All tables, as Kysely types them. Row types do not leave `store/`. Columns keep their SQL names: the stores convert rows
 * anyway (null, flags, JSON), and Kysely's `CamelCasePlugin` makes each read 10 to 20 % slower.
 */
export interface Schema
  extends ManagementSchema, DecisionSchema, OauthSchema, PeopleSchema, PolicySchema, RefreshSchema {
  schema_migrations: { id: number; name: string };
}
