// Tables of processes, leases and waiters. The overview shows all of them, a GPU's panel its own.

import { el, set_attribute, set_text } from "../dom/element";
import { Table, type TableColumn } from "../dom/table";
import { bytes, dash, duration, moment, percent } from "../model/format";
import { address_of } from "../model/route";
import { find_device, label_of } from "../model/state";
import type { Lease, Process, Waiter } from "../model/wire";
import { t } from "../words/translate";
import { act_cell, ask_release, ask_signal, may_release, may_signal } from "./acts";
import type { PageContext } from "./view";

function gpu_link(context: PageContext, id: string, link: HTMLAnchorElement): void {
  const device = find_device(context.state().overview, id);
  set_text(link, device ? label_of(device) : id.slice(0, 8));
  set_attribute(link, "href", address_of({ view: "gpu", id }));
}

export function process_table(context: PageContext, with_device: boolean): Table<Process> {
  const age = (process: Process): string =>
    process.started_unix_ms === null
      ? dash
      : duration(context.server_now() - process.started_unix_ms);
  const columns: TableColumn<Process>[] = [
    { title: t("column.user"), text: (process) => process.user ?? dash },
    { title: t("column.pid"), kind: "number", text: (process) => String(process.pid) },
    {
      title: t("column.type"),
      minor: true,
      text: (process) => process.type,
    },
    {
      title: t("column.memory"),
      kind: "number",
      text: (process) => bytes(process.memory_used_bytes),
      hint: (process) => process.why["memory_used_bytes"] ?? null,
    },
    {
      title: t("column.sm"),
      kind: "number",
      minor: true,
      text: (process) => percent(process.utilization_sm_percent),
      hint: (process) => process.why["utilization_sm_percent"] ?? null,
    },
    {
      title: t("column.age"),
      kind: "number",
      text: age,
      hint: (process) =>
        process.started_unix_ms === null ? null : moment(process.started_unix_ms),
    },
    { title: t("column.container"), minor: true, text: (process) => process.container || dash },
    {
      title: t("column.run"),
      cell: (cell) => {
        const link = el("a");
        const none = el("span", { class: "muted" });
        return (process) => {
          const shown = process.run ? link : none;
          if (cell.firstChild !== shown) cell.replaceChildren(shown);
          if (process.run) {
            set_text(link, process.run);
            set_attribute(link, "href", address_of({ view: "run", id: process.run }));
          } else {
            set_text(none, process.lease ? t("people.leased") : t("people.no_lease"));
          }
        };
      },
    },
    {
      title: t("act.column"),
      acts: true,
      cell: act_cell(
        t("act.signal"),
        (process) => t("act.signal_label", { pid: process.pid }),
        (process) => may_signal(context.state().overview, process),
        (process) => ask_signal(context, process),
      ),
    },
    {
      title: t("column.command"),
      kind: "code",
      minor: true,
      text: (process) => process.command ?? t("people.not_shown"),
      hint: (process) => process.command,
    },
  ];
  if (with_device) {
    columns.unshift({
      title: "GPU",
      cell: (cell) => {
        const link = el("a");
        cell.append(link);
        return (process) => gpu_link(context, process.device, link);
      },
    });
  }
  return new Table(t("overview.processes"), t("people.no_process"), columns, (process) => process.key);
}

export function lease_table(context: PageContext): Table<Lease> {
  return new Table<Lease>(
    t("gpu.leases"),
    t("people.no_lease_here"),
    [
      { title: t("column.user"), text: (lease) => lease.user ?? dash },
      {
        title: t("column.since"),
        kind: "number",
        text: (lease) => duration(context.server_now() - lease.since_unix_ms),
      },
      {
        title: t("column.promised"),
        kind: "number",
        text: (lease) =>
          lease.devices.some((device) => device.promised_bytes === null)
            ? t("people.whole")
            : bytes(lease.devices[0]?.promised_bytes),
      },
      {
        title: t("column.run"),
        cell: (cell) => {
          const link = el("a");
          cell.append(link);
          return (lease) => {
            set_text(link, lease.run || dash);
            set_attribute(
              link,
              "href",
              lease.run ? address_of({ view: "run", id: lease.run }) : null,
            );
          };
        },
      },
      {
        title: t("act.column"),
        acts: true,
        cell: act_cell(
          t("act.release"),
          (lease) => t("act.release_label", { lease: lease.run || lease.id }),
          (lease) => may_release(context.state().overview, lease),
          (lease) => ask_release(context, lease),
        ),
      },
      {
        title: t("column.command"),
        kind: "code",
        minor: true,
        text: (lease) => lease.command ?? t("people.not_shown"),
        hint: (lease) => lease.command,
      },
    ],
    (lease) => lease.id,
  );
}

/// "3, 5"; of one that this reader is not shown, its identity.
export function labels_of(parts: { device: string }[], context: PageContext): string {
  const overview = context.state().overview;
  const label = (id: string): string => {
    const device = find_device(overview, id);
    return device ? label_of(device) : id;
  };
  return parts.map((part) => label(part.device)).join(", ");
}

export function waiter_table(context: PageContext): Table<Waiter> {
  return new Table<Waiter>(
    t("overview.queue"),
    t("people.nobody_waits"),
    [
      { title: t("column.user"), text: (waiter) => waiter.user ?? dash },
      { title: t("column.wants"), kind: "code", text: (waiter) => waiter.wants || dash },
      {
        title: t("column.waits"),
        kind: "number",
        text: (waiter) => duration(context.server_now() - waiter.since_unix_ms),
      },
      {
        title: t("column.reserved"),
        text: (waiter) => labels_of(waiter.reserved, context) || dash,
      },
    ],
    (waiter) => waiter.id,
  );
}
