// Rows of usage: which is which.

import type { UsageRow } from "./wire";

/// What tells one row from another. Two users may have a job of the same name. Work without a lease
/// has no name.
export function row_key(row: Pick<UsageRow, "key" | "user">): string {
  return JSON.stringify([row.key, row.user ?? null]);
}
