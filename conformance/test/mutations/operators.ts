import { alternativesOf } from './regular-expressions.ts';
import type { Variant } from './variant.ts';
import { child, childrenOf, isNode, list, nameOf, type Node } from './syntax.ts';

/** Where a node is. */
export interface Context {
  readonly text: string;
  readonly parents: readonly Node[];
  /** The function or constant around it. */
  readonly within: string;
  /** Its value where that is the same for every request; undefined where it depends on one. */
  constant(node: Node): { readonly value: unknown } | undefined;
}

type Operator = (node: Node, context: Context) => readonly Variant[];

const COMPARED = /^(<|<=|>|>=|===|!==|==|!=|in)$/;
const BOUNDARY: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const PREDICATES = /^(test|includes|some|every|has|startsWith|endsWith|equals|isInteger|canParse)$/;
/** Methods that make something else of what they are called on. */
const TRANSFORMS = /^(toLowerCase|toUpperCase|trim|normalize|replace|replaceAll|toSorted|filter|map)$/;
const TIME = /seconds|_ms\b|Ms$|LIVES|HOLDS|_MS$/i;

const textOf = ({ text }: Context, node: Node): string => text.slice(node.start, node.end);
const parentOf = ({ parents }: Context): Node | undefined => parents.at(-1);

/** The text of a node without one of the items in it, and without that one's comma. */
function without(context: Context, node: Node, items: readonly Node[], at: number): string {
  const kept = items.filter((_, index) => index !== at).map((item) => textOf(context, item));
  const [open, close] = node.type === 'ArrayExpression' ? ['[', ']'] : ['{', '}'];
  return `${open}${kept.join(', ')}${close}`;
}

const conditions: Operator = (node, context) => {
  const parent = parentOf(context);
  if (parent === undefined) return [];
  const isTest =
    (parent.type === 'IfStatement' || parent.type === 'ConditionalExpression') && parent['test'] === node;
  const isResult =
    (parent.type === 'ReturnStatement' ||
      (parent.type === 'ArrowFunctionExpression' && parent['body'] === node)) &&
    isPredicate(node);
  if (!isTest && !isResult) return [];
  const constant = context.constant(node);
  // A guard that always refuses is found by any check.
  const isGuard =
    parent.type === 'IfStatement' &&
    /^\s*(\{\s*)?return/.test(context.text.slice(child(parent, 'consequent').start));
  return [
    ...(isGuard || (constant !== undefined && Boolean(constant.value))
      ? []
      : [{ what: 'always', text: 'true' }]),
    ...(constant !== undefined && !constant.value ? [] : [{ what: 'never', text: 'false' }]),
  ];
};

function isPredicate(node: Node): boolean {
  if (node.type === 'UnaryExpression') return node['operator'] === '!';
  if (node.type === 'BinaryExpression') return COMPARED.test(String(node['operator']));
  if (node.type === 'LogicalExpression')
    return node['operator'] !== '??' && isPredicate(child(node, 'left')) && isPredicate(child(node, 'right'));
  return node.type === 'CallExpression' && PREDICATES.test(methodOf(node));
}

function methodOf(node: Node): string {
  const callee = child(node, 'callee');
  return callee.type === 'MemberExpression' && callee['computed'] !== true ? nameOf(callee['property']) : '';
}

const operands: Operator = (node, context) => {
  if (node.type !== 'LogicalExpression') return [];
  // `?? ''` is there for the compiler.
  if (node['operator'] === '??' && isNothing(child(node, 'right'))) return [];
  const operator = String(node['operator']);
  const [left, right] = [child(node, 'left'), child(node, 'right')];
  const changesNothing = (dropped: Node): boolean => {
    const constant = context.constant(dropped);
    if (constant === undefined) return false;
    if (operator === '??') return constant.value === undefined || constant.value === null;
    return Boolean(constant.value) === (operator === '&&');
  };
  return [
    ...(changesNothing(right)
      ? []
      : [{ what: `without the right of ${operator}`, text: textOf(context, left) }]),
    ...(changesNothing(left)
      ? []
      : [{ what: `without the left of ${operator}`, text: textOf(context, right) }]),
  ];
};

const isNothing = (node: Node): boolean =>
  node.type === 'Literal' || (/^(Array|Object)Expression$/.test(node.type) && childrenOf(node).length === 0);

const comparisons: Operator = (node, context) => {
  if (node.type !== 'BinaryExpression') return [];
  const operator = String(node['operator']);
  const [left, right] = [child(node, 'left'), child(node, 'right')];
  const [one, other] = [textOf(context, left), textOf(context, right)];
  const boundary = BOUNDARY[operator];
  // Of two times the last millisecond shows nothing.
  if (boundary !== undefined && !/now|seconds|expires|Ms\b/.test(one + other))
    return [{ what: 'boundary', text: `${one} ${boundary} ${other}` }];
  if ((operator !== '===' && operator !== '!==') || [left, right].some(isLiteral)) return [];
  const not = operator === '===' ? '' : '!';
  const compared = (how: string): string => `${not}__mutation.${how}(${one}, ${other})`;
  return [
    { what: 'ignoring case', text: compared('ignoringCase') },
    { what: 'by prefix', text: compared('byPrefix') },
  ];
};

const isLiteral = (node: Node): boolean =>
  node.type === 'Literal' ||
  node.type === 'TemplateLiteral' ||
  (node.type === 'UnaryExpression' && node['operator'] !== '!') ||
  (node.type === 'Identifier' && nameOf(node) === 'undefined') ||
  (node.type === 'MemberExpression' && nameOf(node['property']) === 'length');

const literals: Operator = (node, context) => {
  if (node.type !== 'Literal') return [];
  const parent = parentOf(context);
  const { value } = node as { value?: unknown };
  if (typeof value === 'boolean' && parent?.type !== 'BinaryExpression')
    return [{ what: String(!value), text: String(!value) }];
  if (typeof value === 'number') return numbers(value, node, context);
  if (isNode(parent) && 'regex' in node)
    return alternativesOf(
      String((node['regex'] as { pattern: string }).pattern),
      String((node['regex'] as { flags: string }).flags),
    );
  if (typeof value !== 'string' || parent === undefined) return [];
  const isCode =
    parent.type === 'CallExpression' &&
    nameOf(parent['callee']) === 'refusal' &&
    list(parent, 'arguments')[0] === node;
  if (isCode) return [{ what: 'INTERNAL', text: `'INTERNAL'` }];
  // A rule of its own is one of a few words; what is within one goes out.
  const depth = context.parents.filter(({ type }) => type === 'ObjectExpression').length;
  const isValue =
    parent.type === 'Property' &&
    parent['value'] === node &&
    context.within.startsWith('RIGHT_') &&
    depth > 1;
  return isValue && value !== '' ? [{ what: 'another text', text: JSON.stringify(`${value}x`) }] : [];
};

function numbers(value: number, node: Node, context: Context): readonly Variant[] {
  const parent = parentOf(context);
  const inConstant = context.within === context.within.toUpperCase() || context.within.startsWith('RIGHT_');
  const counts =
    parent?.type === 'BinaryExpression' ||
    (inConstant &&
      /^(Property|VariableDeclarator|ArrayExpression|ConditionalExpression)$/.test(parent?.type ?? ''));
  // Units and masks.
  if (value === 1000 || context.text.startsWith('0x', node.start)) return [];
  if (!counts || (parent?.type === 'BinaryExpression' && /^[=!]==$/.test(String(parent['operator']))))
    return [];
  if (value > 1 && TIME.test(context.within))
    return [
      { what: 'twice as much', text: String(value * 2) },
      { what: 'half as much', text: String(Math.floor(value / 2)) },
    ];
  return [
    { what: 'one more', text: String(value + 1) },
    ...(value > 0 ? [{ what: 'one less', text: String(value - 1) }] : []),
  ];
}

const items: Operator = (node, context) => {
  const parent = parentOf(context);
  const isArray = node.type === 'ArrayExpression';
  if (!isArray && node.type !== 'ObjectExpression') return [];
  // What is taken apart at once is no list.
  if (isArray && parent?.type === 'VariableDeclarator' && child(parent, 'id').type === 'ArrayPattern')
    return [];
  const all = list(node, isArray ? 'elements' : 'properties');
  return all.map((item, at) => ({
    what: `without ${item.type === 'Property' ? nameOf(item['key']) : textOf(context, item).replace(/\s+/g, ' ').slice(0, 30)}`,
    text: without(context, node, all, at),
  }));
};

const effects: Operator = (_, context) => {
  const parent = parentOf(context);
  if (parent?.type !== 'ExpressionStatement' || ('directive' in parent && parent['directive'] !== null))
    return [];
  return [{ what: 'not done', text: 'undefined' }];
};

const calls: Operator = (node, context) => {
  if (node.type !== 'CallExpression' || context.parents.some(({ type }) => type === 'ChainExpression'))
    return [];
  const method = methodOf(node);
  if (method === '') return [];
  const callee = child(node, 'callee');
  const object = textOf(context, child(callee, 'object'));
  const rest = context.text.slice(child(callee, 'property').end, node.end);
  if (method === 'every' || method === 'some') {
    const other = method === 'every' ? 'some' : 'every';
    return [{ what: `${other} instead of ${method}`, text: `${object}.${other}${rest}` }];
  }
  return TRANSFORMS.test(method) && method !== 'map' ? [{ what: `without ${method}`, text: object }] : [];
};

const OPERATORS: readonly Operator[] = [conditions, operands, comparisons, literals, items, effects, calls];

/** All that can be got wrong at one node, without what changes nothing. */
export function variantsOf(node: Node, context: Context): readonly Variant[] {
  return OPERATORS.flatMap((operator) => operator(node, context));
}
