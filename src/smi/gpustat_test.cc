#include "smi/gpustat.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "smi/example_cards.h"

namespace berth::smi {
namespace {

using namespace berth::literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Snapshot shared_card() {
  Snapshot host = example::workstation();
  host.host.name = std::string("lab");
  host.devices[0].name = std::string("NVIDIA GeForce RTX 2080");
  host.processes[1].user = std::string("bob");
  host.processes[1].command = std::vector<std::string>{"/usr/bin/python3", "train.py", "--lr", "1"};
  host.processes[1].memory_resident = 257_MiB;
  host.gpu_processes.erase(host.gpu_processes.begin() + 2);
  return host;
}

std::string drawn(const Snapshot& host, const std::vector<std::string>& words) {
  return render_gpustat(host, parse_gpustat(words), false, {});
}

TEST(Gpustat, DrawsOneLinePerCard) {
  EXPECT_EQ(drawn(shared_card(), {}),
            "lab                         Wed Jun 24 10:26:34 2026  595.71.05\n"
            "[0] NVIDIA GeForce RTX 2080 | 40°C,   0 % |   213 /  8192 MB | alice(176M) bob(3M)\n");
}

TEST(Gpustat, ShowsAllThatIsAskedFor) {
  EXPECT_EQ(drawn(shared_card(), {"-a", "--no-header"}),
            "[0] NVIDIA GeForce RTX 2080 | 40°C,  37 %,   0 % (E:   0 %  D:   0 %),   37 / 250 W | "
            "  213 /  8192 MB | alice:gnome-shell/1696(176M) bob:python3/4584(3M)\n");
  EXPECT_EQ(drawn(shared_card(), {"-c", "--no-header", "--gpuname-width", "8"}),
            "[0] …TX 2080 | 40°C,   0 % |   213 /  8192 MB | gnome-shell(176M) python3(3M)\n");
}

TEST(Gpustat, CutsANameBetweenCharacters) {
  Snapshot host = shared_card();
  host.devices[0].name = std::string("显卡 RTX");
  EXPECT_THAT(drawn(host, {"--no-header", "--gpuname-width", "7"}), HasSubstr("[0] …卡 RTX |"));
}

TEST(Gpustat, CanLeaveNamesAndProcessesOut) {
  EXPECT_EQ(drawn(shared_card(), {"--no-header", "--no-processes", "--gpuname-width=0"}),
            "[0]  40°C,   0 % |   213 /  8192 MB\n");
}

TEST(Gpustat, ShowsWholeCommandsBelow) {
  EXPECT_THAT(drawn(shared_card(), {"-f", "--no-header"}),
              HasSubstr("\n ├─   1696 (  ??%,     ?\?): /usr/bin/gnome-shell\n"
                        " └─   4584 (  ??%,  257MB): /usr/bin/python3 train.py --lr 1\n"));
}

TEST(Gpustat, ALostCardIsNamedSoAndTheOthersStay) {
  Snapshot host = shared_card();
  Device lost = host.devices[0];
  lost.id = DeviceId("GPU-lost");
  lost.index = 1;
  lost.lost = true;
  lost.temperature = Absent::failed;
  lost.utilization_gpu = Absent::failed;
  lost.memory_used = lost.memory_total = Absent::failed;
  lost.process_count = Absent::failed;
  host.devices.push_back(lost);
  EXPECT_THAT(
      drawn(host, {"--no-header"}),
      HasSubstr(
          "[1] ((GPU is lost))         | ??°C,  ?? % |    ?? /    ?? MB | (Not Supported)\n"));
}

TEST(Gpustat, ColoursOnlyWhereTheyAreWanted) {
  EXPECT_THAT(render_gpustat(shared_card(), {}, true, {}), HasSubstr("\x1b[36m[0]\x1b[m"));
  EXPECT_EQ(drawn(shared_card(), {}).find('\x1b'), std::string::npos);
}

TEST(Gpustat, ShowsTheHalfOfCodecAndPowerThatIsAskedFor) {
  const std::string head = "[0] NVIDIA GeForce RTX 2080 | 40°C,   0 %";
  const std::string tail = " |   213 /  8192 MB\n";
  const auto asked = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--no-header", "--no-processes"});
    return drawn(shared_card(), words);
  };
  EXPECT_EQ(asked({"-e", "enc"}), head + " (E:   0 %)" + tail);
  EXPECT_EQ(asked({"--show-codec=dec"}), head + " (D:   0 %)" + tail);
  EXPECT_EQ(asked({"-e", "enc,dec"}), head + " (E:   0 %  D:   0 %)" + tail);
  EXPECT_EQ(asked({"-P", "draw"}), head + ",   37 W" + tail);
  EXPECT_EQ(asked({"-P"}), head + ",   37 / 250 W" + tail);
  EXPECT_EQ(asked({"-P", "draw,limit"}), head + ",   37 / 250 W" + tail);
}

TEST(Gpustat, IdShowsOnlyWhatItNames) {
  Snapshot host = shared_card();
  for (std::uint32_t index = 1; index < 3; ++index) {
    Device other = host.devices[0];
    other.id = DeviceId("GPU-" + std::to_string(index));
    other.uuid = other.id.text();
    other.index = index;
    other.name = "NVIDIA T" + std::to_string(index);
    host.devices.push_back(other);
  }
  const auto asked = [&](const std::string& id) {
    return drawn(host, {"--no-header", "--no-processes", "--id", id});
  };
  EXPECT_EQ(asked("1"), "[1] NVIDIA T1 | 40°C,   0 % |   213 /  8192 MB\n");
  EXPECT_EQ(asked("2,1"),
            "[1] NVIDIA T1 | 40°C,   0 % |   213 /  8192 MB\n"
            "[2] NVIDIA T2 | 40°C,   0 % |   213 /  8192 MB\n");
  const auto json =
      nlohmann::json::parse(render_gpustat_json(host, parse_gpustat({"--json", "--id=2"}), {}));
  ASSERT_EQ(json["gpus"].size(), 1U);
  EXPECT_EQ(json["gpus"][0]["index"], 2);
}

TEST(Gpustat, AnIntervalOfNoneIsOnce) {
  EXPECT_EQ(parse_gpustat({"-i"}).every, std::chrono::milliseconds(1000));
  EXPECT_EQ(parse_gpustat({"-i", "0.01"}).every, std::chrono::milliseconds(100));
  for (const char* none : {"-i0", "--interval=0", "--watch=0.0"}) {
    EXPECT_EQ(parse_gpustat({none}).every, std::nullopt) << none;
    EXPECT_FALSE(parse_gpustat({none}).said) << none;
    EXPECT_FALSE(parse_gpustat({"--json", none}).said) << none;
  }
  EXPECT_TRUE(parse_gpustat({"--json", "-i", "1"}).said);
}

TEST(Gpustat, LoadsFromTheirThresholdOnAreBold) {
  Snapshot host = shared_card();
  Device& gpu = host.devices[0];
  gpu.utilization_encoder = 49_percent;
  gpu.utilization_decoder = 50_percent;
  gpu.fan_speed = Percent{30};
  gpu.power_draw = 99_watts;
  const auto painted = [&] { return render_gpustat(host, parse_gpustat({"-a"}), true, {}); };
  EXPECT_THAT(painted(), HasSubstr("(\x1b[1mE: \x1b[m\x1b[32m 49 %\x1b[m  \x1b[1mD: "
                                   "\x1b[m\x1b[1;32m 50 %\x1b[m)"));
  EXPECT_THAT(painted(), HasSubstr("\x1b[1;36m 30 %\x1b[m"));
  EXPECT_THAT(painted(), HasSubstr("\x1b[35m 99\x1b[m / \x1b[35m250 W\x1b[m"));
  gpu.power_draw = 100_watts;
  gpu.utilization_encoder = Absent::unsupported;
  EXPECT_THAT(painted(), HasSubstr("\x1b[1;35m100\x1b[m"));
  EXPECT_THAT(painted(), HasSubstr("\x1b[1;30m ?? %\x1b[m"));
}

TEST(Gpustat, CompletionIsGivenForTheShellsThatTheirsKnows) {
  for (const char* shell : {"bash", "zsh", "tcsh"}) {
    const auto said = parse_gpustat({"--print-completion", shell}).said;
    ASSERT_TRUE(said) << shell;
    EXPECT_EQ(said->code, 0) << shell;
    for (const char* flag : {"gpustat", " --show-codec ", " --no-processes ", " -i "}) {
      EXPECT_THAT(said->text, HasSubstr(flag)) << shell;
    }
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--print-completion"}, {"--print-completion=fish"}}) {
    const auto said = parse_gpustat(words).said;
    ASSERT_TRUE(said);
    EXPECT_EQ(said->code, 2);
    EXPECT_THAT(said->text, HasSubstr("--print-completion wants bash, zsh or tcsh"));
  }
}

TEST(Gpustat, WithoutCardsItSaysSo) {
  Snapshot none;
  none.host.name = std::string("lab");
  EXPECT_THAT(drawn(none, {}), HasSubstr("\n(No GPUs are available)\n"));
  EXPECT_FALSE(gpustat_failure(none, {}));
  none.problems.push_back(
      {.source = "nvml", .code = "library_not_found", .message = Sentence("no library")});
  EXPECT_THAT(gpustat_failure(none, {}).value_or(""),
              StartsWith("Error on querying NVIDIA devices."));
}

TEST(Gpustat, ACardThatIsNotThereIsSaid) {
  EXPECT_FALSE(gpustat_failure(shared_card(), parse_gpustat({"--id", "0"})));
  EXPECT_THAT(gpustat_failure(shared_card(), parse_gpustat({"--id", "0,7"})).value_or(""),
              HasSubstr("--id"));
}

TEST(Gpustat, JsonHasGpustatsKeysAndNumbers) {
  const auto json =
      nlohmann::json::parse(render_gpustat_json(shared_card(), parse_gpustat({"--json"}), {}));
  EXPECT_EQ(json["hostname"], "lab");
  EXPECT_EQ(json["driver_version"], "595.71.05");
  EXPECT_EQ(json["query_time"], "2026-06-24T10:26:34.000000");
  const auto& card = json["gpus"][0];
  EXPECT_EQ(card["index"], 0);
  EXPECT_EQ(card["memory.used"], 213);
  EXPECT_EQ(card["memory.total"], 8192);
  EXPECT_EQ(card["enforced.power.limit"], 250);
  EXPECT_EQ(card["utilization.gpu"], 0);
  EXPECT_EQ(card["processes"][1]["username"], "bob");
  EXPECT_EQ(card["processes"][1]["command"], "python3");
  EXPECT_EQ(card["processes"][1]["gpu_memory_usage"], 3);
  EXPECT_EQ(card["processes"][1]["cpu_memory_usage"], 257U << 20);
  EXPECT_TRUE(card["processes"][1]["cpu_percent"].is_null());
}

TEST(Gpustat, CpuIsCountedSinceTheLookBefore) {
  Snapshot before = shared_card();
  HostProcess& earlier = before.processes[1];
  earlier.cpu_time = Milliseconds(5000);
  earlier.read = WallTime{1000};
  Snapshot now = before;
  now.processes[1].cpu_time = Milliseconds(5150);
  now.processes[1].read = WallTime{1100};
  const auto percent = [&](const Snapshot* since) {
    const auto json = nlohmann::json::parse(render_gpustat_json(now, {}, {}, since));
    return json["gpus"][0]["processes"][1]["cpu_percent"];
  };
  EXPECT_EQ(percent(&before), 150.0);
  EXPECT_TRUE(percent(nullptr).is_null());
  EXPECT_THAT(render_gpustat(now, parse_gpustat({"-f"}), false, {}, &before), HasSubstr("( 150%,"));
  earlier.id.start_ticks += 1;
  EXPECT_TRUE(percent(&before).is_null()) << "another process of that number";
}

TEST(Gpustat, JsonOfWhatIsUnknownIsNull) {
  Snapshot host = shared_card();
  host.devices[0].temperature = Absent::failed;
  host.gpu_processes.clear();
  host.devices[0].process_count = Absent::no_permission;
  const auto json = nlohmann::json::parse(render_gpustat_json(host, {}, {}));
  EXPECT_TRUE(json["gpus"][0]["temperature.gpu"].is_null());
  EXPECT_TRUE(json["gpus"][0]["processes"].is_null());
}

}  // namespace
}  // namespace berth::smi
