import type { DecisionSchema } from './decision-schema.ts';
import type { ManagementSchema } from './management-schema.ts';

/** All tables, as Kysely types them. Row types do not leave `store/`. */
export interface Schema extends ManagementSchema, DecisionSchema {
  schema_migrations: { id: number; name: string };
}
