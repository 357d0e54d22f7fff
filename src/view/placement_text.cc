#include "view/placement_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "snapshot/questions.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

/// What a person calls a device, in two columns: "GPU 2" and its name.
struct Called {
  std::string number;
  std::string name;
};

std::string gpu_number(int index) { return fmt::format("GPU {}", index); }

Called called(const DeviceId& id, std::optional<int> index, const Snapshot& snapshot,
              const Style& style) {
  const Device* device = find_device(id, snapshot);
  const bool by_index = index && (device == nullptr || !device->parent);
  Called words;
  words.number = by_index ? gpu_number(*index) : outside(id.text(), style);
  if (device != nullptr && device->name.get()) {
    words.name = without_maker(outside(*device->name.get(), style));
  }
  return words;
}

std::string holder_text(const Holder& holder, const Snapshot& snapshot, const Style& style) {
  std::string text = holder.user.empty() ? "?" : outside(holder.user, style);
  if (holder.since && holder.since->unix_ms > 0) {
    text += " " + own(trf("since {}", since_text(*holder.since, snapshot.taken, style)), style);
  }
  std::string what = outside(holder.command, style);
  if (holder.pid != 0) {
    if (!what.empty()) what += ", ";
    what += fmt::format("pid {}", holder.pid);
  }
  return what.empty() ? text : text + " (" + what + ")";
}

/// The rule in words, then who: "leased to alice since 10:02 (python train.py, pid 4711)".
std::string refusal_text(const Refusal& refusal, const Snapshot& snapshot, const Style& style) {
  std::string text = outside(refusal.text.shown(), style);
  std::string holders;
  for (const Holder& holder : refusal.holders) {
    holders += (holders.empty() ? "" : own(tr("; "), style)) + holder_text(holder, snapshot, style);
  }
  if (holders.empty()) return text;
  if (refusal.is_leased_whole) return own(trf("leased to {}", holders), style);
  return text + own(tr(": "), style) + holders;
}

struct ReasonRow {
  Called device;
  std::string text;
  Paint paint = Paint::plain;
};

/// Rows with number and name in columns of their own. Their text is wrapped beneath itself, so that
/// nothing of a reason is lost.
std::string rows_text(const std::vector<ReasonRow>& rows, const Style& style) {
  const int third = style.width / 3;
  const TableColumn columns[] = {{.most = 2 + std::max(third, 6)},
                                 {.when_empty = WhenEmpty::goes, .most = third},
                                 {.wraps = true}};
  const bool has_room = style.width >= 60;
  std::vector<TableRow> cells;
  for (const ReasonRow& row : rows) {
    cells.push_back({{"  " + row.device.number, row.paint},
                     {has_room ? row.device.name : std::string(), row.paint},
                     {row.text, row.paint}});
  }
  return Table(columns, std::move(cells), 2, style).rows_text();
}

/// What is said of several devices with numbers in a row is said once: "GPU 0-7".
std::vector<ReasonRow> refused_rows(const Placement& placement, const Snapshot& snapshot,
                                    const Style& style) {
  std::vector<ReasonRow> rows;
  std::optional<int> first;  // of those in the last row
  std::optional<int> last;
  for (const Refusal& refusal : placement.refused) {
    ReasonRow row{called(refusal.device, refusal.index, snapshot, style),
                  refusal_text(refusal, snapshot, style), Paint::plain};
    const bool is_numbered = refusal.index && row.device.number == gpu_number(*refusal.index);
    const bool is_next = is_numbered && last && *refusal.index == *last + 1;
    if (is_next && rows.back().device.name == row.device.name && rows.back().text == row.text) {
      last = refusal.index;
      rows.back().device.number = fmt::format("{}-{}", gpu_number(*first), *last);
      continue;
    }
    first = last = is_numbered ? refusal.index : std::nullopt;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ReasonRow> choice_rows(const std::vector<Choice>& choices, const Snapshot& snapshot,
                                   const Style& style, Paint paint) {
  std::vector<ReasonRow> rows;
  for (const Choice& choice : choices) {
    std::string text = outside(choice.reason.shown(), style);
    if (choice.promised) {
      text += own(tr("; "), style) + own(trf("{} promised", bytes_text(*choice.promised)), style);
    }
    rows.push_back({called(choice.device, choice.index, snapshot, style), text, paint});
  }
  return rows;
}

std::string heading(std::string_view text, Paint paint, const Style& style) {
  return wrapped("", own(text, style), 0, style, paint);
}

std::string simulated_heading(const Snapshot& snapshot, const Style& style) {
  if (!snapshot.simulated) return "";
  return heading("SIMULATED " + printable(*snapshot.simulated), Paint::yellow, style);
}

/// The holders of most of what is in the way, in few words: "alice (python train.py), bob".
std::string holders_in_short(const Placement& placement, const Style& style) {
  std::vector<std::string> names;
  for (const Refusal& refusal : placement.refused) {
    if (!refusal.may_change) continue;
    for (const Holder& holder : refusal.holders) {
      std::string name = fmt::format("{} {}", refusal.index ? std::to_string(*refusal.index) : "?",
                                     outside(holder.user, style));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return joined(names, ", ");
}

}  // namespace

bool is_forbidden_by_policy(const Placement& placement) {
  const auto is_for_ever = [](const Refusal& refusal) { return !refusal.may_change; };
  const auto is_the_policy_s = [&](const Refusal& refusal) {
    return !is_for_ever(refusal) || refusal.rule == Rule::not_permitted ||
           refusal.rule == Rule::at_limit;
  };
  return !placement.possible && std::ranges::any_of(placement.refused, is_for_ever) &&
         std::ranges::all_of(placement.refused, is_the_policy_s);
}

std::size_t ones_to_wait_for(const Placement& placement) {
  return placement.available.size() +
         static_cast<std::size_t>(std::ranges::count_if(
             placement.refused, [](const Refusal& one) { return one.may_change; }));
}

namespace {

/// The request, or a variable, names others.
bool is_not_meant(const Refusal& refusal) {
  constexpr std::array rules = {Rule::not_visible, Rule::excluded,      Rule::not_listed,
                                Rule::other_kind,  Rule::kind_not_said, Rule::not_asked_for,
                                Rule::divided};
  return contains(rules, refusal.rule);
}

/// What other makers' chips can do is not known of each that is meant: never is too much said.
bool is_about_unknown_chips(const Placement& placement, const Snapshot& snapshot) {
  const auto is_unknown = [&](const Refusal& one) {
    const Device* device = find_device(one.device, snapshot);
    return one.rule == Rule::lacks_feature && device != nullptr &&
           !facts_of(device->kind).has_capability;
  };
  return std::ranges::any_of(placement.refused, is_unknown) &&
         std::ranges::all_of(placement.refused, [&](const Refusal& one) {
           return is_unknown(one) || is_not_meant(one);
         });
}

std::string why_never(const Placement& placement, const Snapshot& snapshot) {
  if (!placement.kinds_to_choose.empty()) {
    return trf("this machine has several kinds of devices ({}). Say which: --kind {} (or --only).",
               joined(placement.kinds_to_choose, ", "), placement.kinds_to_choose.front());
  }
  const bool is_apart =
      std::ranges::find(placement.refused, Rule::apart, &Refusal::rule) != placement.refused.end();
  if (is_apart) {
    return std::string(
        tr("waiting will not help: no devices of this machine are linked as "
           "--together asks."));
  }
  const std::size_t perhaps = ones_to_wait_for(placement);
  if (is_forbidden_by_policy(placement)) {
    return std::string(
        tr("waiting will not help: the policy of this machine does not allow it. `berth policy` "
           "shows its rules."));
  }
  if (perhaps > 0) {
    return trf(
        "waiting will not help: at most {} of the devices here could be given to this job. It asks "
        "for more.",
        perhaps);
  }
  if (is_about_unknown_chips(placement, snapshot)) {
    return std::string(
        tr("waiting will not help: no device here is known to have what --need asks for."));
  }
  const bool any_failed =
      std::ranges::find(placement.refused, Rule::failed, &Refusal::rule) != placement.refused.end();
  if (any_failed) {
    return std::string(
        tr("waiting will not help: this machine can never satisfy it as it is. Ask for less, or "
           "look at --only, --except, --min-compute and --allow-failed."));
  }
  return std::string(
      tr("waiting will not help: this machine can never satisfy it. Ask for less, or look at "
         "--only, --except and --min-compute."));
}

/// Says that not all devices were considered, and how they would be.
std::string hidden_text(const Placement& placement, const Style& style) {
  if (placement.hidden_by_variable == 0 || placement.satisfied()) return "";
  const std::string names = joined(placement.hiding_variables, ", ");
  const std::string to_unset = joined(placement.hiding_variables, " ");
  if (placement.variable_hides_all && placement.hiding_variables.size() > 1) {
    return advice_line(
        own(trf("Variables hide every GPU ({}). For a GPU: unset {}", names, to_unset), style),
        style, Paint::yellow);
  }
  if (placement.variable_hides_all) {
    return advice_line(own(trf("{0} hides every GPU. For a GPU: unset {1}. To run on the CPU on "
                               "purpose: `berth run --cpu`",
                               names, to_unset),
                           style),
                       style, Paint::yellow);
  }
  return advice_line(
      own(trf("{1} is set and keeps {0} of the devices out. Unless a batch system set it "
              "(`berth pick --format env` does too): unset {2}",
              placement.hidden_by_variable, names, to_unset),
          style),
      style, Paint::yellow);
}

std::string waiting_at(int position) {
  return position == 1 ? std::string(tr("waiting, next in the queue"))
                       : trf("waiting, place {} in the queue", position);
}

std::string would_do_text(const WaitingNews& news) {
  if (std::ssize(news.placement.available) >= news.devices) return std::string(tr("would do"));
  return trf("would do, {} of {} wanted", news.placement.available.size(), news.devices);
}

/// What a waiter was told of a device. Equal keys: nothing that a waiter would want to hear.
struct ToldState {
  std::string key;
  std::string number;  // "GPU 2"
  std::string text;
};

std::map<DeviceId, ToldState> states_of(const WaitingNews& news, const Style& style) {
  std::map<DeviceId, ToldState> states;
  for (const Refusal& refusal : news.placement.refused) {
    ToldState state{.key = std::string(name_of(refusal.rule)),
                    .number = called(refusal.device, refusal.index, news.snapshot, style).number,
                    .text = refusal_text(refusal, news.snapshot, style)};
    // In a quick queue the next waiter changes each second. The news is that there is one.
    if (refusal.rule != Rule::reserved) {
      for (const Holder& holder : refusal.holders) state.key += "\n" + who(holder);
    }
    states.emplace(refusal.device, std::move(state));
  }
  for (const Choice& choice : news.placement.available) {
    states.emplace(
        choice.device,
        ToldState{.key = "available",
                  .number = called(choice.device, choice.index, news.snapshot, style).number,
                  .text = would_do_text(news)});
  }
  return states;
}

bool is_of_silent(const Refusal& refusal, const Snapshot& snapshot) {
  const Device* device = find_device(refusal.device, snapshot);
  return refusal.may_change && device != nullptr && is_silent(*device);
}

std::string silence_text(const Placement& placement, const Snapshot& snapshot, const Style& style) {
  const auto silent = silent_ones(placement, snapshot);
  if (silent == 0 || placement.satisfied()) return "";
  std::string text = wrapped(
      "  ",
      own(trf("{} of the devices did not answer in time: whether they would do is not known.",
              silent),
          style),
      2, style, Paint::yellow);
  std::set<std::string_view> advice;  // each vendor's once
  for (const Refusal& refusal : placement.refused) {
    if (!is_of_silent(refusal, snapshot)) continue;
    advice.insert(facts_of(find_device(refusal.device, snapshot)->kind).log_advice);
  }
  for (const std::string_view one : advice) text += advice_line(own(tr(one), style), style);
  return text;
}

}  // namespace

std::size_t silent_ones(const Placement& placement, const Snapshot& snapshot) {
  return static_cast<std::size_t>(std::ranges::count_if(
      placement.refused, [&](const Refusal& refusal) { return is_of_silent(refusal, snapshot); }));
}

const Problem* why_devices_are_unknown(const Snapshot& snapshot) {
  const auto why = std::ranges::find_if(snapshot.problems, [](const Problem& problem) {
    const bool of_all = (is_driver(problem.source) || problem.source == "probe") && !problem.device;
    return of_all && problem.code != "library_not_found" && problem.code != "driver_not_loaded";
  });
  return has_driver_answered(snapshot) || why == snapshot.problems.end() ? nullptr : &*why;
}

std::string render_refusals(const Placement& placement, const Snapshot& snapshot,
                            const Style& style) {
  std::string text = rows_text(refused_rows(placement, snapshot, style), style);
  if (const Problem* why = why_devices_are_unknown(snapshot);
      why != nullptr && placement.chosen.empty()) {
    text += wrapped("  ",
                    own(tr("which devices this machine has cannot be told, because its driver "
                           "does not say:"),
                        style) +
                        " " + outside(why->message.shown(), style),
                    2, style, Paint::yellow);
    if (!why->remedy.empty()) {
      text += advice_line(outside(why->remedy.shown(), style), style);
    }
  } else if (placement.refused.empty() && placement.available.empty() && placement.chosen.empty()) {
    text += wrapped("  ",
                    own(placement.variable_hides_all
                            ? tr("there is no device on this machine, and CUDA_VISIBLE_DEVICES "
                                 "would hide it; to run on the CPU on purpose: `berth run --cpu`")
                            : tr("there is no device on this machine; `berth` says what was looked "
                                 "at, `berth run --or-cpu` runs without one"),
                        style),
                    2, style);
  } else if (!placement.possible && !placement.variable_hides_all) {
    text += wrapped("  ", own(why_never(placement, snapshot), style), 2, style, Paint::yellow);
  }
  return text + hidden_text(placement, style) + silence_text(placement, snapshot, style);
}

std::string render_placement(const Placement& placement, const Request& request,
                             const Snapshot& snapshot, const Style& style) {
  std::string text = simulated_heading(snapshot, style);
  text += wrapped("", own(trf("Asked for: {}", printable(as_typed(request))), style), 2, style);
  if (placement.satisfied()) {
    text += heading(tr("Would get:"), Paint::green, style);
    text += rows_text(choice_rows(placement.chosen, snapshot, style, Paint::plain), style);
  } else if (placement.available.empty()) {
    text += heading(tr("Would get nothing now."), Paint::yellow, style);
  } else {
    text += heading(trf("Would get nothing now: {} of {} devices would do.",
                        placement.available.size(), request.devices),
                    Paint::yellow, style);
  }
  if (!placement.available.empty()) {
    text += heading(tr("Would also do:"), Paint::bold, style);
    text += rows_text(choice_rows(placement.available, snapshot, style, Paint::plain), style);
  }
  if (!placement.refused.empty()) {
    text += heading(tr("Refused:"), Paint::bold, style);
  }
  text += render_refusals(placement, snapshot, style);
  return text + heading(tr("Nothing was taken."), Paint::dim, style);
}

std::string render_waiting_line(const WaitingNews& news, const Style& style) {
  const auto seconds = [](std::chrono::milliseconds time) { return short_duration(time); };
  std::string text;
  if (news.snapshot.simulated) text += "SIMULATED ";
  text += own(trf("waiting {}", seconds(news.waited)), style);
  if (news.gives_up_in) text += own(trf(" (gives up in {})", seconds(*news.gives_up_in)), style);
  text += own(news.position == 1 ? std::string(tr(", next in the queue"))
                                 : trf(", place {} in the queue", news.position),
              style);
  const std::string holders = holders_in_short(news.placement, style);
  if (!holders.empty()) text += own(trf("; in the way: {}", holders), style);
  // One column stays free: a character in the last one makes some terminals wrap.
  return cut_to_width(text, std::max(style.width - 1, 1), !style.utf8);
}

std::string render_waiting_reasons(const WaitingNews& news, const Style& style) {
  std::vector<ReasonRow> would_do =
      choice_rows(news.placement.available, news.snapshot, style, Paint::plain);
  for (ReasonRow& row : would_do) row.text = would_do_text(news) + own(tr(": "), style) + row.text;
  return rows_text(would_do, style) + render_refusals(news.placement, news.snapshot, style);
}

std::string render_waiting_notice(const WaitingNews& news, const Style& style) {
  return simulated_heading(news.snapshot, style) +
         heading(waiting_at(news.position), Paint::plain, style) +
         render_waiting_reasons(news, style);
}

std::string render_waiting_change(const WaitingNews& before, const WaitingNews& now,
                                  const Style& style) {
  std::string changes;
  const auto states_before = states_of(before, style);
  for (const auto& [id, state] : states_of(now, style)) {
    const auto was = states_before.find(id);
    if (was != states_before.end() && was->second.key == state.key) continue;
    changes += own(tr("; "), style) + state.number + own(tr(": "), style) + state.text;
  }
  if (changes.empty() && before.position == now.position) return "";
  const std::string waiting =
      before.position == now.position ? std::string(tr("waiting")) : waiting_at(now.position);
  return own(waiting, style) + changes + "\n";
}

}  // namespace berth
