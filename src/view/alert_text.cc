#include "view/alert_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "alert/state.h"
#include "alert/tracker.h"
#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/values.h"

namespace berth {

namespace {

Paint severity_paint(AlertSeverity severity) {
  switch (severity) {
    case AlertSeverity::notice:
      return Paint::blue;
    case AlertSeverity::warning:
      return Paint::yellow;
    case AlertSeverity::critical:
      return Paint::red;
  }
  return Paint::red;
}

std::string_view severity_word(AlertSeverity severity) {
  switch (severity) {
    case AlertSeverity::notice:
      return tr("notice");
    case AlertSeverity::warning:
      return tr("warning");
    case AlertSeverity::critical:
      return tr("critical");
  }
  return "";
}

std::string where_text(const Alert& alert, const Style& style) {
  if (alert.index) return fmt::format("GPU {}", *alert.index);
  if (alert.device) return cut_to_width(outside(alert.device->text(), style), 14, !style.utf8);
  return own(tr("the machine"), style);
}

std::string_view ending_word(Ending ending) {
  switch (ending) {
    case Ending::resolved:
      return tr("resolved");
    case Ending::unknown:
      return tr("no longer known");
    case Ending::unwatched:
      return tr("no longer watched");
  }
  return tr("no longer known");
}

/// "since 10:02", or from when to when it was.
std::string when_text(const Alert& alert, const AlertList& list, const Style& style) {
  if (!list.is_of_server) return {};
  const std::string since = since_text(alert.since, list.now, style);
  if (alert.resolved) {
    const std::string over = since_text(*alert.resolved, list.now, style);
    return own(alert.ending == Ending::resolved ? trf("from {}, resolved {}", since, over)
                                                : trf("from {}, watched until {}", since, over),
               style);
  }
  return own(trf("since {}", since), style);
}

std::string alert_lines(const Alert& alert, const AlertList& list, const Style& style) {
  const bool is_over = alert.resolved.has_value();
  Line line(style);
  line.add(own(is_over ? ending_word(alert.ending) : severity_word(alert.severity), style),
           is_over ? Paint::dim : severity_paint(alert.severity))
      .add("  ")
      .add(where_text(alert, style))
      .add("  ")
      .add(std::string(name_of(alert.rule)), Paint::dim);
  const std::string when = when_text(alert, list, style);
  if (!when.empty()) line.add("  ").add(when, Paint::dim);
  std::string text = line.text();
  text += wrapped("    ", outside(alert.summary.shown(), style), 6, style,
                  is_over ? Paint::dim : Paint::plain);
  if (is_over || alert.advice.empty()) return text;
  return text +
         wrapped(style.utf8 ? "    → " : "    > ", outside(alert.advice.shown(), style), 6, style);
}

std::string threshold_text(const AlertRuleFacts& facts, std::uint64_t threshold) {
  switch (facts.unit) {
    case ThresholdUnit::bytes:
      return bytes_text(Bytes(threshold));
    case ThresholdUnit::percent:
      return fmt::format("{} %", threshold);
    case ThresholdUnit::none:
      return {};
  }
  return {};
}

std::string rule_lines(const AlertRuleFacts& facts, const AlertRuleSettings& set,
                       const Style& style) {
  std::string text = std::string(facts.name) + ": ";
  if (!set.is_on) {
    text += tr("switched off");
  } else {
    const std::string_view word = severity_word(facts.severity);
    text += facts.rule == AlertRule::xid ? trf("from {} on", word) : std::string(word);
    const std::string threshold = threshold_text(facts, set.threshold);
    if (!threshold.empty()) text += trf(", threshold {}", threshold);
    if (set.lasting.count() > 0) text += trf(", after {}", short_duration(set.lasting));
    text += trf(", resolved after {} without it", short_duration(set.hold));
  }
  // Wrapped, not cut: half a number is a wrong one.
  return wrapped("", own(text, style), 4, style,
                 set.is_on ? severity_paint(facts.severity) : Paint::dim) +
         wrapped("    ", own(tr(facts.finds), style), 4, style);
}

/// "gpu1, GPU 3", "gpu1".
std::string where_of(const AlertMessage& message) {
  const Alert& alert = message.alert;
  if (alert.index) return fmt::format("{}, GPU {}", message.host, *alert.index);
  if (alert.device) return fmt::format("{}, {}", message.host, alert.device->text());
  return message.host;
}

}  // namespace

std::string render_alerts(const AlertList& list, const Style& style) {
  std::string text = simulated_line(list.simulated, style);
  const bool none_goes_on = std::ranges::none_of(
      list.alerts, [](const Alert& alert) { return !alert.resolved.has_value(); });
  if (none_goes_on) {
    text += wrapped(
        "", own(list.is_of_server ? tr("No alert.") : tr("Nothing to be alarmed at."), style), 0,
        style);
  }
  for (const Alert& alert : list.alerts) text += alert_lines(alert, list, style);
  if (!list.is_of_server) {
    text += wrapped("",
                    own(tr("This is what one look shows. No `berth serve` answers here, which "
                           "would know since when, and leave out what does not last."),
                        style),
                    2, style, Paint::dim);
  }
  for (const AlertList::Failing& one : list.failing) {
    const std::string said =
        one.trouble.empty()
            ? trf("{} is not reached", printable(one.receiver))
            : trf("{} is not reached: {}", printable(one.receiver), printable(one.trouble));
    text += warning_line(own(said, style), style);
  }
  return text;
}

std::string render_alert_rules(const AlertSettings& settings, const Style& style) {
  std::string text;
  for (const AlertRuleFacts& facts : alert_rules()) {
    text += rule_lines(facts, settings.of(facts.rule), style);
  }
  return text;
}

// Alerts and their rules for programs.

namespace {

std::string_view word_of(ThresholdUnit unit) {
  switch (unit) {
    case ThresholdUnit::bytes:
      return "bytes";
    case ThresholdUnit::percent:
      return "percent";
    case ThresholdUnit::none:
      return "";
  }
  return "";
}

void write_rule(Archive& archive, const AlertRuleFacts& facts, const AlertRuleSettings& set) {
  std::optional threshold(set.threshold);
  if (facts.unit == ThresholdUnit::none) threshold.reset();
  archive.derived("rule", facts.name);
  archive.derived("severity", name_of(facts.severity));
  archive.derived("on", set.is_on);
  archive.derived("threshold", threshold);
  archive.derived("threshold_unit", word_of(facts.unit), Form::nullable);
  archive.derived("for_ms", set.lasting.count());
  archive.derived("hold_ms", set.hold.count());
  archive.derived("finds", facts.finds);
}

}  // namespace

std::string alerts_json(const AlertList& list) {
  const std::string_view from = list.is_of_server ? "server" : "one look";
  std::vector<std::string> failing;
  for (const AlertList::Failing& one : list.failing) failing.push_back(one.receiver);
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_alerts", 1);
                      archive.derived("from", from);
                      archive.derived("simulated", list.simulated);
                      archive.derived_list("alerts", list.alerts, [&](Alert alert) {
                        walk(archive, alert, AlertFields::shown);
                      });
                      archive.derived("not_reached", failing);
                    }) +
         "\n";
}

std::string alert_rules_json(const AlertSettings& settings) {
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_alert_rules", 1);
                      archive.derived_list("rules", alert_rules(), [&](const AlertRuleFacts& one) {
                        write_rule(archive, one, settings.of(one.rule));
                      });
                    }) +
         "\n";
}

std::vector<std::string> user_names(const Alert& alert) {
  std::vector<std::string> names;
  for (const AlertUser& user : alert.users) names.push_back(user.name);
  return names;
}

std::string summary_with(const Sentence& summary, const std::vector<std::string>& names) {
  if (names.empty()) return summary.english();
  return summary.english() + ": " + joined(names, ", ");
}

std::string sentence_of(const AlertMessage& message) {
  const Alert& alert = message.alert;
  const std::string summary = summary_with(alert.summary, user_names(alert));
  std::string text;
  switch (message.event) {
    case AlertMessage::Event::began:
      text = fmt::format("{} on {} ({}): {}", capitals(name_of(alert.severity)), where_of(message),
                         name_of(alert.rule), summary);
      if (!alert.advice.empty()) text += ". To do: " + alert.advice.english();
      break;
    case AlertMessage::Event::resolved: {
      const auto lasted = std::chrono::milliseconds(
          std::max<std::int64_t>(alert.last_seen.unix_ms - alert.since.unix_ms, 0));
      text = fmt::format("resolved on {} ({}), lasted {}: {}", where_of(message),
                         name_of(alert.rule), short_duration(lasted), summary);
      break;
    }
    case AlertMessage::Event::unknown:
      text = fmt::format("no longer known on {} ({}), nothing of it could be read for {}: {}",
                         where_of(message), name_of(alert.rule),
                         short_duration(std::chrono::duration_cast<std::chrono::milliseconds>(
                             AlertTracker::longest_unknown)),
                         summary);
      break;
    case AlertMessage::Event::test:
      text = fmt::format("berth on {}: {}", message.host, summary);
      break;
  }
  if (alert.simulated) text = fmt::format("SIMULATED {}: {}", *alert.simulated, text);
  return printable(text);
}

}  // namespace berth
