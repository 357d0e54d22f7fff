// nvidia-smi's command line: what is asked for, what is refused, what is wrong with it.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "smi/help.h"
#include "smi/refusal.h"
#include "smi/smi.h"
#include "smi/tree.h"

namespace berth::smi {

namespace {

using What = SmiRequest::What;

/// What an option of this table does; several spellings share a row.
enum class Act {
  devices,
  file,
  loop,
  loop_ms,
  sections,
  format,
  query,
  xml,
  json,
  list,
  excluded,
  help,
  version,
  query_gpu,
  compute_apps,
  accounted_apps,
  retired_pages,
  remapped_rows,
  supported_clocks,
  help_query,  // the rest of the word says of what
  nothing,     // accepted: it changes nothing here
  unavailable,
  setting
};

struct Option {
  std::string_view brief;
  std::string_view whole;
  Act act;
  bool takes_value;
};

constexpr auto options = std::to_array<Option>({
    {"-i", "--id", Act::devices, true},
    {"-f", "--filename", Act::file, true},
    {"-l", "--loop", Act::loop, false},  // its value and that of -lms may be left out
    {"-lms", "--loop-ms", Act::loop_ms, false},
    {"-d", "--display", Act::sections, true},
    {"", "--format", Act::format, true},
    {"-q", "--query", Act::query, false},
    {"-a", "", Act::query, false},  // in no help; 396.37 to 535.129.03 print -q
    {"-x", "--xml-format", Act::xml, false},
    {"-j", "--json-format", Act::json, false},
    {"-L", "--list-gpus", Act::list, false},
    {"-B", "--list-excluded-gpus", Act::excluded, false},
    {"-h", "--help", Act::help, false},
    {"-v", "--version", Act::version, false},
    {"", "--query-gpu", Act::query_gpu, true},
    {"", "--query-compute-apps", Act::compute_apps, true},
    {"", "--query-accounted-apps", Act::accounted_apps, true},
    {"", "--query-retired-pages", Act::retired_pages, true},
    {"", "--query-remapped-rows", Act::remapped_rows, true},
    {"", "--query-supported-clocks", Act::supported_clocks, true},
    {"-eow", "--error-on-warning", Act::nothing, false},
    {"-u", "--unit", Act::unavailable, false},
    {"-col", "--columns", Act::unavailable, false},
    {"", "--dtd", Act::unavailable, false},
    {"", "--debug", Act::unavailable, true},
    {"", "--get-hostname", Act::unavailable, false},
    {"-pm", "--persistence-mode", Act::setting, true},
    {"-e", "--ecc-config", Act::setting, true},
    {"-p", "--reset-ecc-errors", Act::setting, true},
    {"-c", "--compute-mode", Act::setting, true},
    {"", "--gom", Act::setting, true},
    {"-r", "--gpu-reset", Act::setting, false},
    {"-vm", "--virt-mode", Act::setting, true},
    {"-lgc", "--lock-gpu-clocks", Act::setting, true},
    {"-m", "--mode", Act::setting, true},
    {"-rgc", "--reset-gpu-clocks", Act::setting, false},
    {"-lmc", "--lock-memory-clocks", Act::setting, true},
    {"-rmc", "--reset-memory-clocks", Act::setting, false},
    {"-lmcd", "--lock-memory-clocks-deferred", Act::setting, true},
    {"-rmcd", "--reset-memory-clocks-deferred", Act::setting, false},
    {"-ac", "--applications-clocks", Act::setting, true},
    {"-rac", "--reset-applications-clocks", Act::setting, false},
    {"-acp", "--applications-clocks-permission", Act::setting, true},
    {"-pl", "--power-limit", Act::setting, true},
    {"-sc", "--scope", Act::setting, true},
    {"-cc", "--cuda-clocks", Act::setting, true},
    {"-am", "--accounting-mode", Act::setting, true},
    {"-caa", "--clear-accounted-apps", Act::setting, false},
    {"", "--auto-boost-default", Act::setting, true},
    {"", "--auto-boost-permission", Act::setting, true},
    {"-mig", "--multi-instance-gpu", Act::setting, true},
    {"-gtt", "--gpu-target-temp", Act::setting, true},
    {"-fdm", "--force-driver-model", Act::setting, true},
    {"-dm", "--driver-model", Act::setting, true},
    {"-den", "--dram-encryption", Act::setting, true},
    {"-t", "--toggle-led", Act::setting, true},
    {"", "--set-hostname", Act::setting, true},
});

/// Words that set something, and words for outputs that berth does not have.
constexpr auto setting_words = std::to_array<std::string_view>(
    {"drain", "mig", "compute-policy", "boost-slider", "vgpu", "clocks", "conf-compute",
     "power-smoothing", "power-profiles", "rusd", "gpm", "daemon"});
constexpr auto showing_words =
    std::to_array<std::string_view>({"replay", "c2c", "encodersessions", "fbcsessions",
                                     "power-hint", "base-clocks", "pci", "prm", "soc", "stats"});

const Option* find_option(std::string_view word) {
  for (const Option& option : options) {
    if (word == option.whole || (!option.brief.empty() && word == option.brief)) return &option;
  }
  return nullptr;
}

std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> items;
  for (const std::string_view item : split(text, ',')) {
    if (!trimmed(item).empty()) items.emplace_back(trimmed(item));
  }
  return items;
}

/// Walks the words; what is wrong ends it.
class Reader {
 public:
  explicit Reader(const std::vector<std::string>& argv) : argv_(argv) {}

  SmiRequest read() {
    while (!done_ && at_ < argv_.size()) {
      const std::string word = argv_[at_++];
      if (!word.starts_with('-')) return unknown_option(word, argv_);
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      value_.reset();
      if (equals != std::string::npos) value_ = word.substr(equals + 1);
      if (name.starts_with("--help-query-") && !value_) {
        SmiRequest help = says("", 0);
        help.help_of = name.substr(std::string_view("--help-query-").size());
        return help;
      }
      const Option* option = find_option(name);
      if (option == nullptr) return unknown_option(word, argv_);
      if (option->takes_value && !value_) {
        if (at_ == argv_.size()) return without_value(word);
        value_ = argv_[at_++];
      }
      take(*option, name);
    }
    if (done_) return *done_;
    return finished();
  }

 private:
  void take(const Option& option, const std::string& name) {
    switch (option.act) {
      case Act::setting:
        done_ = refused(argv_, name);
        break;
      case Act::unavailable:
        done_ = unavailable(argv_, name);
        break;
      case Act::help:
        done_ = says(help_text(), 0);
        break;
      case Act::devices:
        request_.devices = listed(*value_);
        if (request_.devices.empty()) done_ = invalid(argv_);
        break;
      case Act::file:
        request_.file = *value_;
        break;
      case Act::loop:
        take_loop("5", std::chrono::seconds(1));
        break;
      case Act::loop_ms:
        // No help text has it. Source: a published log of driver 535 with -lms alone. There 100 ms
        // lie between the last row of a round and the first of the next.
        take_loop("100", std::chrono::milliseconds(1));
        break;
      case Act::sections:
        take_sections();
        break;
      case Act::format:
        take_format();
        break;
      case Act::xml:
        request_.form = SmiRequest::Form::xml;
        break;
      case Act::json:
        request_.form = SmiRequest::Form::json;
        break;
      default:
        take_what(option.act);
    }
  }

  void take_what(Act act) {
    switch (act) {
      case Act::query:
        return set(What::query);
      case Act::list:
        return set(What::list);
      case Act::excluded:
        return set(What::excluded);
      case Act::version:
        return set(What::version);
      case Act::query_gpu:
        return set_fields(What::query_gpu);
      case Act::compute_apps:
        return set_fields(What::query_compute_apps);
      case Act::accounted_apps:
        return set_fields(What::query_accounted_apps);
      case Act::retired_pages:
        return set_fields(What::query_retired_pages);
      case Act::remapped_rows:
        return set_fields(What::query_remapped_rows);
      case Act::supported_clocks:
        return set_fields(What::query_supported_clocks);
      default:
        break;
    }
  }

  void set(What what) {
    if (request_.what != What::table && request_.what != what) done_ = invalid(argv_);
    request_.what = what;
  }
  void set_fields(What what) {
    set(what);
    request_.fields = listed(*value_);
    if (request_.fields.empty()) done_ = invalid(argv_);
  }

  /// "-l", "-l 5", "--loop=5".
  void take_loop(const char* unsaid, std::chrono::milliseconds unit) {
    const auto is_number = [](std::string_view word) { return parse_unsigned(word).has_value(); };
    if (!value_ && at_ < argv_.size() && is_number(argv_[at_])) value_ = argv_[at_++];
    if (!value_) value_ = unsaid;
    every(unit);
  }
  void every(std::chrono::milliseconds unit) {
    const auto count = parse_unsigned(*value_);
    constexpr std::uint64_t a_month = 2'678'400'000;
    if (!count || *count == 0 || *count > a_month) {
      done_ = invalid(argv_);
      return;
    }
    request_.every = unit * static_cast<std::int64_t>(*count);
  }

  void take_format() {
    bool csv = false;
    for (const std::string& word : listed(*value_)) {
      if (word == "csv") {
        csv = true;
      } else if (word == "noheader") {
        request_.header = false;
      } else if (word == "nounits") {
        request_.units = false;
      } else {
        done_ = not_an_option(word, "--format");
        return;
      }
    }
    if (!csv) done_ = says(without_csv(), bad_argument);
    request_.form = SmiRequest::Form::csv;
  }

  void take_sections() {
    request_.sections = listed(capitals(*value_));
    if (request_.sections.empty()) done_ = invalid(argv_);
    for (const std::string& section : request_.sections) {
      if (!is_topic(section)) done_ = not_an_option(section, "--display");
    }
  }

  static std::string without_csv() {
    return "\"--format=\" switch is missing \"csv\". Please run 'nvidia-smi -h' for help.\n";
  }

  SmiRequest finished() {
    const bool selective = !request_.fields.empty();
    if (selective && request_.form != SmiRequest::Form::csv) {
      return says("\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n",
                  bad_argument);
    }
    if (!selective && request_.form == SmiRequest::Form::csv) return invalid(argv_);
    const bool queried = request_.what == What::query;
    const bool shaped =
        request_.form == SmiRequest::Form::xml || request_.form == SmiRequest::Form::json;
    if (!queried && (shaped || !request_.sections.empty())) return invalid(argv_);
    return request_;
  }

  const std::vector<std::string>& argv_;
  std::size_t at_ = 0;
  std::optional<std::string> value_;
  std::optional<SmiRequest> done_;
  SmiRequest request_;
};

// --- the words: dmon, pmon, topo, nvlink
// ---------------------------------------------------------

bool only_letters_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

/// dmon and pmon: -i -d -c -s -o -f, each with a value.
SmiRequest read_monitor(What what, const std::vector<std::string>& argv) {
  SmiRequest request;
  request.what = what;
  request.every = std::chrono::seconds(1);
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::size_t equals = argv[i].find('=');
    const std::string name = argv[i].substr(0, equals);
    if (name == "-h" || name == "--help") return says(monitor_help(what), 0);
    if (name == "--gpm-metrics" || name == "--gpm-options" || name == "--format") {
      return unavailable(argv, name);
    }
    std::string value;
    if (equals != std::string::npos) {
      value = argv[i].substr(equals + 1);
    } else if (i + 1 < argv.size()) {
      value = argv[++i];
    } else {
      return invalid(argv);
    }
    const auto number = parse_unsigned(value);
    const bool positive = number && *number > 0 && *number < 1'000'000'000;
    const std::string_view groups = what == What::dmon ? "pucvmet" : "um";
    if (name == "-i" || name == "--id") {
      request.devices = listed(value);
    } else if ((name == "-d" || name == "--delay") && positive) {
      request.every = std::chrono::seconds(*number);
    } else if ((name == "-c" || name == "--count") && positive) {
      request.times = *number;
    } else if ((name == "-s" || name == "--select") && only_letters_of(value, groups)) {
      request.select = value;
    } else if ((name == "-o" || name == "--options") && only_letters_of(value, "DT")) {
      request.stamps = value;
    } else if (name == "-f" || name == "--filename") {
      request.file = value;
    } else {
      return says(fmt::format("Invalid option or value: {} {}. Please run 'nvidia-smi {} -h' for "
                              "help.\n",
                              printable(name), printable(value), argv.front()),
                  bad_argument);
    }
  }
  return request;
}

SmiRequest read_topology(const std::vector<std::string>& argv) {
  SmiRequest request;
  request.what = What::topology;
  if (argv.size() == 2 && (argv[1] == "-m" || argv[1] == "--matrix")) return request;
  if (argv.size() == 2 && (argv[1] == "-h" || argv[1] == "--help")) return says(topology_help(), 0);
  return argv.size() == 1 ? invalid(argv) : unavailable(argv, "topo " + argv[1]);
}

SmiRequest read_nvlink(const std::vector<std::string>& argv) {
  SmiRequest request;
  request.what = What::nvlink;
  bool status = false;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "-s" || argv[i] == "--status") {
      status = true;
    } else if (argv[i] == "-h" || argv[i] == "--help") {
      return says(nvlink_help(), 0);
    } else if ((argv[i] == "-i" || argv[i] == "--id") && i + 1 < argv.size()) {
      request.devices = listed(argv[++i]);
    } else {
      return unavailable(argv, "nvlink " + argv[i]);
    }
  }
  return status ? request : invalid(argv);
}

}  // namespace

SmiRequest parse(const std::vector<std::string>& argv) {
  if (argv.empty() || argv.front().starts_with('-')) return Reader(argv).read();
  const std::string& word = argv.front();
  if (word == "dmon") return read_monitor(What::dmon, argv);
  if (word == "pmon") return read_monitor(What::pmon, argv);
  if (word == "topo") return read_topology(argv);
  if (word == "nvlink") return read_nvlink(argv);
  const auto in = [&](const auto& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (in(setting_words)) return refused(argv, word);
  if (in(showing_words)) return unavailable(argv, word);
  return unknown_option(word, argv);
}

}  // namespace berth::smi
