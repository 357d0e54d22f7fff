// [alerts] of serve.toml: rules that differ from their table, and the receivers.

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/sentence.h"
#include "serve/settings_table.h"
#include "serve/url.h"

namespace berth::serve {

namespace {

Result<std::uint64_t> threshold_from(std::string_view text, ThresholdUnit unit) {
  switch (unit) {
    case ThresholdUnit::bytes: {
      const auto size = parse_size(text);
      if (!size) return std::unexpected(size.error());
      return size->count();
    }
    case ThresholdUnit::percent: {
      if (text.ends_with('%')) text.remove_suffix(1);
      const auto percent = parse_unsigned(trimmed(text));
      if (percent && *percent >= 1 && *percent <= 100) return *percent;
      return fail(ErrorCode::invalid, "a share from 1 to 100 % is wanted");
    }
    case ThresholdUnit::none:
      break;
  }
  return fail(ErrorCode::invalid, "this rule has no threshold");
}

void read_time(TableReader& reader, std::string_view key, std::chrono::milliseconds& into) {
  constexpr std::chrono::hours longest{24 * 30};
  std::optional<std::string> text;
  reader.word(key, text);
  if (!text) return;
  const auto time = parse_duration(*text);
  if (time && *time <= longest) {
    into = *time;
  } else {
    reader.refuse(key, time ? Error(ErrorCode::invalid, "at most 30d is wanted") : time.error());
  }
}

std::optional<Error> read_rule(const toml::table& table, AlertRule rule, Settings& settings) {
  TableReader reader(table, fmt::format("alerts.{}.", name_of(rule)));
  AlertRuleSettings& set = settings.alerts.rules.of(rule);
  bool is_off = false;
  reader.flag("off", is_off);
  set.is_on = !is_off;
  std::optional<std::string> threshold;
  reader.word("threshold", threshold);
  if (threshold) {
    const auto number = threshold_from(*threshold, facts_of(rule).unit);
    if (number) set.threshold = *number;
    if (!number) reader.refuse("threshold", number.error());
  }
  read_time(reader, "for", set.lasting);
  read_time(reader, "hold", set.hold);
  reader.finish(settings.unknown);
  return reader.mistake();
}

/// The settings that webhooks and commands share.
void read_receiver(TableReader& reader, AlertReceiver& receiver) {
  std::optional<std::string> name, least;
  reader.text("name", name);
  reader.text("min_severity", least);
  reader.flag("resolved", receiver.is_told_of_ends);
  read_time(reader, "timeout", receiver.patience);
  constexpr std::chrono::milliseconds shortest{100};
  constexpr std::chrono::milliseconds longest{600'000};
  if (receiver.patience < shortest || receiver.patience > longest) {
    reader.refuse("timeout", Error(ErrorCode::invalid, "100ms to 10m is wanted"));
  }
  if (name) receiver.name = *name;
  const bool is_name = !receiver.name.empty() && receiver.name.size() <= 64 &&
                       std::ranges::all_of(receiver.name, [](unsigned char c) {
                         return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                       });
  if (!is_name) {
    reader.refuse("name",
                  Error(ErrorCode::invalid, "letters, digits, \"-\", \"_\" and \".\" are wanted"));
  }
  if (!least) return;
  const auto severity = severity_from_name(*least);
  if (severity) receiver.least = *severity;
  if (!severity) {
    reader.refuse("min_severity",
                  Error(ErrorCode::invalid, "notice, warning or critical is wanted"));
  }
}

std::optional<Error> read_webhook(const toml::table& table, AlertReceiver& receiver,
                                  Settings& settings) {
  TableReader reader(table, "alerts.webhook.");
  read_receiver(reader, receiver);
  std::optional<std::string> url, url_file, authority;
  reader.text("url", url);
  reader.text("url_file", url_file);
  reader.text("ca", authority);
  receiver.authority = authority.value_or("");
  receiver.url_file = url_file.value_or("");
  reader.finish(settings.unknown);
  if (reader.mistake()) return reader.mistake();
  if (url.has_value() == url_file.has_value()) {
    return Error(ErrorCode::invalid, "[[alerts.webhook]] wants either url or url_file");
  }
  if (!url) return std::nullopt;
  auto usable = webhook_url(*url);
  if (!usable) reader.refuse("url", usable.error());
  if (usable) receiver.url = std::move(*usable);
  return reader.mistake();
}

std::optional<Error> read_command(const toml::table& table, AlertReceiver& receiver,
                                  Settings& settings) {
  TableReader reader(table, "alerts.command.");
  receiver.patience = std::chrono::seconds(30);
  read_receiver(reader, receiver);
  reader.texts("run", receiver.command);
  reader.finish(settings.unknown);
  if (reader.mistake()) return reader.mistake();
  if (receiver.command.empty() || receiver.command.front().empty()) {
    return Error(ErrorCode::invalid,
                 "[[alerts.command]] wants run: a program, or a list of it and its words");
  }
  return std::nullopt;
}

using ReadReceiver = std::optional<Error> (*)(const toml::table&, AlertReceiver&, Settings&);

std::optional<Error> read_receivers(TableReader& reader, AlertReceiver::Kind kind,
                                    ReadReceiver read, Settings& settings) {
  constexpr std::size_t most = 16;
  std::optional<Error> mistake;
  bool had_nameless = false;
  std::vector<AlertReceiver>& all = settings.alerts.receivers;
  reader.tables(name_of(kind), [&](const toml::table& table) {
    if (mistake) return;
    AlertReceiver receiver{.kind = kind, .name = fmt::format("{}-1", name_of(kind))};
    mistake = read(table, receiver, settings);
    if (mistake) return;
    // By its place among others it would get their messages when one of them goes.
    if (!table.contains("name") && std::exchange(had_nameless, true)) {
      mistake = Error(ErrorCode::invalid,
                      "two [[alerts.{}]] have no name: only one may be without (name = \"team\")",
                      name_of(kind));
      return;
    }
    const bool taken = std::ranges::find(all, receiver.name, &AlertReceiver::name) != all.end();
    if (taken || all.size() >= most) {
      mistake = Error(ErrorCode::invalid,
                      taken ? sentence("two receivers of alerts are named {}", receiver.name)
                            : sentence("at most {} receivers of alerts are wanted", most));
      return;
    }
    all.push_back(std::move(receiver));
  });
  return mistake;
}

}  // namespace

std::string_view name_of(AlertReceiver::Kind kind) {
  return kind == AlertReceiver::Kind::webhook ? "webhook" : "command";
}

Result<std::string> webhook_url(std::string_view text) {
  const std::string_view url = trimmed(text);
  const auto parsed = parse_url(url);
  if (!parsed || parsed->kind == Url::Kind::unix_socket) {
    return fail(ErrorCode::invalid, "a URL that begins with https:// or http:// is wanted");
  }
  return std::string(url);
}

std::optional<Error> read_alerts(const toml::table& table, Settings& settings) {
  TableReader reader(table, "alerts.");
  std::optional<Error> mistake;
  for (const AlertRuleFacts& facts : alert_rules()) {
    const toml::table* rule = reader.table(facts.name);
    if (rule != nullptr && !mistake) mistake = read_rule(*rule, facts.rule, settings);
  }
  if (!mistake) {
    mistake = read_receivers(reader, AlertReceiver::Kind::webhook, read_webhook, settings);
  }
  if (!mistake) {
    mistake = read_receivers(reader, AlertReceiver::Kind::command, read_command, settings);
  }
  reader.finish(settings.unknown);
  return mistake ? mistake : reader.mistake();
}

}  // namespace berth::serve
