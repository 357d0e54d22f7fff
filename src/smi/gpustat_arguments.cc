// gpustat's flags.

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "smi/gpustat.h"

namespace berth::smi {

namespace {

constexpr std::string_view help_text =
    R"(gpustat, as berth shows it: one line per device and who is on it.

  berth gpustat -cp
  berth gpustat --json

  -a, --show-all          everything below
  -c, --show-cmd          the command's name      -u, --show-user   whose it is
  -f, --show-full-cmd     the whole command       -p, --show-pid    its process number
  -F, --show-fan-speed    the fan
  -e, --show-codec[=enc,dec]      encoder and decoder
  -P, --show-power[=draw,limit]   power
  -i, --interval[=SECONDS]        again and again (1) until Ctrl-C
      --id=INDEX,...      only these devices
      --json              as JSON
      --color, --no-color, --no-header, --no-processes, --gpuname-width=N, -v, --version, -h
      --print-completion=bash|zsh|tcsh      what completes these flags in that shell

This is berth. nvidia-smi's flags: berth smi -h.
)";

/// A flag that takes no value.
struct Switch {
  std::string_view brief;
  std::string_view whole;
  void (*turn)(GpustatRequest&);
};

void show_all(GpustatRequest& request) {
  request.command = request.user = request.pid = request.fan = true;
  request.encoder = request.decoder = request.power = request.power_limit = true;
}

constexpr auto switches = std::to_array<Switch>({
    {"-a", "--show-all", show_all},
    {"-c", "--show-cmd", [](GpustatRequest& r) { r.command = true; }},
    {"-f", "--show-full-cmd", [](GpustatRequest& r) { r.full_command = true; }},
    {"-u", "--show-user", [](GpustatRequest& r) { r.user = true; }},
    {"-p", "--show-pid", [](GpustatRequest& r) { r.pid = true; }},
    {"-F", "--show-fan-speed", [](GpustatRequest& r) { r.fan = true; }},
    {"", "--show-fan", [](GpustatRequest& r) { r.fan = true; }},
    {"", "--json", [](GpustatRequest& r) { r.json = true; }},
    {"", "--no-header", [](GpustatRequest& r) { r.header = false; }},
    {"", "--no-processes", [](GpustatRequest& r) { r.processes = false; }},
    {"", "--color", [](GpustatRequest& r) { r.colour = true; }},
    {"", "--force-color", [](GpustatRequest& r) { r.colour = true; }},
    {"", "--no-color", [](GpustatRequest& r) { r.colour = false; }},
    {"", "--debug", [](GpustatRequest&) {}},
});

const Switch* find_switch(std::string_view word) {
  for (const Switch& one : switches) {
    if (word == one.whole || (!one.brief.empty() && word == one.brief)) return &one;
  }
  return nullptr;
}

/// "-cup" is "-c -u -p", "-i2" is "-i 2", "--id=0" is "--id 0".
std::vector<std::string> taken_apart(const std::vector<std::string>& argv) {
  std::vector<std::string> words;
  for (const std::string& word : argv) {
    const std::size_t equals = word.find('=');
    if (word.starts_with("--") && equals != std::string::npos) {
      words.push_back(word.substr(0, equals));
      words.push_back(word.substr(equals + 1));
      continue;
    }
    if (word.size() < 3 || word[0] != '-' || word[1] == '-') {
      words.push_back(word);
      continue;
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
      words.push_back(std::string("-") + word[i]);
      constexpr std::string_view with_value = "ieP";
      if (with_value.find(word[i]) == std::string_view::npos || i + 1 == word.size()) continue;
      words.push_back(word.substr(i + 1));
      break;
    }
  }
  return words;
}

Output mistake(std::string_view what) {
  return {fmt::format("gpustat: error: {} (gpustat -h shows what it takes)\n", what), 2};
}
GpustatRequest mistaken(std::string_view what) {
  GpustatRequest request;
  request.said = mistake(what);
  return request;
}

std::string all_flags() {
  std::string words;
  for (const Switch& one : switches) {
    if (!one.brief.empty()) words += fmt::format("{} ", one.brief);
    words += fmt::format("{} ", one.whole);
  }
  return words +
         "-i --interval --watch -e --show-codec -P --show-power --id --gpuname-width "
         "--print-completion -v --version -h --help";
}

/// The script that gpustat has from shtab, for the same shells.
Output completion(std::string_view shell) {
  if (shell == "bash") return {fmt::format("complete -W \"{}\" gpustat\n", all_flags())};
  if (shell == "zsh") return {fmt::format("#compdef gpustat\ncompadd -- {}\n", all_flags())};
  if (shell == "tcsh") return {fmt::format("complete gpustat 'p/*/({})/'\n", all_flags())};
  return mistake(
      fmt::format("--print-completion wants bash, zsh or tcsh, not \"{}\"", printable(shell)));
}

/// What is said at once, without a look.
std::optional<Output> said_at_once(std::string_view word, std::string_view value) {
  if (word == "-h" || word == "--help") return Output{std::string(help_text), 0};
  if (word == "-v" || word == "--version") {
    return Output{fmt::format("gpustat (berth {})\n", BERTH_VERSION), 0};
  }
  if (word == "--print-completion") return completion(value);
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> seconds(std::string_view text) {
  const auto number = parse_decimal(text);
  constexpr double most = 1e6;
  if (!number || *number > most) return std::nullopt;
  constexpr double shortest = 0.1;
  constexpr double thousand = 1000;
  if (*number == 0) return std::chrono::milliseconds(0);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(std::max(*number, shortest) * thousand));
}

}  // namespace

GpustatRequest parse_gpustat(const std::vector<std::string>& argv) {
  GpustatRequest request;
  const auto words = taken_apart(argv);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (const Switch* one = find_switch(word)) {
      one->turn(request);
      continue;
    }
    const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with('-');
    const std::string value = has_value ? words[i + 1] : "";
    if (auto said = said_at_once(word, value)) {
      request.said = std::move(said);
      return request;
    }
    if (word == "-i" || word == "--interval" || word == "--watch") {
      request.every = std::chrono::seconds(1);
      if (has_value) request.every = seconds(value);
      if (!request.every) return mistaken(fmt::format("-i wants seconds, not \"{}\"", value));
      if (*request.every == std::chrono::milliseconds(0)) request.every.reset();  // once, as theirs
    } else if (word == "-e" || word == "--show-codec") {
      request.encoder = !has_value || value.find("enc") != std::string::npos;
      request.decoder = !has_value || value.find("dec") != std::string::npos;
      if (has_value && !request.encoder && !request.decoder) return mistaken("-e wants enc,dec");
    } else if (word == "-P" || word == "--show-power") {
      request.power = true;
      request.power_limit = !has_value || value.find("limit") != std::string::npos;
      if (has_value && !request.power_limit && value != "draw") {
        return mistaken("-P wants draw,limit");
      }
    } else if (word == "--id" && has_value) {
      for (const std::string_view one : split(value, ',')) request.devices.emplace_back(one);
    } else if (word == "--gpuname-width" && has_value && parse_unsigned(value).has_value()) {
      request.name_width = static_cast<int>(std::min<std::uint64_t>(*parse_unsigned(value), 1000));
    } else {
      return mistaken(fmt::format("unrecognized arguments: {}", printable(word)));
    }
    if (has_value) ++i;
  }
  if (request.json && request.every) {
    request.said = Output{"Error: --json and --interval/-i can't be used together.\n", 1};
  }
  return request;
}

}  // namespace berth::smi
