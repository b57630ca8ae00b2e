import { type Connections, Gate } from './gate.js';
import { setupText } from './setup.js';
import type { TableDdl } from './sql-table.js';
import type { TableNames } from './table-name.js';

/** What all dialects have: the names of the tables, and gates to the connections. */
export abstract class PooledDialect {
  protected user: string | undefined;
  protected readonly gate: Gate;
  /** For entries. */
  protected readonly beside: Gate;

  /** @param limit milliseconds for a statement */
  constructor(
    protected readonly names: TableNames,
    connections: Connections,
    limit: number,
    private readonly ddlOf: (names: TableNames) => TableDdl,
  ) {
    this.gate = new Gate(connections, limit);
    this.beside = this.gate.beside();
  }

  get table(): string {
    return this.names.quoted();
  }

  get ddl(): TableDdl {
    return this.ddlOf(this.names);
  }

  setup(locks?: readonly string[]): string {
    return setupText(this.ddl, { user: this.user }, locks);
  }

  reconnect(silence: number | undefined): void {
    for (const gate of [this.gate, this.beside]) gate.reconnect(silence);
  }
}
