import { parseSync } from 'vite';

/** A node of the syntax tree (ESTree), with the places in the text where it begins and ends. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** @throws Error where the text is no TypeScript */
export function parse(file: string, text: string): Node {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  return program as unknown as Node;
}

export function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
  );
}

/** The nodes directly below one, without types, in the order of the text. */
export function childrenOf(node: Node): readonly Node[] {
  return Object.entries(node)
    .filter(([name]) => name !== 'typeAnnotation' && name !== 'typeArguments' && name !== 'typeParameters')
    .flatMap(([, value]) => (Array.isArray(value) ? (value as readonly unknown[]) : [value]))
    .filter(isNode)
    .filter(({ type }) => !type.startsWith('TS') || TRANSPARENT.has(type))
    .toSorted((one, other) => one.start - other.start);
}

/** Types that wrap an expression. */
const TRANSPARENT = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);

/** A node's child by name. @throws Error where it has none */
export function child(node: Node, name: string): Node {
  const found = node[name];
  if (!isNode(found)) throw new Error(`${node.type} has no ${name}`);
  return found;
}

/** A node's children in a list, such as the elements of an array. */
export function list(node: Node, name: string): readonly Node[] {
  return (node[name] as readonly unknown[]).filter(isNode);
}

export const isFunction = ({ type }: Node): boolean =>
  type === 'ArrowFunctionExpression' || type === 'FunctionExpression' || type === 'FunctionDeclaration';

/** The name of an identifier or of a key. */
export function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  const name = node['name'] ?? node['value'];
  return typeof name === 'string' ? name : '';
}
