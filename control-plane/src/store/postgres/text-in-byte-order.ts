import {
  type ColumnDefinitionNode,
  DataTypeNode,
  type KyselyPlugin,
  OperationNodeTransformer,
  type QueryId,
  RawNode,
} from 'kysely';

class ByteOrder extends OperationNodeTransformer {
  protected override transformColumnDefinition(
    node: ColumnDefinitionNode,
    queryId: QueryId,
  ): ColumnDefinitionNode {
    const column = super.transformColumnDefinition(node, queryId);
    const isText = DataTypeNode.is(column.dataType) && column.dataType.dataType === 'text';
    return isText ? { ...column, dataType: RawNode.createWithSql('text collate "C"') } : column;
  }
}

/**
 * For migrations on PostgreSQL: every text column compares by its bytes, as on SQLite, whatever collation the operator's
 * database has. So pages have the same order on both, and an update of the system's collations cannot corrupt an index.
 */
export const textInByteOrder: KyselyPlugin = {
  transformQuery: ({ node, queryId }) => new ByteOrder().transformNode(node, queryId),
  transformResult: ({ result }) => Promise.resolve(result),
};
