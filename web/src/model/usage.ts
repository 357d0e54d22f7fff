// Rows of usage: which is which.

import type { UsageRow } from "./wire";

/// What tells one row from another: two users may have a job of the same name, and all that was
/// computed without a lease has none.
export function row_key(row: Pick<UsageRow, "key" | "user">): string {
  return JSON.stringify([row.key, row.user ?? null]);
}
