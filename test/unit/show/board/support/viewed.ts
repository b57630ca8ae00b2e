import { Board } from '../../../../../lib/show/board/board.js';

import type { ControlSwitches } from '../../../../../lib/insight/control/control.js';
import { Insight } from '../../../../../lib/insight/insight.js';
import type { Fleet } from '../../../../board/support/fleet.js';

/** A board over the store of a fleet. Its switches are drawn, and not used. */
export function boardOf({ store, clock }: Pick<Fleet, 'store' | 'clock'>): Board {
  const insight = new Insight(store);
  return new Board({
    insight: async () => insight,
    clock,
    label: () => 'memory',
    traceUrl: undefined,
    control: {} as ControlSwitches,
  });
}

/** The HTML of one part of a page. */
export async function partOf(board: Board, id: string, query = ''): Promise<string> {
  const { body } = await board.page(query);
  return new RegExp(`<section id="${id}".*?</section>`, 's').exec(String(body))?.[0] ?? '';
}

export const textOf = (html: string): string => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
