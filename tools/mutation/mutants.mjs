// Makes mutants: copies of a source with one small fault each, in TypeScript and in the Lua of its template literals.
import ts from 'typescript';
import { luaEdits } from './lua.mjs';

const K = ts.SyntaxKind;

/** From here on a constant is a time or a size, and one more or less is no fault. */
const LARGE = 1_000;

/** What stands for an operator in a mutant. */
const OPERATORS = new Map([
  [K.LessThanToken, '<='],
  [K.LessThanEqualsToken, '<'],
  [K.GreaterThanToken, '>='],
  [K.GreaterThanEqualsToken, '>'],
  [K.EqualsEqualsEqualsToken, '!=='],
  [K.ExclamationEqualsEqualsToken, '==='],
  [K.AmpersandAmpersandToken, '||'],
  [K.BarBarToken, '&&'],
  [K.PlusToken, '-'],
  [K.MinusToken, '+'],
  [K.AsteriskToken, '/'],
  [K.SlashToken, '*'],
  [K.PlusEqualsToken, '-='],
  [K.MinusEqualsToken, '+='],
]);

/**
 * @param {string} file its path
 * @param {import('typescript').Program} program with that file
 * @returns each with the lines that it changes, before and after, in one line
 */
export function mutantsOf(file, program) {
  const source = program.getSourceFile(file);
  const edits = [];
  const add = (kind, node, text) => edits.push({ kind, start: node.getStart(source), end: node.end, text });
  const visit = (node) => {
    if (isWithoutCode(node)) return;
    for (const make of [conditions, operators, values, statements, returns]) make(node, add);
    swaps(node, add, program.getTypeChecker());
    if (isTemplatePart(node)) edits.push(...luaEdits(source.text, node.getStart(source), node.end));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return edits.map((edit) => describe(file, source, edit));
}

/** Types and imports are gone when the tests run, and texts of errors are not what is tested here. */
function isWithoutCode(node) {
  return (
    ts.isTypeNode(node) ||
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isDecorator(node)
  );
}

function isTemplatePart({ kind }) {
  return kind >= K.NoSubstitutionTemplateLiteral && kind <= K.TemplateTail;
}

function conditions(node, add) {
  const condition = ts.isConditionalExpression(node) ? node.condition : node.expression;
  if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) add('condition', condition, 'true');
  if (ts.isIfStatement(node) || ts.isConditionalExpression(node) || ts.isWhileStatement(node))
    add('condition', condition, 'false');
  if (ts.isForStatement(node) && node.condition !== undefined) add('condition', node.condition, 'false');
}

function operators(node, add) {
  if (ts.isPrefixUnaryExpression(node) && node.operator === K.ExclamationToken)
    add('operator', node, node.operand.getText());
  if (!ts.isBinaryExpression(node)) return;
  const { left, operatorToken: operator, right } = node;
  if (operator.kind === K.QuestionQuestionToken) return add('operator', node, left.getText());
  const text = OPERATORS.get(operator.kind);
  const joins = operator.kind === K.PlusToken && [left, right].some(isText);
  if (text !== undefined && !joins) add('operator', operator, text);
}

function isText(node) {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

function values(node, add) {
  if (node.kind === K.TrueKeyword) add('value', node, 'false');
  if (node.kind === K.FalseKeyword) add('value', node, 'true');
  if (!ts.isNumericLiteral(node)) return;
  const value = Number(node.text);
  for (const other of value < LARGE ? [value + 1, value - 1] : [value * 2])
    if (other >= 0) add('value', node, String(other));
}

/** A statement that is not there: a call, an assignment, `delete`. */
function statements(node, add) {
  if (!ts.isExpressionStatement(node)) return;
  const { expression } = node;
  // A class without it does not compile.
  if (ts.isCallExpression(expression) && expression.expression.kind === K.SuperKeyword) return;
  add('statement', node, ';');
}

/** What a caller that only asks whether it holds cannot tell from `undefined`. */
const NOTHING = ['undefined', 'false'];

/** A function that gives nothing back, or that ends before it has begun. */
function returns(node, add) {
  const isNothing = (expression) => expression === undefined || NOTHING.includes(expression.getText());
  if (ts.isReturnStatement(node) && !isNothing(node.expression))
    add('return', node.expression, 'undefined as never');
  const isFunction = ts.isFunctionLike(node) && !ts.isConstructorDeclaration(node);
  if (!isFunction || isNothing(node.body)) return;
  if (!ts.isBlock(node.body)) return add('return', node.body, '(undefined as never)');
  const [first] = node.body.statements;
  if (first !== undefined && !ts.isReturnStatement(first))
    add('return', first, `return undefined as never; ${first.getText()}`);
}

/** A word of a union by another one of it: `'held'` by `'expired'`. */
function swaps(node, add, checker) {
  if (!ts.isStringLiteral(node) || (ts.isPropertyAssignment(node.parent) && node.parent.name === node))
    return;
  const type = expectedType(node, checker);
  const words = type?.isUnion()
    ? type.types.filter((one) => one.isStringLiteral()).map((one) => one.value)
    : [];
  const at = words.indexOf(node.text);
  if (at >= 0 && words.length > 1) add('word', node, `'${words[(at + 1) % words.length]}'`);
}

function expectedType(node, checker) {
  const { parent } = node;
  if (ts.isCaseClause(parent)) return checker.getTypeAtLocation(parent.parent.parent.expression);
  if (ts.isBinaryExpression(parent) && parent.right === node && parent.operatorToken.kind !== K.EqualsToken)
    return checker.getTypeAtLocation(parent.left);
  return checker.getContextualType(node);
}

function describe(file, source, { kind, start, end, text }) {
  const from = source.text.lastIndexOf('\n', start - 1) + 1;
  const after = source.text.indexOf('\n', end);
  const to = after < 0 ? source.text.length : after;
  const changed = source.text.slice(from, start) + text + source.text.slice(end, to);
  return {
    file,
    kind,
    start,
    end,
    text,
    line: source.getLineAndCharacterOfPosition(start).line + 1,
    original: inOneLine(source.text.slice(from, to)),
    mutated: inOneLine(changed),
  };
}

function inOneLine(text) {
  return text.trim().replace(/\s+/g, ' ');
}

export function apply({ start, end, text }, source) {
  return source.slice(0, start) + text + source.slice(end);
}
