import { SchedulerLockConfigError } from '../base/errors.js';
import { notLoaded } from '../base/wording.js';

/** The part of Nest's `ModuleRef` that is needed here. */
interface Modules {
  get<T>(type: abstract new (...args: never[]) => T, options: { strict: false }): T;
}

/** A provider of the `SchedulerLockModule`, for a module beside it. @throws SchedulerLockConfigError if there is no such module */
export function partOf<T>(
  modules: Modules,
  type: abstract new (...args: never[]) => T,
  asker: string,
  does = 'measure',
): T {
  try {
    return modules.get(type, { strict: false });
  } catch (cause) {
    throw new SchedulerLockConfigError(
      [
        `${asker}: this application has no SchedulerLockModule, so there is nothing to ${does}. Add ` +
          `SchedulerLockModule.forRoot({ connection: 'redis://…' }) to the imports of the root module, beside ${asker}.`,
      ],
      { cause },
    );
  }
}

/** Loads a package that only users of one module need. @throws SchedulerLockConfigError if it cannot be loaded */
export async function packageFor<T>(asker: string, name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const why = notLoaded(name, cause);
    throw new SchedulerLockConfigError([`${asker}: the package "${name}" is needed and ${why}`], { cause });
  }
}
