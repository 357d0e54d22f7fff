#include "serve/settings.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "serve/request_handler.h"
#include "serve/settings_table.h"
#include "serve/url.h"

namespace berth::serve {

namespace {

std::optional<Error> read_tls(const toml::table& table, Settings& settings) {
  TableReader reader(table, "tls.");
  std::optional<std::string> certificate, key, client_ca;
  reader.text("certificate", certificate);
  reader.text("key", key);
  reader.text("client_ca", client_ca);
  reader.finish(settings.unknown);
  if (reader.mistake()) return reader.mistake();
  if (!certificate || !key) {
    return Error(ErrorCode::invalid, "[tls] wants both certificate and key");
  }
  settings.tls = TlsFiles{
      .certificate = *certificate, .key = *key, .client_ca = client_ca.value_or(std::string())};
  return std::nullopt;
}

std::optional<Error> read_policy(const toml::table& table, Settings& settings) {
  TableReader reader(table, "policy.");
  std::optional<std::string> others;
  reader.text("others", others);
  reader.flag("pods", settings.visibility.pods_are_open);
  if (others) {
    const auto named = others_from_name(*others);
    if (named) settings.visibility.others = *named;
    if (!named)
      reader.refuse("others", Error(ErrorCode::invalid, "public, group or owner is wanted"));
  }
  reader.finish(settings.unknown);
  return reader.mistake();
}

std::optional<Error> read_energy(const toml::table& table, Settings& settings) {
  TableReader reader(table, "energy.");
  std::optional<std::string> price, currency;
  reader.text("price_per_kwh", price);
  reader.text("currency", currency);
  if (price) settings.price.per_kwh = parse_decimal(*price);
  if (price && !settings.price.per_kwh) {
    reader.refuse("price_per_kwh", Error(ErrorCode::invalid, "a price is wanted: \"0.30\""));
  }
  settings.price.currency = currency.value_or("");
  reader.finish(settings.unknown);
  return reader.mistake();
}

std::optional<Error> read_history(const toml::table& table, Settings& settings) {
  TableReader reader(table, "history.");
  std::optional<std::string> samples, minutes, hours, at_most;
  reader.flag("keep", settings.keeps_history);
  reader.text("samples", samples);
  reader.text("minutes", minutes);
  reader.text("hours", hours);
  reader.text("at_most", at_most);
  const auto read_span = [&](std::string_view key, const std::optional<std::string>& text,
                             std::chrono::hours& into) {
    if (!text) return;
    const auto span = parse_duration(*text);
    if (!span) return reader.refuse(key, span.error());
    into = std::chrono::floor<std::chrono::hours>(*span);
    if (into < std::chrono::hours(1)) {
      reader.refuse(key, Error(ErrorCode::invalid, "an hour is the least"));
    }
  };
  HistoryOptions& kept = settings.history;
  read_span("samples", samples, kept.raw_for);
  read_span("minutes", minutes, kept.minutes_for);
  read_span("hours", hours, kept.hours_for);
  if (kept.minutes_for > kept.hours_for) {
    reader.refuse(minutes ? "minutes" : "hours",
                  Error(ErrorCode::invalid, "hours are to be kept at least as long as minutes"));
  }
  if (at_most) {
    const auto size = parse_size(*at_most);
    if (!size) reader.refuse("at_most", size.error());
    if (size) kept.at_most = *size;
    if (kept.at_most < HistoryOptions::least_disk) {
      reader.refuse("at_most", Error(ErrorCode::invalid, "2 MiB are the least"));
    }
  }
  reader.finish(settings.unknown);
  return reader.mistake();
}

std::optional<Error> read_metrics(const toml::table& table, Settings& settings) {
  TableReader reader(table, "metrics.");
  std::optional<std::string> profiles;
  reader.text("profiles", profiles);
  if (profiles) {
    auto named = profiles_from(*profiles);
    if (named) settings.metrics.profiles = std::move(*named);
    if (!named) reader.refuse("profiles", named.error());
  }
  reader.flag("per_process", settings.metrics.per_process);
  std::optional<std::string> hostname_label;
  reader.text("dcgm_hostname_label", hostname_label);
  if (hostname_label) {
    settings.metrics.dcgm_hostname_label = *hostname_label;
    const bool is_label =
        hostname_label->empty() || *hostname_label == "hostname" || *hostname_label == "Hostname";
    if (!is_label) {
      reader.refuse("dcgm_hostname_label",
                    Error(ErrorCode::invalid, "hostname or Hostname is wanted"));
    }
  }
  reader.finish(settings.unknown);
  return reader.mistake();
}

std::optional<Error> read_join(const toml::table& table, Settings& settings) {
  TableReader reader(table, "join.");
  std::optional<std::string> file, interval;
  reader.texts("hosts", settings.join.hosts);
  reader.text("file", file);
  reader.text("interval", interval);
  reader.number("at_once", 1, 256, settings.join.at_once);
  settings.join.file = file.value_or("");
  if (interval) {
    const auto parsed = parse_join_interval(*interval);
    if (parsed) settings.join.interval = *parsed;
    if (!parsed) reader.refuse("interval", parsed.error());
  }
  for (const std::string& host : settings.join.hosts) {
    if (auto member = parse_member(host); !member) reader.refuse("hosts", member.error());
  }
  reader.finish(settings.unknown);
  return reader.mistake();
}

/// What a Host header could bring, with or without a port. One with anything else in it would be
/// known to nobody, and nobody told.
bool could_be_host(std::string_view host) {
  constexpr std::string_view signs = "-._:[]";
  return !host.empty() && std::ranges::all_of(host, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           signs.contains(c);
  });
}
Error no_host(std::string_view host) {
  return Error(
      ErrorCode::invalid,
      "\"{}\" is no host's name: write one as in \"gpu1.lab\", without http://, paths or *",
      printable(host.substr(0, 80)));
}

/// As a browser writes the header Origin. Nothing: a path, "*", or what no browser would send.
std::optional<std::string> origin_in(std::string_view text) {
  const auto url = parse_url(text);
  if (!url || url->kind == Url::Kind::unix_socket || url->target != "/") return std::nullopt;
  return small_letters(origin_of(*url));
}

void read_origins(TableReader& reader, std::string_view key, std::vector<std::string>& into) {
  reader.texts(key, into);
  for (std::string& one : into) {
    const auto origin = origin_in(one);
    if (origin) one = *origin;
    if (!origin) {
      reader.refuse(key, Error(ErrorCode::invalid,
                               "\"{}\" is no origin: write each site as in \"https://portal.lab\", "
                               "without a path or *",
                               printable(one.substr(0, 80))));
    }
  }
}

std::optional<Error> read_root(const toml::table& root, Settings& settings) {
  TableReader reader(root, "");
  std::optional<std::string> interval;
  std::vector<std::string> listen;
  reader.texts("listen", listen);
  reader.text("socket", settings.socket);
  reader.texts("hosts", settings.hosts);
  read_origins(reader, "trusted_origins", settings.sites.trusted_origins);
  read_origins(reader, "frame_ancestors", settings.sites.frame_ancestors);
  reader.flag("embed", settings.sites.embed);
  reader.text("interval", interval);
  reader.flag("require_tokens", settings.require_tokens);
  const toml::table* policy = reader.table("policy");
  const toml::table* tls = reader.table("tls");
  const toml::table* energy = reader.table("energy");
  const toml::table* history = reader.table("history");
  const toml::table* metrics = reader.table("metrics");
  const toml::table* join = reader.table("join");
  const toml::table* alerts = reader.table("alerts");
  for (std::string& host : settings.hosts) {
    if (!could_be_host(host)) reader.refuse("hosts", no_host(host));
    host = host_without_port(host);
  }
  if (root.contains("listen")) settings.listen.clear();
  for (const std::string& one : listen) {
    auto address = parse_address(one);
    if (address) settings.listen.push_back(std::move(*address));
    if (!address) reader.refuse("listen", address.error());
  }
  if (interval) {
    const auto parsed = parse_interval(*interval);
    if (parsed) settings.interval = *parsed;
    if (!parsed) reader.refuse("interval", parsed.error());
  }
  reader.finish(settings.unknown);
  if (reader.mistake()) return reader.mistake();
  std::optional<Error> mistake;
  if (policy != nullptr) mistake = read_policy(*policy, settings);
  if (!mistake && tls != nullptr) mistake = read_tls(*tls, settings);
  if (!mistake && energy != nullptr) mistake = read_energy(*energy, settings);
  if (!mistake && history != nullptr) mistake = read_history(*history, settings);
  if (!mistake && metrics != nullptr) mistake = read_metrics(*metrics, settings);
  if (!mistake && join != nullptr) mistake = read_join(*join, settings);
  if (!mistake && alerts != nullptr) mistake = read_alerts(*alerts, settings);
  return mistake;
}

bool is_any(const Address& address) { return address.host == "0.0.0.0" || address.host == "::"; }

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::invalid, "\"{}\" is no address: 127.0.0.1:9700 or [::1]:9700 is one",
                printable(text));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse();
  const auto port = parse_unsigned(text.substr(colon + 1));
  std::string host(text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  const bool is_address =
      ::inet_pton(bracketed ? AF_INET6 : AF_INET, host.c_str(), bytes.data()) == 1;
  if (!port || *port > 65535 || !is_address) return refuse();
  return Address{.host = std::move(host), .port = static_cast<std::uint16_t>(*port)};
}

std::string as_text(const Address& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(is_v6 ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

bool is_loopback(const Address& address) {
  return address.host.starts_with("127.") || address.host == "::1";
}

Result<Settings> parse_settings(std::string_view text) {
  const auto parsed = parse_toml(text);
  if (!parsed) return std::unexpected(parsed.error());
  Settings settings;
  if (auto mistake = read_root(*parsed, settings)) return std::unexpected(*mistake);
  return settings;
}

Duration details_interval(Duration interval) {
  return std::min<Duration>(interval * 10, std::chrono::seconds(10));
}

Result<Duration> parse_interval(std::string_view text) {
  const auto interval = parse_duration(text);
  if (!interval) return std::unexpected(interval.error());
  if (*interval < std::chrono::milliseconds(100) || *interval > std::chrono::seconds(5)) {
    return fail(ErrorCode::invalid,
                "an interval from 100ms to 5s is wanted. Nobody knows what was between two looks "
                "further apart, and the history leaves it out");
  }
  return Duration(*interval);
}

Result<Duration> parse_join_interval(std::string_view text) {
  const auto interval = parse_duration(text);
  if (!interval) return std::unexpected(interval.error());
  if (*interval < std::chrono::seconds(1) || *interval > std::chrono::minutes(10)) {
    return fail(ErrorCode::invalid, "an interval from 1s to 10m is wanted");
  }
  return Duration(*interval);
}

std::optional<Error> refused_listeners(const Settings& settings) {
  const bool asks_for_certificates = settings.tls && !settings.tls->client_ca.empty();
  for (const Address& address : settings.listen) {
    if (is_loopback(address) || settings.require_tokens || asks_for_certificates) continue;
    return Error(ErrorCode::no_permission,
                 "will not listen on {}: {} could ask, and nothing tells who they are. Ask for "
                 "tokens (--tokens) or client certificates (--tls-cert, --tls-key, "
                 "--tls-client-ca), or stay on 127.0.0.1 and put a proxy in front",
                 as_text(address), is_any(address) ? sentence("everybody") : sentence("others"));
  }
  return std::nullopt;
}

Result<TakenSettings> settings_to_take(const Settings& now, Settings read) {
  TakenSettings taken{.settings = std::move(read)};
  Settings& settings = taken.settings;
  if (settings.listen != now.listen || settings.tls.has_value() != now.tls.has_value()) {
    taken.waits.push_back(sentence("other addresses are listened on after a restart"));
    settings.listen = now.listen;
    settings.tls = now.tls;
  }
  if (settings.keeps_history != now.keeps_history || settings.history != now.history) {
    taken.waits.push_back(sentence("the history is kept as it was until a restart"));
    settings.keeps_history = now.keeps_history;
    settings.history = now.history;
  }
  // What may not be opened so may not become so either.
  if (auto refused = refused_listeners(settings)) return std::unexpected(*std::move(refused));
  return taken;
}

}  // namespace berth::serve
