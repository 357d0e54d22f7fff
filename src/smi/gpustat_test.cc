#include "smi/gpustat.h"

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

TEST(Gpustat, WithoutCardsItSaysSo) {
  Snapshot none;
  none.host.name = std::string("lab");
  EXPECT_THAT(drawn(none, {}), HasSubstr("\n(No GPUs are available)\n"));
  EXPECT_FALSE(gpustat_failure(none));
  none.problems.push_back({.source = "nvml", .code = "library_not_found", .message = "no library"});
  EXPECT_THAT(gpustat_failure(none).value_or(""), StartsWith("Error on querying NVIDIA devices."));
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
