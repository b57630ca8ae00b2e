import { SchedulerLockConfigError } from '../errors.js';

/** The part of Nest's `ModuleRef` that is needed here. */
interface Modules {
  get<T>(type: abstract new (...args: never[]) => T, options: { strict: false }): T;
}

/**
 * A provider of the `SchedulerLockModule` of an application.
 *
 * @param asker name of the module that needs it
 * @throws SchedulerLockConfigError if there is no such module
 */
export function partOf<T>(modules: Modules, type: abstract new (...args: never[]) => T, asker: string): T {
  try {
    return modules.get(type, { strict: false });
  } catch (cause) {
    throw new SchedulerLockConfigError(
      [
        `${asker}: this application has no SchedulerLockModule, so there is nothing to measure. Add ` +
          `SchedulerLockModule.forRoot({ connection: 'redis://…' }) to the imports of the root module, beside ${asker}.`,
      ],
      { cause },
    );
  }
}

/**
 * Loads a package that only users of one module need.
 *
 * @throws SchedulerLockConfigError if it is not installed, or cannot be loaded
 */
export async function packageFor<T>(asker: string, name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const { code, message } = Object(cause) as { code?: unknown; message?: unknown };
    // The codes of Node, Jest and bundlers. The package may also miss a dependency of its own.
    const isMissing = String(code).endsWith('MODULE_NOT_FOUND') && String(message).includes(`'${name}'`);
    const why = isMissing
      ? `is not installed. Run: npm install ${name}`
      : `could not be loaded: ${String(message)}`;
    throw new SchedulerLockConfigError([`${asker}: the package "${name}" is needed and ${why}`], { cause });
  }
}
