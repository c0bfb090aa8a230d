import { posix } from 'node:path';
import ts from 'typescript';

/** One import of another file of the tree. */
export interface Import {
  /** Path of the imported file. */
  readonly path: string;
  /** Names that are imported; undefined if the whole module is. */
  readonly names: readonly string[] | undefined;
}

export interface FunctionSize {
  readonly name: string;
  readonly lines: number;
}

/** The imports, exports and functions of a file. */
export interface Source {
  readonly path: string;
  /** Lines as an editor counts them. */
  readonly lines: number;
  readonly imports: readonly Import[];
  /** Exported names; `used`: the file itself uses the name, too. */
  readonly exports: readonly { readonly name: string; readonly used: boolean }[];
  /** Names of the interfaces, type aliases, classes and enums that are declared. */
  readonly types: readonly string[];
  readonly functions: readonly FunctionSize[];
  /** Every identifier of the file. */
  readonly words: ReadonlySet<string>;
}

/** Reads a TypeScript file; nothing is resolved beyond relative paths, which name their extension. */
export function readSource(path: string, text: string): Source {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const found: Found = { imports: [], exported: [], types: [], functions: [], words: new Map() };
  visit(file, file, found);
  return {
    path,
    lines: text.split('\n').length - 1,
    imports: found.imports,
    exports: found.exported.map((name) => ({ name, used: (found.words.get(name) ?? 0) > 1 })),
    types: found.types,
    functions: found.functions,
    words: new Set(found.words.keys()),
  };
}

interface Found {
  readonly imports: Import[];
  readonly exported: string[];
  readonly types: string[];
  readonly functions: FunctionSize[];
  /** How often each identifier occurs in the file. */
  readonly words: Map<string, number>;
}

function visit(node: ts.Node, file: ts.SourceFile, found: Found): void {
  const imported = importOf(node, file.fileName);
  if (imported !== undefined) found.imports.push(imported);
  if (isExported(node)) found.exported.push(...namesOf(node));
  if (isTypeDeclaration(node) && node.name !== undefined) found.types.push(node.name.text);
  if (ts.isIdentifier(node)) found.words.set(node.text, (found.words.get(node.text) ?? 0) + 1);
  if (isFunctionWithBody(node)) found.functions.push({ name: nameOf(node), lines: linesOf(node, file) });
  ts.forEachChild(node, (child) => visit(child, file, found));
}

function importOf(node: ts.Node, from: string): Import | undefined {
  const specifier = specifierOf(node);
  if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith('.'))
    return undefined;
  return { path: posix.join(posix.dirname(from), specifier.text), names: namesImported(node) };
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return node.arguments[0];
  return undefined;
}

function namesImported(node: ts.Node): string[] | undefined {
  if (ts.isCallExpression(node)) return namesDestructured(node);
  if (!ts.isImportDeclaration(node)) return undefined;
  const bindings = node.importClause?.namedBindings;
  if (bindings !== undefined && ts.isNamespaceImport(bindings)) return undefined;
  const named = bindings?.elements.map((one) => (one.propertyName ?? one.name).text) ?? [];
  return node.importClause?.name === undefined ? named : ['default', ...named];
}

/** `const { name } = await import(path)` names what it imports; any other dynamic import takes all. */
function namesDestructured(call: ts.CallExpression): string[] | undefined {
  const declaration = call.parent.parent;
  if (!ts.isVariableDeclaration(declaration) || !ts.isObjectBindingPattern(declaration.name))
    return undefined;
  return declaration.name.elements.flatMap((one) => {
    const name = one.propertyName ?? one.name;
    return ts.isIdentifier(name) ? [name.text] : [];
  });
}

function isExported(node: ts.Node): boolean {
  return (
    ts.canHaveModifiers(node) &&
    (ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false)
  );
}

function namesOf(node: ts.Node): string[] {
  if (ts.isVariableStatement(node))
    return node.declarationList.declarations.flatMap((one) => bound(one.name));
  if (isTypeDeclaration(node) || ts.isFunctionDeclaration(node)) return [node.name?.text ?? 'default'];
  return [];
}

function bound(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((one) => (ts.isBindingElement(one) ? bound(one.name) : []));
}

function isTypeDeclaration(
  node: ts.Node,
): node is ts.InterfaceDeclaration | ts.TypeAliasDeclaration | ts.ClassDeclaration | ts.EnumDeclaration {
  return (
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isEnumDeclaration(node)
  );
}

function isFunctionWithBody(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
}

/** The function's own name, or the name of the variable or member that holds it. */
function nameOf(node: ts.FunctionLikeDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (node.name !== undefined) return node.name.getText();
  const { parent } = node;
  const named = ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent);
  return named ? parent.name.getText() : 'anonymous';
}

function linesOf(node: ts.Node, file: ts.SourceFile): number {
  const line = (position: number) => file.getLineAndCharacterOfPosition(position).line;
  return line(node.getEnd()) - line(node.getStart(file)) + 1;
}
