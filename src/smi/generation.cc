#include "smi/generation.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <span>

#include "base/text.h"

namespace berth::smi {

namespace {

constexpr HeadingLayout heading_390 = {23, "Driver Version: ", 26, "", 0};
constexpr HeadingLayout heading_410 = {13, "Driver Version: ", 13, "CUDA Version: ", 9};
constexpr HeadingLayout heading_530 = {23, "Driver Version: ", 13, "CUDA Version: ", 9};
constexpr HeadingLayout heading_550 = {23, "Driver Version: ", 15, "CUDA Version: ", 9};
constexpr HeadingLayout heading_610 = {23, "KMD Version: ", 14, "CUDA UMD Version: ", 9};

constexpr std::string_view under_390 =
    "|-------------------------------+----------------------+----------------------+";
constexpr std::string_view under_530 =
    "|-----------------------------------------+----------------------+----------------------+";
constexpr std::string_view under_550 =
    "|-----------------------------------------+------------------------+----------------------+";
constexpr std::string_view under_580 =
    "+-----------------------------------------+------------------------+----------------------+";

constexpr Titles titles_of_gpu_390 = {
    "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |",
    "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |",
    "|                               |                      |               MIG M. |",
};
constexpr GpuLayout gpu_390 = {
    .cells = {31, 22, 22},
    .titles = titles_of_gpu_390,
    .name = 18,
    .before_persistence = 2,
    .draw_end = 23,
    .cap = 4,
    .draw_gap = false,
    .cap_gap = false,
    .memory_used = 10,
    .memory_total = 8,
};
constexpr Titles titles_of_gpu_530 = {
    "| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |",
    "| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |",
    "|                                         |                      |               MIG M. |",
};
constexpr GpuLayout gpu_530 = {
    .cells = {41, 22, 22},
    .titles = titles_of_gpu_530,
    .name = 27,
    .before_persistence = 4,
    .draw_end = 33,
    .cap = 4,
    .draw_gap = false,
    .cap_gap = false,
    .memory_used = 10,
    .memory_total = 8,
};
constexpr Titles titles_of_gpu_550 = {
    "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
    "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
    "|                                         |                        |               MIG M. |",
};
constexpr GpuLayout gpu_550 = {
    .cells = {41, 24, 22},
    .titles = titles_of_gpu_550,
    .name = 27,
    .before_persistence = 4,
    .draw_end = 32,
    .cap = 5,
    .draw_gap = false,
    .cap_gap = true,
    .memory_used = 11,
    .memory_total = 9,
};
constexpr GpuLayout gpu_570 = [] {
  GpuLayout layout = gpu_550;
  layout.draw_gap = true;
  return layout;
}();

constexpr MigLayout no_mig = {{}, {}, 0, 0, false};
constexpr Titles titles_of_mig_450 = {
    "| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |",
    "|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|",
    "|                  |                      |        ECC|                       |",
};
constexpr MigLayout mig_450 = {
    .cells = {18, 22, 11, 23},
    .titles = titles_of_mig_450,
    .used = 10,
    .bar1_used = 10,
    .shows_mig = true,
};
constexpr Titles titles_of_mig_530 = {
    "| GPU  GI  CI  MIG |                   Memory-Usage |        Vol|      Shared           |",
    "|      ID  ID  Dev |                     BAR1-Usage | SM     Unc| CE ENC DEC OFA JPG    |",
    "|                  |                                |        ECC|                       |",
};
constexpr MigLayout mig_530 = {
    .cells = {18, 32, 11, 23},
    .titles = titles_of_mig_530,
    .used = 19,
    .bar1_used = 19,
    .shows_mig = true,
};
constexpr Titles titles_of_mig_550 = {
    "| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|      Shared           |",
    "|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC DEC OFA JPG    |",
    "|                  |                                  |        ECC|                       |",
};
constexpr MigLayout mig_550 = {
    .cells = {18, 34, 11, 23},
    .titles = titles_of_mig_550,
    .used = 19,
    .bar1_used = 21,
    .shows_mig = true,
};
constexpr Titles titles_of_mig_560 = {
    "| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |",
    "|      ID  ID  Dev |                       BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |",
    "|                  |                                  |        ECC|                       |",
};
constexpr MigLayout mig_560 = {
    .cells = {18, 34, 11, 23},
    .titles = titles_of_mig_560,
    .used = 19,
    .bar1_used = 21,
    .shows_mig = true,
};
constexpr Titles titles_of_mig_580 = {
    "| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |",
    "|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |",
    "|                  |                                  |        ECC|                       |",
};
constexpr MigLayout mig_580 = {
    .cells = {18, 34, 11, 23},
    .titles = titles_of_mig_580,
    .used = 19,
    .bar1_used = 19,
    .shows_mig = true,
};

constexpr Titles titles_of_processes_390 = {
    "| Processes:                                                       GPU Memory |",
    "|  GPU       PID   Type   Process name                             Usage      |",
    "",
};
constexpr ProcessLayout processes_390 = {
    .titles = titles_of_processes_390,
    .instances = false,
    .pid = 10,
    .name = 42,
    .memory = 9,
};
constexpr Titles titles_of_processes_450 = {
    "| Processes:                                                                  |",
    "|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |",
    "|        ID   ID                                                   Usage      |",
};
constexpr ProcessLayout processes_450 = {
    .titles = titles_of_processes_450,
    .instances = true,
    .pid = 10,
    .name = 28,
    .memory = 12,
};
constexpr Titles titles_of_processes_530 = {
    "| Processes:                                                                            |",
    "|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |",
    "|        ID   ID                                                             Usage      |",
};
constexpr ProcessLayout processes_530 = {
    .titles = titles_of_processes_530,
    .instances = true,
    .pid = 10,
    .name = 38,
    .memory = 12,
};
constexpr Titles titles_of_processes_550 = {
    "| Processes:                                                                              |",
    "|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |",
    "|        ID   ID                                                               Usage      |",
};
constexpr ProcessLayout processes_550 = {
    .titles = titles_of_processes_550,
    .instances = true,
    .pid = 10,
    .name = 38,
    .memory = 14,
};
constexpr Titles titles_of_processes_570 = {
    "| Processes:                                                                              |",
    "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
    "|        ID   ID                                                               Usage      |",
};
constexpr ProcessLayout processes_570 = {
    .titles = titles_of_processes_570,
    .instances = true,
    .pid = 16,
    .name = 32,
    .memory = 14,
};

constexpr TableLayout table_390 = {
    .heading = heading_390,
    .under_heading = under_390,
    .gpu = gpu_390,
    .mig = no_mig,
    .processes = processes_390,
    .gap = 79,
};
constexpr MonitorLayout monitor_390 = {
    .width = 6,
    .narrow = 6,
    .gap = 3,
    .date = 11,
    .time = 12,
    .ends_blank = false,
    .even = false,
};

/// Each is the one before it, but for what is said.
class Generations {
 public:
  constexpr Generation& since(int branch, int release = 0) {
    all_[count_ + 1] = all_[count_];
    all_[++count_].from = {branch, release};
    return all_[count_];
  }
  [[nodiscard]] constexpr std::span<const Generation> all() const {
    return std::span(all_).first(count_ + 1);
  }

 private:
  std::array<Generation, 16> all_ = {
      {{.table = table_390, .monitor = monitor_390, .colon = 36, .dtd = 11}}};
  std::size_t count_ = 0;
};

constexpr Generations generations = [] {
  Generations each;
  each.since(410).table.heading = heading_410;
  Generation& with_mig = each.since(450);
  with_mig.table.mig = mig_450;
  with_mig.table.processes = processes_450;
  with_mig.colon = 42;
  each.since(520).dtd = 12;
  Generation& wide = each.since(530);
  wide.table = {heading_530, under_530, gpu_530, mig_530, processes_530, 89};
  wide.monitor.width = 7;  // 525 is narrow
  wide.monitor.gap = 4;
  wide.monitor.ends_blank = true;
  Generation& with_margins = each.since(535);
  with_margins.tells_margins = with_margins.calls_them_events = true;
  each.since(535, 216).tells_sram_kinds = true;  // also 535.261; 535.129 does not
  each.since(540).tells_sram_kinds = false;
  Generation& even = each.since(550);
  even.table = {heading_550, under_550, gpu_550, mig_550, processes_550, 89};
  // pmon's headings stand above its columns (545.23.08 beside 550.54.14: NordicHPC/sonar#170). More
  // room is left with -o: 535.129.03 has less, logs of 2026 have more; the first is not known.
  even.monitor.narrow = 7;
  even.monitor.date = 12;
  even.monitor.time = 13;
  even.monitor.even = true;
  even.tells_sram_kinds = true;
  Generation& with_words = each.since(560);
  with_words.table.mig = mig_560;
  with_words.says_no_affinity = true;
  Generation& with_wide_pids = each.since(570);
  with_wide_pids.table.gpu = gpu_570;
  with_wide_pids.table.processes = processes_570;
  each.since(575).hides_empty_chassis = true;  // 570.124 prints numbers, 570.148 does not
  Generation& closed = each.since(580);
  closed.table.under_heading = under_580;
  closed.table.mig = mig_580;
  closed.table.gap = 0;
  closed.dtd = 13;
  each.since(580, 119).colon = 55;  // 42 of 580.65.06, 580.95.05, 580.105.06 and 580.105.08
  Generation& renamed = each.since(610);
  renamed.table.heading = heading_610;
  renamed.names_twice = true;
  return each;
}();

struct Deprecation {
  std::string_view key;
  int from;
};
constexpr auto deprecations = std::to_array<Deprecation>({
    {"reset_required", 570},
    {"drain_and_reset_recommended", 570},
    {"display_mode", 580},
    {"power_management", 580},
    {"power_state", 590},
    {"clock_application_graphics_megahertz", 590},
    {"clock_application_memory_megahertz", 590},
    {"clock_default_graphics_megahertz", 590},
    {"clock_default_memory_megahertz", 590},
});

/// The nth number of "580.119.02"; `otherwise`: there is none.
int number_of_version(std::string_view version, std::size_t nth, int otherwise) {
  for (; nth > 0; --nth) {
    const std::size_t dot = version.find('.');
    if (dot == std::string_view::npos) return otherwise;
    version.remove_prefix(dot + 1);
  }
  const auto number = parse_unsigned(version.substr(0, version.find('.')));
  return number && *number < 100'000 ? static_cast<int>(*number) : otherwise;
}

}  // namespace

DriverNumber driver_of(const Snapshot& snapshot) {
  constexpr DriverNumber newest{610, std::numeric_limits<int>::max()};
  const auto& version = snapshot.host.software_of(Runtime::cuda).driver.get();
  if (!version) return newest;
  return {number_of_version(*version, 0, newest.branch),
          number_of_version(*version, 1, newest.release)};
}

const Generation& generation_of(DriverNumber driver) {
  const auto all = generations.all();
  const auto next = std::ranges::upper_bound(all, driver, {}, &Generation::from);
  return *std::prev(next);
}

const Generation& generation_of(const Snapshot& snapshot) {
  return generation_of(driver_of(snapshot));
}

std::optional<int> deprecated_since(std::string_view key) {
  const auto* found = std::ranges::find(deprecations, key, &Deprecation::key);
  return found == deprecations.end() ? std::nullopt : std::optional(found->from);
}

bool is_deprecated(std::string_view key, DriverNumber driver) {
  const auto since = deprecated_since(key);
  return since && driver.branch >= *since;
}

}  // namespace berth::smi
