import { show, unknownNames } from '../../base/wording.js';

const NAMES = ['path', 'guards', 'imports', 'control', 'traceUrl'];
const CONTROL_NAMES = ['guards', 'actor'];

/** What is wrong with the options of a board. */
export function optionProblems(options: unknown): string[] {
  if (typeof options !== 'object' || options === null)
    return [`${show(options)} is no options. Give { path: 'admin/jobs', guards: [AdminGuard] }.`];
  const given = options as Readonly<Record<string, unknown>>;
  return [
    ...unknownNames(options, NAMES),
    ...pathProblems(given['path']),
    ...guardProblems('guards', given['guards'], '[] says that a global guard protects the page'),
    ...controlProblems(given['control']),
    ...traceProblems(given['traceUrl']),
  ];
}

function pathProblems(path: unknown): string[] {
  if (typeof path === 'string' && /^[\w\-./~]*$/.test(path) && /[\w]/.test(path)) return [];
  return [
    `path: ${show(path)} is no path. Give one such as 'admin/jobs', of letters, digits, and - . _ ~ /.`,
  ];
}

function guardProblems(name: string, guards: unknown, empty: string): string[] {
  const isGuard = (guard: unknown): boolean =>
    typeof guard === 'function' ||
    typeof (Object(guard) as { canActivate?: unknown }).canActivate === 'function';
  if (Array.isArray(guards) && guards.every(isGuard)) return [];
  return [`${name}: ${show(guards)} is no list of guards. Give [AdminGuard]; ${empty}.`];
}

function controlProblems(control: unknown): string[] {
  if (control === undefined) return [];
  if (typeof control !== 'object' || control === null)
    return [
      `control: ${show(control)} is no options. Give { guards: [OperatorGuard], actor: (request) => request.user.email }.`,
    ];
  const { guards, actor } = control as { guards?: unknown; actor?: unknown };
  return [
    ...unknownNames(control, CONTROL_NAMES).map((problem) => `control: ${problem}`),
    ...guardProblems('control.guards', guards, '[] says that whoever may see the page may use its switches'),
    ...(typeof actor === 'function'
      ? []
      : [
          `control.actor: ${show(actor)} is no function. Give (request) => request.user.email: the history says who did what.`,
        ]),
  ];
}

function traceProblems(url: unknown): string[] {
  if (url === undefined) return [];
  if (typeof url === 'string' && url.includes('{traceId}') && /^(https?:\/\/|\/(?!\/))/.test(url)) return [];
  return [
    `traceUrl: ${show(url)} is no address with {traceId}. Give one such as 'https://tempo.example/trace/{traceId}'.`,
  ];
}
