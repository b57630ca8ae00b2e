import { show, unknownNames } from '../../base/wording.js';

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const areGuards = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every((guard) => typeof guard === 'function' || (isObject(guard) && 'canActivate' in guard));
const isPath = (path: unknown): boolean =>
  typeof path === 'string' && /^[\w\-./~]*$/.test(path) && /\w/.test(path);
const isTrace = (url: unknown): boolean =>
  url === undefined || (typeof url === 'string' && /^(https?:\/\/|\/(?!\/)).*\{traceId\}/.test(url));

/** What is wrong with the options of a board. */
export function optionProblems(options: unknown): string[] {
  if (!isObject(options))
    return [`${show(options)} is no options. Give { path: 'admin/jobs', guards: [AdminGuard] }.`];
  const problems = unknownNames(options, ['path', 'guards', 'imports', 'control', 'traceUrl']);
  const check = (name: string, value: unknown, isRight: boolean, what: string, remedy: string): void => {
    if (!isRight) problems.push(`${name}: ${show(value)} is no ${what}. Give ${remedy}.`);
  };
  const { path, guards, control, traceUrl } = options;
  check('path', path, isPath(path), 'path', "one such as 'admin/jobs', of letters, digits, and - . _ ~ /");
  const global = '[AdminGuard]; [] says that a global guard protects the page';
  check('guards', guards, areGuards(guards), 'list of guards', global);
  const trace = "one such as 'https://tempo.example/trace/{traceId}'";
  check('traceUrl', traceUrl, isTrace(traceUrl), 'address with {traceId}', trace);
  if (control === undefined) return problems;
  const actors = '(request) => request.user.email: the history says who did what';
  check('control', control, isObject(control), 'options', `{ guards: [OperatorGuard], actor: ${actors} }`);
  if (!isObject(control)) return problems;
  const { guards: own, actor } = control;
  problems.push(...unknownNames(control, ['guards', 'actor']).map((problem) => `control: ${problem}`));
  const all = '[AdminGuard]; [] says that whoever may see the page may use its switches';
  check('control.guards', own, areGuards(own), 'list of guards', all);
  check('control.actor', actor, typeof actor === 'function', 'function', actors);
  return problems;
}
