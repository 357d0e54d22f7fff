// For each function of NVML that the probe calls, and each code that NVML documents: what the
// function feeds is absent with a reason. All other readings, of all devices, are as on the sound
// machine. Generated from the table of functions, so a new one is tested by being there.
//
// Which readings a function feeds stands in tests/data/nvml-feeds.txt: found out by these tests,
// and held still by them.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "probe/collector.h"
#include "probe/nvml/api.h"
#include "probe/nvml/fake_machine_test.h"
#include "snapshot/questions.h"

namespace berth::nvml {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Keys = std::set<std::string, std::less<>>;

/// nvmlReturn_t, all of it but success, and one of the future.
std::vector<int> all_codes() {
  std::vector<int> codes;
  for (int code = 1; code <= 30; ++code) codes.push_back(code);
  codes.push_back(unknown);
  codes.push_back(4711);
  return codes;
}

/// All fields of a device, in the order of the table.
std::vector<Cell> cells_of(const Snapshot& snapshot, std::size_t index) {
  std::vector<Cell> cells;
  cells.reserve(fields().size());
  for (const Field& field : fields()) {
    cells.push_back(field.read(snapshot.devices.at(index), snapshot));
  }
  return cells;
}

// Readings that may hold another value instead of none. An older function answers and counts
// differently; or others are their parts; or the code is the answer (a corrupted infoROM).
bool may_hold_another(std::string_view key) {
  static const Keys keys = {
      "memory_used_bytes", "id",           "users", "state", "memory_unexplained_bytes",
      "process_count",     "inforom_valid"};
  return keys.contains(key);
}

/// Somebody draws on the first device, too, and somebody computes through MPS.
Snapshot busy_server() {
  Snapshot host = detailed_server();
  const DeviceId first = host.devices[0].id;
  host.gpu_processes.push_back(
      {.device = first, .pid = 2001, .use = GpuUse::graphics, .memory = 300_MiB});
  host.gpu_processes.push_back(
      {.device = first, .pid = 2002, .use = GpuUse::mps, .memory = 200_MiB});
  return host;
}

class NvmlFaults : public NvmlFake {
 protected:
  [[nodiscard]] virtual Snapshot machine() const { return busy_server(); }
  void SetUp() override {
    NvmlFake::SetUp();
    play(machine());
    loaded = dlopen(library("all").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(loaded, nullptr) << dlerror();
    opened = Library::open(library("all"));
    ASSERT_TRUE(opened);
    sound = look_in_process();
    sound_cells.clear();
    for (std::size_t i = 0; i < sound.devices.size(); ++i)
      sound_cells.push_back(cells_of(sound, i));
  }
  void TearDown() override {
    opened = {};
    if (loaded != nullptr) dlclose(loaded);
    NvmlFake::TearDown();
  }
  /// In this process, through the table of functions: no dlopen for each of thousands of looks.
  Snapshot look_in_process() {
    NvmlProbe probe(opened->api(), {.proc = "/nonexistent"});
    return whole_look(probe, now, Depth::lists);
  }
  /// The keys of a device that are not as on the sound machine. Absent is fine; another value is
  /// not, but where `may_hold_another`.
  Keys changed_in(const Snapshot& got, std::size_t index, const std::string& fault) {
    Keys keys;
    const std::vector<Cell> cells = cells_of(got, index);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i] == sound_cells[index][i]) continue;
      const std::string key(fields()[i].key);
      EXPECT_TRUE(!cells[i].get() || may_hold_another(key))
          << fault << " made " << key << " another";
      keys.insert(key);
    }
    if (got.devices[index].utilization_history != sound.devices[index].utilization_history) {
      keys.insert("utilization_history");
    }
    const Lists& lists = got.devices[index].lists;
    const Lists& sound_lists = sound.devices[index].lists;
    if (lists.retired_pages != sound_lists.retired_pages) keys.insert("retired_pages");
    if (lists.accounted_processes != sound_lists.accounted_processes) {
      keys.insert("accounted_processes");
    }
    if (lists.supported_clocks != sound_lists.supported_clocks) keys.insert("supported_clocks");
    if (lists.nvlinks != sound_lists.nvlinks) keys.insert("nvlinks");
    if (processes_of(got, index) != processes_of(sound, index)) keys.insert("processes");
    return keys;
  }
  /// What of a device differs, by name: a dump of its thousand bytes tells nobody anything.
  static std::string differences(const Device& got, const Device& wanted) {
    std::string told;
    if (got == wanted) return told;
    const auto note = [&](std::string_view key, const std::string& one, const std::string& other) {
      told += fmt::format("{}{} is {}, not {}", told.empty() ? "" : "; ", key, one, other);
    };
    const Snapshot nobody;
    for (const Field& field : fields()) {
      const Cell one = field.read(got, nobody);
      const Cell other = field.read(wanted, nobody);
      if (!(one == other)) note(field.key, text_of(one), text_of(other));
    }
    const auto note_others = [&](std::string_view what, bool same) {
      if (!same) note(what, "another", "as on the sound machine");
    };
    note_others("utilization_history", got.utilization_history == wanted.utilization_history);
    note_others("retired_pages", got.lists.retired_pages == wanted.lists.retired_pages);
    note_others("accounted_processes",
                got.lists.accounted_processes == wanted.lists.accounted_processes);
    note_others("supported_clocks", got.lists.supported_clocks == wanted.lists.supported_clocks);
    note_others("nvlinks", got.lists.nvlinks == wanted.lists.nvlinks);
    if (got.lost != wanted.lost) note("lost", got.lost ? "true" : "false", "that");
    if (got.unusable_because != wanted.unusable_because) {
      note("unusable_because", '"' + std::string(got.unusable_because.english()) + '"',
           '"' + std::string(wanted.unusable_because.english()) + '"');
    }
    if (told.empty()) told = "kind, parent or place differ";
    return told;
  }
  static std::string text_of(const Cell& cell) {
    if (!cell.get()) return "absent (" + std::string(name_of(cell.why())) + ")";
    return std::visit([](const auto& value) { return fmt::format("{}", value); }, *cell.get());
  }
  static std::string text_of(const std::vector<GpuProcess>& processes) {
    std::string text;
    for (const GpuProcess& one : processes) {
      const auto memory = one.memory.get();
      text += fmt::format("pid {} with {} bytes; ", one.pid,
                          memory ? std::to_string(memory->count()) : "unknown");
    }
    return text.empty() ? "none" : text;
  }
  static void expect_same(const std::vector<GpuProcess>& got, const std::vector<GpuProcess>& wanted,
                          std::string_view fault) {
    EXPECT_TRUE(got == wanted) << fault << ": processes are " << text_of(got) << ", not "
                               << text_of(wanted);
  }
  static std::vector<GpuProcess> processes_of(const Snapshot& snapshot, std::size_t index) {
    std::vector<GpuProcess> processes;
    for (const GpuProcess& process : snapshot.gpu_processes) {
      if (process.device == snapshot.devices.at(index).id) processes.push_back(process);
    }
    return processes;
  }
  void expect_last_device_sound(const Snapshot& got, const std::string& fault) {
    ASSERT_EQ(got.devices.size(), sound.devices.size()) << fault;
    const std::size_t last = sound.devices.size() - 1;
    EXPECT_EQ(differences(got.devices[last], sound.devices[last]), "")
        << fault << " changed device " << last;
    expect_same(processes_of(got, last), processes_of(sound, last), fault);
  }

  void* loaded = nullptr;
  std::expected<Library, LoadFailure> opened = std::unexpected(LoadFailure{});
  Snapshot sound;
  std::vector<std::vector<Cell>> sound_cells;  // by device
};

bool is_of_a_device(std::string_view function) {
  return function.starts_with("nvmlDevice") || function == "nvmlGpmSampleGet" ||
         function == "nvmlGpmQueryDeviceSupport";
}

/// A card for each code, as the first of the busy server, and one sound card. A look at two cards
/// per function and code would take twice as long.
class NvmlFaultsOfEachCode : public NvmlFaults {
 protected:
  [[nodiscard]] Snapshot machine() const override {
    const Snapshot busy = busy_server();
    const Device& model = busy.devices[0];
    Snapshot host = busy;
    host.devices.clear();
    host.gpu_processes.clear();
    for (int index = 0; index <= static_cast<int>(all_codes().size()); ++index) {
      Device device = model;
      device.index = index;
      device.minor_number = static_cast<std::uint64_t>(index);
      device.pci_address = fmt::format("00000000:{:02x}:00.0", 17 + index);
      device.uuid = fmt::format("GPU-00000000-0000-0000-0000-0000000000{:02}", index);
      device.id = DeviceId(*device.uuid.get());
      for (GpuProcess process : busy.gpu_processes) {
        if (process.device != model.id) continue;
        process.device = device.id;
        process.pid += 10'000 * index;
        host.gpu_processes.push_back(process);
      }
      host.devices.push_back(std::move(device));
    }
    return host;
  }
};

TEST_F(NvmlFaultsOfEachCode, EachFunctionFailingInEachWayCostsWhatItFeedsAndNothingElse) {
  const std::vector<int> codes = all_codes();
  std::map<std::string, Keys> feeds;
  for (const std::string_view function : symbols()) {
    if (!is_of_a_device(function)) continue;
    Keys& fed = feeds[std::string(function)];
    std::vector<std::string> each;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      each.push_back(fmt::format("{}@{}={}", function, i, codes[i]));
    }
    faults(fmt::format("{}", fmt::join(each, ";")));
    const Snapshot got = look_in_process();
    expect_last_device_sound(got, std::string(function));
    if (::testing::Test::HasFailure()) return;  // the first is enough
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const Keys changed = changed_in(got, i, each[i]);
      // These speak of the whole device, or of the whole library.
      const bool of_the_whole = codes[i] == gpu_is_lost || got.devices[i].lost;
      if (!of_the_whole) fed.insert(changed.begin(), changed.end());
      if (codes[i] == reset_required) fed.erase("state");  // unusable until then, by any call
      EXPECT_TRUE(!of_the_whole || changed.empty() || got.devices[i].lost) << each[i];
      if (::testing::Test::HasFailure()) return;
    }
  }
  std::string table;
  for (const auto& [function, keys] : feeds) {
    table += function + ":";
    for (const std::string& key : keys) table += " " + key;
    table += '\n';
  }
  const std::string path = BERTH_NVML_SYMBOL_LISTS "/../nvml-feeds.txt";
  const auto known = read_file(path);
  if (known && *known == table) return;
  const std::string other = ::testing::TempDir() + "nvml-feeds.txt";
  ASSERT_TRUE(write_file_atomically(other, table));
  ADD_FAILURE() << "functions feed other readings now; if that is right: cp " << other << " "
                << path;
}

TEST_F(NvmlFaults, WhatIsOutOfRangeIsAbsentAndChangesNoOtherDevice) {
  for (const std::string_view function : symbols()) {
    if (!is_of_a_device(function) || function.starts_with("nvmlDeviceGetHandle")) continue;
    for (const char* lie : {"4294967295", "101", "3000000000"}) {
      const std::string fault = fmt::format("{}@0=lie:{}", function, lie);
      faults(fault);
      const Snapshot got = look_in_process();
      expect_last_device_sound(got, fault);
      for (const Field& field : fields()) {
        const Cell cell = field.read(got.devices[0], got);
        if (!cell.get()) continue;
        const auto* share = std::get_if<double>(&*cell.get());
        const bool may_exceed =
            field.detail == Detail::edpp_multiplier || field.key == "fan_speed_percent";
        if (field.unit == Unit::percent && share != nullptr && !may_exceed) {
          EXPECT_LE(*share, 100) << fault << " " << field.key;
        }
        const auto* degrees = std::get_if<std::int64_t>(&*cell.get());
        if (field.unit == Unit::celsius && degrees != nullptr) {
          EXPECT_LE(*degrees, 1000) << fault << " " << field.key;
        }
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST_F(NvmlFaults, EachFunctionOfTheLibraryFailingLeavesTheDevicesOrSaysWhyThereAreNone) {
  for (const std::string_view function : symbols()) {
    if (is_of_a_device(function)) continue;
    for (const int code : all_codes()) {
      const std::string fault = fmt::format("{}={}", function, code);
      faults(fault);
      const Snapshot got = look_in_process();
      if (got.devices.empty()) {
        ASSERT_EQ(got.problems.size(), 1U) << fault;
        EXPECT_FALSE(got.problems[0].remedy.empty()) << fault;
        EXPECT_EQ(got.host.software_of(Runtime::cuda).driver, Reading<std::string>(Absent::failed))
            << fault;
        continue;
      }
      ASSERT_EQ(got.devices.size(), 2U) << fault;
      EXPECT_EQ(got.devices[0].memory_free, sound.devices[0].memory_free) << fault;
      expect_same(got.gpu_processes, sound.gpu_processes, fault);
    }
  }
}

/// The first card is divided by MIG into two instances, each with a process.
class NvmlFaultsOfInstances : public NvmlFaults {
 protected:
  [[nodiscard]] Snapshot machine() const override {
    Snapshot host = detailed_server();
    Device& card = host.devices[0];
    card.mig_mode = true;
    card.utilization_gpu = card.utilization_memory = Absent::unsupported;
    host.gpu_processes.erase(host.gpu_processes.begin());
    for (std::uint32_t i = 0; i < 2; ++i) {
      Device instance;
      instance.kind = DeviceKind::nvidia_mig;
      instance.parent = host.devices[0].id;
      instance.partition = Partition{3 + i, 0};
      instance.index = 0;
      instance.uuid = fmt::format("MIG-00000000-0000-0000-0000-00000000000{}", i);
      instance.id = DeviceId(*instance.uuid.get());
      instance.name = std::string("NVIDIA H100 80GB HBM3 MIG 1g.10gb");
      instance.memory_total = 9984_MiB;
      instance.memory_used = 1100_MiB;
      instance.memory_free = 8884_MiB;
      host.devices.insert(host.devices.begin() + 1 + i, instance);
      host.gpu_processes.push_back({.device = instance.id,
                                    .pid = static_cast<pid_t>(50 + i),
                                    .memory = 1000_MiB,
                                    .utilization_sm = Absent::unsupported});
    }
    return host;
  }
  static const Device* instance(const Snapshot& got, const DeviceId& id) {
    return find_device(id, got);
  }
  /// What is not as on the sound machine is absent, and a sentence says why.
  void expect_told(const Snapshot& got, const std::string& fault) {
    EXPECT_EQ(differences(got.devices.back(), sound.devices.back()), "") << fault;
    bool is_less = false;
    for (std::size_t i = 1; i <= 2; ++i) {
      const Device& wanted = sound.devices[i];
      const Device* known = instance(got, wanted.id);
      is_less = is_less || known == nullptr || known->partition != wanted.partition ||
                known->process_count != wanted.process_count ||
                known->memory_used != wanted.memory_used;
      if (known == nullptr) continue;
      EXPECT_THAT(known->process_count.get(), AnyOf(std::nullopt, wanted.process_count.get()))
          << fault << " " << wanted.id.text();
      EXPECT_TRUE(!known->partition || known->partition == wanted.partition) << fault;
      EXPECT_THAT(known->memory_used.get(), AnyOf(std::nullopt, wanted.memory_used.get())) << fault;
    }
    EXPECT_TRUE(!is_less || !got.problems.empty()) << fault << " is not told";
  }
};

TEST_F(NvmlFaultsOfInstances, EachFunctionThatFailsOfACardOrAnInstanceIsToldAndMakesNoZero) {
  ASSERT_EQ(sound.devices.size(), 4U);
  ASSERT_EQ(sound.devices[1].process_count, Reading<std::uint64_t>(1U));
  ASSERT_EQ(sound.devices[1].memory_used, Reading<Bytes>(1100_MiB));
  for (const std::string_view function : symbols()) {
    if (!is_of_a_device(function)) continue;
    for (const char* place : {"0", "0.0", "0.1"}) {
      const std::string fault = fmt::format("{}@{}={}", function, place, static_cast<int>(unknown));
      faults(fault);
      expect_told(look_in_process(), fault);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST_F(NvmlFaultsOfInstances, WhereTheCardsListFailsTheInstancesCountOnlyIfAllOfThemTell) {
  const std::string card = "nvmlDeviceGetComputeRunningProcesses_v3@0=4";
  faults(card);
  EXPECT_EQ(look_in_process().devices[1].process_count, sound.devices[1].process_count);
  for (const char* also : {"nvmlDeviceGetMigDeviceHandleByIndex@0=999",
                           "nvmlDeviceGetComputeRunningProcesses_v3@0.1=999"}) {
    faults(card + ";" + also);
    const Snapshot got = look_in_process();
    EXPECT_FALSE(got.devices[0].process_count.get()) << also;
    EXPECT_THAT(got.problems,
                ::testing::Contains(::testing::Field(&Problem::code, "processes_unreadable")))
        << also;
  }
}

TEST_F(NvmlFaultsOfInstances, ACardThatSaysItCanHaveNoneIsNotBelieved) {
  faults("nvmlDeviceGetMaxMigDeviceCount@0=lie:0");
  const Snapshot got = look_in_process();
  EXPECT_EQ(got.devices.size(), 2U);
  EXPECT_THAT(
      got.problems,
      ElementsAre(::testing::Field(
          &Problem::message,
          ::testing::Property(&Sentence::english, HasSubstr("nvmlDeviceGetMaxMigDeviceCount")))));
}

// Through the probe process, which is what gives up: real time passes, little of it.
class NvmlHangs : public NvmlFaults {
 protected:
  void SetUp() override {
    NvmlFaults::SetUp();
    unsetenv("BERTH_FAKE_NVML_NOW_MS");  // the probe process has its own
  }
  /// What does not move with the clock and is not the PCI probe's: there is no sysfs here.
  static Device still(const Snapshot& snapshot, std::size_t index) {
    Device device = snapshot.devices.at(index);
    device.utilization_history = Absent::not_sampled;
    device.details.put(Detail::pci_path, Absent::not_sampled);
    for (const Field& field : fields()) {  // a sample more or less, by when the driver is asked
      if (field.detail && field.key.ends_with("_span_milliseconds")) {
        device.details.put(*field.detail, Absent::not_sampled);
      }
    }
    return device;
  }
  static bool was_given_up(const Problem& problem) {
    return problem.code == "timeout" || problem.code == "crashed";
  }
  static bool was_given_up(const Snapshot& got, std::string_view name) {
    return std::ranges::any_of(got.problems, [&](const Problem& problem) {
      return was_given_up(problem) && problem.message.english().find(name) != std::string::npos;
    });
  }
  /// Whether something sound was given up, too. A machine may not run the probe process for as long
  /// as a stall. Then it looks as if it hung.
  static bool was_given_up_beside(const Snapshot& got, std::string_view name) {
    return std::ranges::any_of(got.problems, [&](const Problem& problem) {
      return was_given_up(problem) && problem.message.english().find(name) == std::string::npos;
    });
  }
  Snapshot look_with(Duration stall, std::string_view function) {
    const Sources sources{.nvml_library = library("all"),
                          .proc = "/nowhere",
                          .sys = "/nowhere",
                          .passwd = "/nowhere"};
    const Patience patience{
        .whole = 12 * stall, .stall = stall, .opening = 12 * stall, .waking = 6 * stall};
    const Instant before = clock.now();
    auto look = collect(sources, {.wanted = Depth::lists}, clock, patience);
    EXPECT_TRUE(look) << function;
    // By the clock.
    EXPECT_LT(clock.now() - before, patience.whole + std::chrono::seconds(3)) << function;
    return look ? std::move(*look) : Snapshot{};
  }
  /// Patient enough for a quiet machine, more patient where that was not enough. There are more
  /// than a hundred functions: the patience of the program would take minutes.
  Snapshot look_at_a_hang_of_device_0(std::string_view function) {
    for (Duration stall = least_stall;; stall *= 4) {
      Snapshot got = look_with(stall, function);
      const bool is_quiet = got.devices.size() == 2 && !was_given_up_beside(got, "GPU 0");
      if (is_quiet || stall > std::chrono::seconds(5)) return got;
    }
  }
  static constexpr std::chrono::milliseconds least_stall{50};
  SystemClock clock;
};

TEST_F(NvmlHangs, AFunctionThatHangsCostsItsDeviceAndEndsWithinTheBound) {
  std::set<std::string, std::less<>> costly;
  for (const std::string_view function : symbols()) {
    if (!is_of_a_device(function)) continue;
    faults(fmt::format("{}@0=hang", function));
    const Snapshot got = look_at_a_hang_of_device_0(function);
    ASSERT_EQ(got.devices.size(), 2U) << function;
    EXPECT_EQ(differences(still(got, 1), still(sound, 1)), "") << function;
    expect_same(processes_of(got, 1), processes_of(sound, 1), std::string(function));
    if (got.devices[0].unusable_because.empty()) {  // an older function, which nobody asked
      EXPECT_EQ(differences(still(got, 0), still(sound, 0)), "") << function;
      EXPECT_THAT(got.problems,
                  ::testing::Each(::testing::Field(&Problem::source, ::testing::Ne("nvml"))))
          << function;
      continue;
    }
    costly.emplace(function);
    EXPECT_EQ(got.devices[0].memory_free, Reading<Bytes>(Absent::failed)) << function;
    EXPECT_TRUE(was_given_up(got, "GPU 0")) << function;
  }
  // What feeds a reading was asked, and hung.
  const auto feeds = read_file(BERTH_NVML_SYMBOL_LISTS "/../nvml-feeds.txt");
  ASSERT_TRUE(feeds);
  for (const std::string_view line : split(*feeds, '\n')) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    EXPECT_TRUE(costly.contains(line.substr(0, colon))) << line.substr(0, colon);
  }
}

TEST_F(NvmlHangs, AFunctionOfTheLibraryThatHangsEndsWithinTheBoundAndIsTold) {
  for (const std::string_view function : symbols()) {
    if (is_of_a_device(function)) continue;
    faults(fmt::format("{}=hang", function));
    Snapshot got = look_with(2 * least_stall, function);
    const auto is_told = [&] {
      return std::ranges::any_of(got.problems, [](const Problem& problem) {
        return problem.source == "nvml" && !problem.remedy.empty();
      });
    };
    // More patience where a loaded machine did not get to the second device, or to the driver.
    const bool is_late = got.devices.empty() ? !is_told() : got.devices.size() == 1;
    if (is_late) got = look_with(20 * least_stall, function);
    if (got.devices.empty()) {
      EXPECT_TRUE(is_told()) << function;
      continue;
    }
    ASSERT_EQ(got.devices.size(), 2U) << function;
    for (std::size_t i = 0; i < 2; ++i) {
      if (was_given_up(got, fmt::format("GPU {}", i))) continue;  // asked for each device anew
      EXPECT_EQ(differences(still(got, i), still(sound, i)), "") << function;
    }
  }
}

}  // namespace
}  // namespace berth::nvml
