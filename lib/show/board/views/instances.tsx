import { type Member, upSince } from '../../../insight/fleet-jobs.js';
import { displayName } from '../../../base/lock-name.js';
import type { KnownJob } from '../../../contract/history-store.js';
import { h } from './templates.js';
import { clockText, each, Nothing, Region, type Scene, Table, Time } from './parts.js';

const MAX_SHOWN = 60;

/** The instances: first those that are up. */
export function Instances({ scene }: { scene: Scene }): h.JSX.Element {
  const { told } = scene.looked;
  const up = told.filter(({ info }) => info.state === 'up');
  // By name, so that the order stays the same from page to page.
  const shown = [...up.sort(byName), ...told.filter(({ info }) => info.state !== 'up')].slice(0, MAX_SHOWN);
  const disabled = disabledOf();
  const note = `${up.length} up, ${told.length - up.length} before them${told.length > MAX_SHOWN ? `; ${MAX_SHOWN} are shown` : ''}`;
  return (
    <Region id="instances" title="Instances" note={note}>
      {shown.length === 0 ? (
        <Nothing>No instance has been seen in the last days.</Nothing>
      ) : (
        <Table
          label="Instances"
          heads={[
            'Instance',
            'State',
            'Version',
            'Started',
            'Last seen',
            'Clock',
            'Leads',
            'Switched off there',
          ]}
        >
          {each(shown, (one) => rowOf(one, scene, disabled(one.jobs)), 8)}
        </Table>
      )}
    </Region>
  );
}

const byName = ({ info: one }: Member, { info: other }: Member): number =>
  one.instance < other.instance ? -1 : 1;

/** Most instances share one list of jobs. */
function disabledOf(): (jobs: readonly KnownJob[]) => string {
  const known = new Map<readonly KnownJob[], string>();
  return (jobs) => {
    const text = known.get(jobs) ?? textOf(jobs.filter(({ enabled }) => !enabled));
    known.set(jobs, text);
    return text;
  };
}

function textOf(jobs: readonly KnownJob[]): string {
  const names = jobs.slice(0, 3).map(({ job }) => displayName(job));
  const rest = jobs.length - names.length;
  return names.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

const STATES = { up: '● up', gone: '▲ gone', left: '○ shut down' } as const;
const TONES = { up: 'good', gone: 'bad', left: 'plain' } as const;

function rowOf(one: Member, { times }: Scene, disabled: string): h.JSX.Element {
  const { instance, state, version, application, seenAt, clockOffset, leads } = one.info;
  return (
    <tr key={instance}>
      <th scope="row" class="name">
        {displayName(instance)} {application !== undefined && <span class="faint">{application}</span>}
      </th>
      <td>
        <span class={`status ${TONES[state]}`}>{STATES[state]}</span>
      </td>
      <td>{version ?? <span class="faint">not told</span>}</td>
      <td>
        <Time at={upSince(one.info)} times={times} />
      </td>
      <td>
        <Time at={seenAt} times={times} />
      </td>
      <td>{clockText(clockOffset)}</td>
      <td>{state === 'up' ? leads.join(', ') : ''}</td>
      <td class="text">{disabled}</td>
    </tr>
  );
}
