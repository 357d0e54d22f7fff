#include "view/queue_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <set>
#include <vector>

#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "place/forecast.h"
#include "snapshot/device_name.h"
#include "snapshot/questions.h"
#include "snapshot/walk.h"
#include "view/placement_text.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

constexpr auto queue_columns = std::to_array<TableColumn>({
    {.header = as_key("Place"), .minimum = 3},
    {.header = as_key("User"), .minimum = 6},
    {.header = as_key("Priority"), .drop_order = 4, .when_empty = WhenEmpty::goes},
    {.header = as_key("Wants"), .minimum = 8, .drop_order = 2},
    {.header = as_key("Waited"), .drop_order = 3},
    {.header = as_key("Starts"), .minimum = 5},
    {.header = as_key("Why not yet"), .minimum = 12},
    {.header = as_key("Run"), .minimum = 8, .drop_order = 1, .when_empty = WhenEmpty::goes},
});

std::string names_in_the_way(const Placement& placement, Rule rule, const QueueAsked& asked) {
  std::set<std::string> names;
  for (const Refusal& refusal : placement.refused) {
    if (refusal.rule != rule) continue;
    for (const Holder& holder : refusal.holders) {
      const bool is_shown = asked.names == nullptr || asked.names->contains(holder.user);
      if (holder.user.empty()) {
        names.insert(std::string(tr("somebody unseen")));
      } else {
        names.insert(is_shown ? holder.user : std::string(tr("another user")));
      }
    }
  }
  constexpr std::size_t most = 3;
  return joined(names | std::views::take(most), ", ") + (names.size() > most ? ", …" : "");
}

/// One reason for many devices: the one that most of them have.
std::string reason_of(const Placement& placement, const QueueAsked& asked) {
  const Refusal* main = nullptr;
  std::ptrdiff_t most = 0;
  for (const Refusal& refusal : placement.refused) {
    if (!refusal.may_change && placement.possible) continue;
    const auto same = std::ranges::count(placement.refused, refusal.rule, &Refusal::rule);
    if (same > most) {
      most = same;
      main = &refusal;
    }
  }
  if (main == nullptr) return std::string(tr("too few of one kind are free"));
  const std::string who = names_in_the_way(placement, main->rule, asked);
  switch (main->rule) {
    case Rule::leased:
    case Rule::memory:
      return who.empty() ? main->text.shown() : trf("leased by {}", who);
    case Rule::in_use:
      return who.empty() ? main->text.shown() : trf("used without a lease by {}", who);
    case Rule::reserved:
      return trf("behind {}", who);
    default:
      return main->text.shown();
  }
}

std::string start_text(const QueueRow& row, const Snapshot& snapshot, const Style& style) {
  if (row.why.empty()) return own(tr("now"), style);
  if (!row.starts) return std::string(absent_mark(style));
  const std::int64_t left = row.starts->unix_ms - snapshot.taken.unix_ms;
  return own(trf("in {}", short_duration(std::chrono::milliseconds(left))), style);
}

TableRow cells_of(const QueueRow& row, std::size_t place, const Snapshot& snapshot,
                  const Style& style) {
  const Waiter& waiter = *row.waiter;
  return {
      std::to_string(place),
      outside(waiter.user, style),
      waiter.priority == Priority::normal ? std::string() : std::string(word_of(waiter.priority)),
      outside(waiter.wants, style),
      age_text(waiter.since, snapshot.taken),
      start_text(row, snapshot, style),
      outside(row.why, style),
      outside(waiter.run, style)};
}

std::string indices_of(const Waiter& waiter, const Snapshot& snapshot) {
  return joined(waiter.gathered, ",", [&](const DeviceId& id) {
    const Device* device = find_device(id, snapshot);
    return device != nullptr ? index_or_id(*device) : id.text();
  });
}

/// As the others' places have it: what shows as gathered and is kept from nobody is not told.
bool gathers(std::size_t at, const Snapshot& snapshot, const Policy* policy) {
  const Waiter& waiter = snapshot.waiters[at];
  if (waiter.gathered.empty()) return false;
  const auto request = request_from_json(waiter.request);
  const PlaceLimits its{.policy = policy, .uid = waiter.uid, .time_limit = waiter.time_limit};
  const auto placement =
      request ? std::optional(place_behind(snapshot, at, *request, its)) : std::nullopt;
  return may_gather(waiter, placement, snapshot.taken);
}

/// What is held together for somebody, until when, and who may have it meanwhile.
std::string gathering_lines(const Snapshot& snapshot, const Policy* policy, const Style& style) {
  std::string text;
  for (std::size_t at = 0; at < snapshot.waiters.size(); ++at) {
    if (!gathers(at, snapshot, policy)) continue;
    const Waiter& waiter = snapshot.waiters[at];
    const std::string devices = indices_of(waiter, snapshot);
    std::string line =
        waiter.gathers_until
            ? trf("GPU {} is gathered for {} until {} at the latest.", devices, waiter.user,
                  since_text(*waiter.gathers_until, snapshot.taken, style))
            : trf("GPU {} is gathered for {}.", devices, waiter.user);
    if (const auto complete = gathered_at(waiter, snapshot)) {
      line += " " + trf("All of it is free at {}; a job whose --time ends two minutes before that "
                        "may have it meanwhile.",
                        since_text(*complete, snapshot.taken, style));
    }
    text += wrapped("", outside(line, style), 2, style, Paint::dim);
  }
  return text;
}

/// Whose use has moved them back, and by how much.
std::string use_lines(const Snapshot& snapshot, const Policy* policy, const Style& style) {
  std::string text;
  if (policy == nullptr) return text;
  if (policy->fair_share.count() > 0 && !policy->hours_used) {
    return wrapped("",
                   own(tr("The policy's fair share cannot be enforced: root's `berth serve` is not "
                          "there to count hours."),
                       style),
                   2, style, Paint::dim);
  }
  std::set<uid_t> told;
  for (const Waiter& waiter : snapshot.waiters) {
    const auto later = policy->later_by_use(waiter.uid);
    if (later.count() == 0 || !told.insert(waiter.uid).second) continue;
    const std::string line =
        trf("{} stands {} further back: {:.0f} GPU-hours within 30 days (fair share).", waiter.user,
            short_duration(later), policy->hours_used->at(waiter.uid));
    text += wrapped("", outside(line, style), 2, style, Paint::dim);
  }
  return text;
}

}  // namespace

std::vector<QueueRow> queue_rows(const Snapshot& snapshot, const QueueAsked& asked) {
  std::vector<QueueRow> rows;
  if (snapshot.waiters.empty()) return rows;
  const auto starts = expected_starts(snapshot, asked.policy);
  for (std::size_t i = 0; i < snapshot.waiters.size(); ++i) {
    const Waiter& waiter = snapshot.waiters[i];
    QueueRow row{.waiter = &waiter, .position = i + 1, .starts = starts[i]};
    row.is_foreseen = i < asked.most;
    const auto request = request_from_json(waiter.request);
    if (!row.is_foreseen) {
      row.starts.reset();
    } else if (asked.is_policy_unread) {
      row.starts.reset();
      row.why = tr("the policy of this machine cannot be read");
    } else if (waiter.stuck) {
      row.why = tr("does not answer, passed over");
    } else if (!request) {
      row.why = tr("its ticket is in a newer format");
    } else {
      const PlaceLimits its{
          .policy = asked.policy, .uid = waiter.uid, .time_limit = waiter.time_limit};
      const Placement placement = place_behind(snapshot, i, *request, its);
      if (!placement.satisfied()) row.why = reason_of(placement, asked);
      if (placement.satisfied()) row.starts = snapshot.taken;
      row.is_for_others = std::ranges::any_of(placement.refused, [](const Refusal& one) {
        return one.may_change && !one.holders.empty();
      });
      if (may_gather(waiter, placement, snapshot.taken))
        row.complete = gathered_at(waiter, snapshot);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void write_outlook(Archive& archive, const QueueRow& row) {
  archive.derived("position", row.position);
  archive.derived("expected_start_unix_ms", row.starts);
  archive.derived("why_not_yet", row.is_foreseen ? std::optional(row.why) : std::nullopt);
  archive.derived("gathered_complete_unix_ms", row.complete);
}

std::string render_queue(const Snapshot& snapshot, const QueueAsked& asked,
                         const std::vector<IdleRow>& idle, const Style& style) {
  std::string text = simulated_line(snapshot.simulated, style);
  if (snapshot.waiters.empty()) {
    return text + wrapped("", own(tr("Nobody waits."), style), 0, style);
  }
  std::vector<TableRow> rows;
  const auto queue = queue_rows(snapshot, asked);
  for (const QueueRow& row : queue) {
    rows.push_back(cells_of(row, rows.size() + 1, snapshot, style));
  }
  text += Table(queue_columns, std::move(rows), 2, style).text();
  if (!asked.is_policy_unread) {  // else nothing here can be told of who is to have what
    text +=
        use_lines(snapshot, asked.policy, style) + gathering_lines(snapshot, asked.policy, style);
  }
  text += idle_lease_lines(idle, snapshot, style);
  const bool is_any_unknown =
      !asked.is_policy_unread && std::ranges::any_of(queue, [](const QueueRow& row) {
        return row.is_for_others && !row.starts;
      });
  if (is_any_unknown) {
    text += wrapped(
        "", own(tr("When one starts is known where all that is in its way has a --time."), style),
        2, style, Paint::dim);
  }
  return text;
}

std::string render_wait_of(const std::string& run, const Snapshot& snapshot, const Policy* policy,
                           const Style& style) {
  const auto found = std::ranges::find(snapshot.waiters, run, &Waiter::run);
  if (found == snapshot.waiters.end()) return {};
  const auto request = request_from_json(found->request);
  if (!request) return {};
  const auto at = static_cast<std::size_t>(found - snapshot.waiters.begin());
  const PlaceLimits its{.policy = policy, .uid = found->uid, .time_limit = found->time_limit};
  const WaitingNews news{.position = static_cast<int>(at) + 1,
                         .devices = request->devices,
                         .placement = place_behind(snapshot, at, *request, its),
                         .snapshot = snapshot};
  std::string line = trf("Run {} has waited {}.", run, age_text(found->since, snapshot.taken));
  if (found->stuck) line += " " + std::string(tr("It does not answer, and others pass it."));
  if (const auto starts = expected_starts(snapshot, policy)[at]) {
    line += " " + trf("It starts in {} at the latest.",
                      short_duration(std::chrono::milliseconds(
                          std::max<std::int64_t>(starts->unix_ms - snapshot.taken.unix_ms, 0))));
  }
  return render_waiting_notice(news, style) + wrapped("", own(line, style), 0, style);
}

std::string waiting_without_place(const RunRecord& run, const Snapshot& snapshot) {
  const std::string_view after = run.manifest.spec_of("after");
  const bool has_place =
      std::ranges::find(snapshot.waiters, run.manifest.id, &Waiter::run) != snapshot.waiters.end();
  if (run.state != RunState::waiting || has_place) return {};
  std::optional<Sentence> why;
  for (const RunEvent& event : events_of(run)) {
    if (event.kind == not_queued_event) why = event.text;
    if (event.kind == queued_event) why.reset();
  }
  if (why) {
    return trf("Not in the queue yet: run {} waits, and {}", printable(run.manifest.id),
               printable(why->shown()));
  }
  if (after.empty()) return {};
  return trf("Not in the queue yet: run {} waits until {} has ended well (--after).",
             printable(run.manifest.id), printable(after));
}

std::string render_planned(const std::vector<Planned>& planned, const Style& style) {
  std::string text;
  for (const Planned& one : planned) {
    const WallTime end{one.text.at.unix_ms + one.text.lasts.count()};
    std::string line =
        trf("Reserved by {} from {} until {}: {} ({})", one.user,
            date_time_text(one.text.at, style), date_time_text(end, style),
            one.text.words.empty() ? as_typed(Request{}) : printable(shell_joined(one.text.words)),
            one.id);
    if (!one.text.failed.empty()) {
      line += ". " + trf("It does not begin: {}", printable(Sentence(one.text.failed).shown()));
    } else if (one.text.begun) {
      line += ". " + std::string(tr("It is being started, or its start was cut short"));
    }
    text += wrapped("", own(line, style), 2, style);
  }
  return text;
}

void write_planned_row(Archive& archive, const Planned& planned, bool is_named) {
  archive.derived("id", planned.id);
  archive.derived("uid", is_named ? std::optional(planned.uid) : std::nullopt);
  archive.derived("user", is_named ? std::optional(planned.user) : std::nullopt);
  archive.derived("starts_unix_ms", planned.text.at);
  archive.derived("ends_unix_ms", WallTime{planned.text.at.unix_ms + planned.text.lasts.count()});
  archive.derived("wants", shell_joined(planned.text.words));
  archive.derived("failed", planned.text.failed);
}

std::string queue_json(const Snapshot& snapshot, const QueueAsked& asked,
                       const std::vector<IdleRow>& idle, const std::vector<Planned>& planned,
                       const std::vector<SaidOfRun>& not_queued) {
  const auto rows = queue_rows(snapshot, asked);
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_queue", 1);
                      archive.derived("taken_unix_ms", snapshot.taken);
                      archive.derived("simulated", snapshot.simulated);
                      archive.derived_list("queue", rows, [&](const QueueRow& row) {
                        Waiter waiter = *row.waiter;
                        walk(archive, waiter);
                        write_outlook(archive, row);
                      });
                      archive.derived_list(
                          "idle", idle, [&](const IdleRow& row) { write_idle_row(archive, row); });
                      archive.derived_list("planned", planned, [&](const Planned& one) {
                        write_planned_row(archive, one, true);
                      });
                      archive.derived_list("not_queued", not_queued, [&](const SaidOfRun& one) {
                        archive.derived("run", one.run);
                        archive.derived("why_not_yet", one.line);
                      });
                    }) +
         "\n";
}

}  // namespace berth
