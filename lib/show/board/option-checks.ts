import { show, unknownNames } from '../../base/wording.js';

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isGuard = (guard: unknown): boolean =>
  typeof guard === 'function' || (isObject(guard) && 'canActivate' in guard);

/** What is wrong with the options of a board. */
export function optionProblems(options: unknown): string[] {
  if (!isObject(options))
    return [`${show(options)} is no options. Give { path: 'admin/jobs', guards: [AdminGuard] }.`];
  const problems = unknownNames(options, ['path', 'guards', 'imports', 'control', 'traceUrl']);
  const check = (name: string, value: unknown, isRight: boolean, what: string, remedy: string): void => {
    if (!isRight) problems.push(`${name}: ${show(value)} is no ${what}. Give ${remedy}.`);
  };
  const guardsOf = (name: string, guards: unknown, empty: string): void =>
    check(
      name,
      guards,
      Array.isArray(guards) && guards.every(isGuard),
      'list of guards',
      `[AdminGuard]; ${empty}`,
    );
  const { path, guards, control, traceUrl }: Readonly<Record<string, unknown>> = { ...options };
  const isPath = typeof path === 'string' && /^[\w\-./~]*$/.test(path) && /\w/.test(path);
  check('path', path, isPath, 'path', "one such as 'admin/jobs', of letters, digits, and - . _ ~ /");
  guardsOf('guards', guards, '[] says that a global guard protects the page');
  const isTrace = typeof traceUrl === 'string' && /^(https?:\/\/|\/(?!\/)).*\{traceId\}/.test(traceUrl);
  const trace = "one such as 'https://tempo.example/trace/{traceId}'";
  check('traceUrl', traceUrl, traceUrl === undefined || isTrace, 'address with {traceId}', trace);
  if (control === undefined) return problems;
  const actors = '(request) => request.user.email: the history says who did what';
  check('control', control, isObject(control), 'options', `{ guards: [OperatorGuard], actor: ${actors} }`);
  if (!isObject(control)) return problems;
  const { guards: own, actor }: Readonly<Record<string, unknown>> = { ...control };
  problems.push(...unknownNames(control, ['guards', 'actor']).map((problem) => `control: ${problem}`));
  guardsOf('control.guards', own, '[] says that whoever may see the page may use its switches');
  check('control.actor', actor, typeof actor === 'function', 'function', actors);
  return problems;
}
