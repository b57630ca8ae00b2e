import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/*
 * No process that the tests start outlives them. A killed process runs no handlers, and under Jest `process` is a
 * copy whose events never fire. So a shell reads the ids of our processes from a pipe. The pipe closes with our
 * process, for whatever reason, and the shell kills the processes that are left. This needs no signal handlers,
 * which would change how the program under test shuts down.
 */
const WATCHDOG = `
trap '' INT TERM HUP
pids=' '
while read -r op it; do
  case $op in
    +) pids="$pids$it " ;;
    -) case $pids in *" $it "*) pids="\${pids%% $it *} \${pids#* $it }" ;; esac ;;
    folder) set -- "$@" "$it" ;;
    end) exit ;;
  esac
done
for pid in $pids; do kill -KILL "$pid"; done
for folder do rm -rf -- "$folder"; done
`;

const guarded = new Set<number>();
let watchdog: ChildProcess | undefined;

/** Kills `child` when this process ends, however it ends, and removes its `folder`. */
export function guard(child: ChildProcess, folder?: string): void {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  guarded.add(pid);
  watchdog ??= startWatchdog();
  watchdog.stdin?.write(`+ ${pid}\n`);
  if (folder !== undefined) watchdog.stdin?.write(`folder ${folder}\n`);
  child.once('exit', () => forget(pid));
}

/** The ids of the processes that were started and have not ended yet. */
export function guardedPids(): number[] {
  return [...guarded];
}

function forget(pid: number): void {
  guarded.delete(pid);
  watchdog?.stdin?.write(`- ${pid}\n`);
  if (guarded.size > 0) return;
  // A test file that has stopped all its processes leaves nothing open. Folders stay, for a restart.
  watchdog?.stdin?.end('end\n');
  watchdog = undefined;
}

function startWatchdog(): ChildProcess {
  // In a group of its own: an interrupt from the terminal must not end the guard before the guarded.
  const child = spawn('/bin/sh', ['-c', WATCHDOG], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  child.unref();
  (child.stdin as Socket).unref();
  return child;
}
