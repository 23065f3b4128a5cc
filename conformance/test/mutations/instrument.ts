import { variantsOf, type Context } from './operators.ts';
import type { Variant } from './variant.ts';
import { child, childrenOf, isFunction, isNode, list, nameOf, parse, type Node } from './syntax.ts';

/** An expression that can be got wrong in several ways. */
export interface Point {
  readonly file: string;
  /** The function, constant or rule around it. */
  readonly within: string;
  readonly line: number;
  readonly source: string;
  /** Whether it decides over a request: a guard, one of several reasons to refuse, or a value of the rules. */
  readonly isRule: boolean;
  readonly variants: readonly (Variant & { readonly id: string })[];
}

/** A file whose text asks, at each of its points, which variant is on. */
export interface Instrumented {
  readonly text: string;
  readonly points: readonly Point[];
}

/** What says which type a credential has holds for one type by itself; so does what looks for its secret. */
const BY_TYPE = /tokenType|minter|provider|secretFields|[Pp]rovider|'status' in|authMethod|body\['value'\]/;

const CONSTANT = /^(?!TURN)[A-Z][A-Z0-9_]*$/;
const isRules = (name: string): boolean => /^RIGHT(_|$)/.test(name);
const isRoutes = (name: string): boolean => name.endsWith('ROUTES');

/**
 * Puts all wrong variants of a file beside the right one, so that one process, which loads it once, can be every mutation
 * of it in turn. What is computed once, constants and rules, is computed anew each time, since it may depend on the
 * request. @param first the number of its first point @param right what the rules are
 */
export function instrument(
  file: string,
  text: string,
  first: number,
  right: Readonly<Record<string, unknown>>,
): Instrumented {
  const points: Point[] = [];
  const counts = new Map<string, number>();
  const program = parse(file, text);
  const constants = new Set(
    list(program, 'body')
      .flatMap((each) => (each.type === 'VariableDeclaration' ? list(each, 'declarations') : []))
      .map((each) => nameOf(child(each, 'id')))
      .filter((name) => CONSTANT.test(name) && !isRules(name) && !isRoutes(name)),
  );

  const numbered = (within: string, { what, text: to }: Variant): Variant & { readonly id: string } => {
    const name = `${file} ${within}: ${what}`;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return { what, text: to, id: count === 1 ? name : `${name} ${count}` };
  };

  /** The text of a node with everything below it instrumented. */
  const inside = (node: Node, parents: readonly Node[], within: string, dynamic: boolean): string => {
    let [written, at] = ['', node.start];
    const path = [...parents, node];
    for (const each of childrenOf(node)) {
      // `{ name }`: key and value are one.
      if (each.start < at) continue;
      written += text.slice(at, each.start) + emit(each, path, within, dynamic);
      at = each.end;
    }
    return written + text.slice(at, node.end);
  };

  const emit = (node: Node, parents: readonly Node[], within: string, dynamic: boolean): string => {
    const parent = parents.at(-1);
    if (
      node.type === 'ImportDeclaration' ||
      node.type.startsWith('TSType') ||
      node.type.startsWith('TSInterface')
    )
      return text.slice(node.start, node.end);
    if (node.type === 'VariableDeclaration' && parent?.type !== 'ForOfStatement' && isTop(parents))
      return declaration(node, parents);
    if (node.type === 'ObjectExpression' && isOfRules(node)) return merged(node, parents, within);
    // Sabotages wait in loops.
    if (node.type === 'ForStatement') return text.slice(node.start, node.end);
    if (isFunction(node)) return inside(node, parents, functionName(node, parents) ?? within, true);
    if (isPattern(node, parent)) return inside(node, parents, within, dynamic);
    if (node.type === 'Identifier' && constants.has(nameOf(node)) && dynamic && isReference(node, parent))
      return `${nameOf(node)}$()`;
    if (!dynamic) return inside(node, parents, within, dynamic);
    if (constantOf(node, right) !== undefined && node.type !== 'Literal')
      return text.slice(node.start, node.end);
    const context: Context = { text, parents, within, constant: (each) => constantOf(each, right) };
    const found = isKey(node, parent) ? [] : variantsOf(node, context);
    if (found.length === 0) return inside(node, parents, within, dynamic);
    const number = first + points.length;
    const source = text.slice(node.start, node.end);
    const line = text.slice(0, node.start).split('\n').length;
    const variants = found.filter(({ text: to }) => to !== source).map((each) => numbered(within, each));
    const isRule =
      ((parent?.type === 'IfStatement' || node['operator'] === '??') && !BY_TYPE.test(source)) ||
      (within.startsWith('RIGHT_') && !BY_TYPE.test(within));
    points.push({ file, within, line, source, isRule, variants });
    const choice = variants.map(({ text: to }, at) => `__mutation.is(${at}) ? (${to}) : `).join('');
    return `(__mutation.at(${number}) ? ${choice}undefined : (${inside(node, parents, within, dynamic)}))`;
  };

  /** `const NAME = …` of the file. */
  const declaration = (node: Node, parents: readonly Node[]): string => {
    const [declared] = list(node, 'declarations');
    const init = declared?.['init'];
    if (declared === undefined || !isNode(init)) return text.slice(node.start, node.end);
    const name = nameOf(child(declared, 'id'));
    const path = [...parents, node, declared];
    const head = text.slice(node.start, init.start);
    const tail = text.slice(init.end, node.end);
    if (constants.has(name)) {
      const written = emit(init, path, name, true);
      const exported = parents.at(-1)?.type === 'ExportNamedDeclaration' ? 'export ' : '';
      return `const ${name}$ = () => (${written}); ${exported}${head}${name}$()${tail}`;
    }
    if (isRules(name) && init.type === 'ObjectExpression') return head + merged(init, path, name) + tail;
    return head + emit(init, path, name, false) + tail;
  };

  /** An object of rules: each value is computed when it is asked for. */
  const merged = (node: Node, parents: readonly Node[], within: string): string => {
    const path = [...parents, node];
    const parts = list(node, 'properties').map((each) => {
      if (each.type === 'SpreadElement') return text.slice(child(each, 'argument').start, each.end);
      const [key, value] = [child(each, 'key'), child(each, 'value')];
      const name = `${within}.${nameOf(key)}`;
      if (isFunction(value) || each['shorthand'] === true)
        return `{ ${nameOf(key)}: ${emit(value, [...path, each], name, true)} }`;
      return `{ get ${nameOf(key)}() { return ${emit(value, [...path, each], name, true)}; } }`;
    });
    return `__mutation.merged(${parts.join(', ')})`;
  };

  return { text: inside(program, [], file, false), points };
}

/** At the top of the file. */
const isTop = (parents: readonly Node[]): boolean =>
  parents.every(({ type }) => type === 'Program' || type === 'ExportNamedDeclaration');

const isOfRules = (node: Node): boolean =>
  list(node, 'properties').some((each) => each.type === 'SpreadElement' && isRules(nameOf(each['argument'])));

const isPattern = (node: Node, parent: Node | undefined): boolean =>
  node.type === 'ObjectPattern' ||
  node.type === 'ArrayPattern' ||
  (parent?.type === 'AssignmentPattern' && parent['left'] === node);

const isKey = (node: Node, parent: Node | undefined): boolean =>
  (parent?.type === 'Property' && parent['key'] === node && parent['value'] !== node) ||
  (parent?.type === 'MemberExpression' && parent['property'] === node);

const isReference = (node: Node, parent: Node | undefined): boolean =>
  !(parent?.type === 'MemberExpression' && parent['property'] === node && parent['computed'] !== true) &&
  !(parent?.type === 'Property' && parent['key'] === node);

function functionName(node: Node, parents: readonly Node[]): string | undefined {
  if (isNode(node['id'])) return nameOf(node['id']);
  const parent = parents.at(-1);
  if (parent?.type === 'VariableDeclarator') return nameOf(parent['id']);
  return undefined;
}

/** The value of what depends on nothing but the rules; undefined where it depends on a request. */
function constantOf(node: Node, right: Rules): { readonly value: unknown } | undefined {
  switch (node.type) {
    case 'Literal':
      return { value: node['value'] };
    case 'Identifier':
      return nameOf(node) === 'undefined' ? { value: undefined } : ruleOf(nameOf(node), right);
    case 'MemberExpression': {
      const object = child(node, 'object');
      const isRules = nameOf(object.type === 'MemberExpression' ? object['property'] : object) === 'rules';
      return isRules && node['computed'] !== true ? ruleOf(nameOf(node['property']), right) : undefined;
    }
    case 'UnaryExpression': {
      const argument = node['operator'] === '!' ? constantOf(child(node, 'argument'), right) : undefined;
      return argument && { value: !argument.value };
    }
    case 'LogicalExpression':
      return logical(node, constantOf(child(node, 'left'), right), constantOf(child(node, 'right'), right));
    case 'BinaryExpression':
      return compared(node, constantOf(child(node, 'left'), right), constantOf(child(node, 'right'), right));
    default:
      return undefined;
  }
}

type Rules = Readonly<Record<string, unknown>>;
type Constant = { readonly value: unknown } | undefined;

const ruleOf = (name: string, right: Rules): Constant =>
  Object.hasOwn(right, name) && typeof right[name] !== 'function' ? { value: right[name] } : undefined;

/** One side may be enough. */
function logical(node: Node, left: Constant, right: Constant): Constant {
  const decides = node['operator'] === '||';
  if (node['operator'] === '??') return undefined;
  for (const side of [left, right])
    if (side !== undefined && Boolean(side.value) === decides) return { value: decides };
  return left !== undefined && right !== undefined ? { value: !decides } : undefined;
}

function compared(node: Node, left: Constant, right: Constant): Constant {
  if (left === undefined || right === undefined) return undefined;
  const isSame = left.value === right.value;
  if (node['operator'] === '===') return { value: isSame };
  return node['operator'] === '!==' ? { value: !isSame } : undefined;
}
