// What DRM tells of clients: read, counted once, and how busy they are between two looks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "probe/drm/clients.h"
#include "probe/drm/load.h"

namespace berth::drm {
namespace {

using testing::ElementsAre;
using testing::Optional;
using testing::SizeIs;

constexpr std::string_view of_amdgpu =
    "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t4\ndrm-pdev:\t0000:04:00.0\n"
    "drm-total-vram:\t99999 KiB\ndrm-resident-vram:\t44564 KiB\ndrm-memory-vram:\t5 KiB\n"
    "drm-memory-gtt: \t2392 KiB\ndrm-engine-gfx:\t1000 ns\ndrm-engine-compute:\t46464671 ns\n";

TEST(Fdinfo, TheResidentIsWhatLiesThere) {
  const auto client = parse_fdinfo(of_amdgpu);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->id, 4U);
  EXPECT_EQ(client->pci_address, "00000000:04:00.0");
  EXPECT_THAT(memory_on_card(*client), Optional(Bytes{44564 * 1024}));
  EXPECT_THAT(memory_of_host(*client), Optional(Bytes{2392 * 1024}));
  EXPECT_TRUE(has_used(*client, EngineKind::compute));
  EXPECT_FALSE(has_used(*client, EngineKind::decode));
}

TEST(Fdinfo, ACapacityIsNoEngineAndAnAbsentRegionIsNotZero) {
  const auto client = parse_fdinfo(
      "drm-driver: xe\ndrm-client-id: 3\ndrm-cycles-vcs: 50\ndrm-total-cycles-vcs: 1000\n"
      "drm-engine-capacity-vcs: 2\ndrm-engine-capacity-ccs: 4\n");
  ASSERT_TRUE(client);
  ASSERT_THAT(client->engines, SizeIs(1));
  EXPECT_EQ(client->engines.at("vcs").engines, 2U);
  EXPECT_THAT(client->engines.at("vcs").of, Optional(1000U));
  EXPECT_FALSE(memory_on_card(*client));
}

TEST(Fdinfo, WithoutANumberThereIsNoClient) {
  EXPECT_FALSE(parse_fdinfo("drm-driver: amdgpu\n"));
  EXPECT_FALSE(parse_fdinfo("drm-client-id: 1\n"));
  EXPECT_FALSE(parse_fdinfo("drm-driver: amdgpu\ndrm-client-id: all\n"));
  const auto absurd = parse_fdinfo(
      "drm-driver: a\ndrm-client-id: 1\ndrm-memory-vram: 18446744073709551615 MiB\n"
      "drm-memory-gtt: 5 parsecs\n");
  ASSERT_TRUE(absurd);
  EXPECT_TRUE(absurd->memory.empty());
}

class Proc {
 public:
  void add(const std::string& pid, const std::string& number, const std::string& target,
           std::string_view fdinfo) {
    std::filesystem::create_directories(root_ / (pid + "/fd"));
    std::filesystem::create_directories(root_ / (pid + "/fdinfo"));
    std::filesystem::create_symlink(target, root_ / (pid + "/fd/" + number));
    ASSERT_TRUE(write_file_atomically(root_ / (pid + "/fdinfo/" + number), fdinfo));
  }
  [[nodiscard]] std::string path() const { return root_.path(); }

 private:
  TemporaryDirectory root_;
};

TEST(OpenDeviceFiles, AClientIsCountedOnceAndForWhoDoesNotOwnTheDisplay) {
  Proc proc;
  proc.add("40", "3", "/dev/dri/card1", of_amdgpu);  // the display server passed it on
  proc.add("41", "3", "/dev/dri/renderD128", of_amdgpu);
  proc.add("41", "7", "/dev/dri/renderD128", of_amdgpu);  // duplicated
  proc.add("42", "3", "/dev/dri/renderD129", of_amdgpu);  // another card has the same number
  proc.add("43", "3", "/dev/null", "");
  const OpenDeviceFiles files(proc.path(), {"/dev/dri/"});
  EXPECT_THAT(files.files(), SizeIs(4));
  EXPECT_FALSE(files.hides_some());
  const auto clients = files.clients_of({"/dev/dri/card1", "/dev/dri/renderD128"});
  ASSERT_THAT(clients, SizeIs(1));
  EXPECT_EQ(clients[0].pid, 41);
  EXPECT_THAT(files.holders_of({"/dev/dri/card1", "/dev/dri/renderD128"}), ElementsAre(40, 41));
}

TEST(OpenDeviceFiles, InAContainerThereAreOthers) {
  Proc proc;
  proc.add("1", "3", "/dev/null", "");
  std::filesystem::create_directories(proc.path() + "/self/ns");
  EXPECT_FALSE(OpenDeviceFiles(proc.path(), {"/dev/dri/"}).hides_some());
  std::filesystem::create_symlink("pid:[4026532000]", proc.path() + "/self/ns/pid");
  EXPECT_TRUE(OpenDeviceFiles(proc.path(), {"/dev/dri/"}).hides_some());
}

TEST(OpenDeviceFiles, ThereAreOthersWhereTheFirstProcessIsNotListed) {
  Proc proc;  // as with hidepid=2
  proc.add("50", "3", "/dev/null", "");
  std::filesystem::create_directories(proc.path() + "/self");
  EXPECT_TRUE(OpenDeviceFiles(proc.path(), {"/dev/dri/"}).hides_some());
}

TEST(OpenDeviceFiles, WithoutProcNobodyIsKnown) {
  const OpenDeviceFiles files("/nowhere", {"/dev/dri/"});
  EXPECT_EQ(files.why_none(), Absent::failed);
}

TEST(ClientLoad, IsWhatAnEngineDidBetweenTwoLooks) {
  Load load;
  Client client = *parse_fdinfo(of_amdgpu);
  const Instant start{};
  load.begin(start);
  EXPECT_EQ(load.of(client).shader.why(), Absent::not_sampled);
  load.end();
  client.engines["compute"].busy += 500'000'000;
  load.begin(start + std::chrono::seconds(1));
  EXPECT_EQ(load.of(client).shader, Percent{50});
  EXPECT_EQ(load.of(client).decoder.why(), Absent::unsupported);
  load.end();
  client.engines["compute"].busy -= 100;  // for a moment
  load.begin(start + std::chrono::seconds(2));
  EXPECT_EQ(load.of(client).shader, Percent{0});
  load.end();
}

TEST(ClientLoad, OfSeveralClientsIsTheirSum) {
  ClientLoad sum;
  sum.add({.shader = Percent{0}, .decoder = Absent::not_sampled});
  sum.add({.shader = Percent{70}, .decoder = Absent::unsupported});
  EXPECT_EQ(sum.shader, Reading<Percent>(Percent{70})) << "an idle one hides nobody";
  EXPECT_EQ(sum.decoder.why(), Absent::not_sampled);
  EXPECT_EQ(sum.encoder.why(), Absent::unsupported);
  sum.add({.shader = Percent{70}});
  EXPECT_EQ(sum.shader, Reading<Percent>(Percent{100}));
}

TEST(ClientLoad, OfCyclesNeedsNoClockAndHasItsEngines) {
  Load load;
  Client client = *parse_fdinfo(
      "drm-driver: xe\ndrm-client-id: 3\ndrm-cycles-ccs: 0\ndrm-total-cycles-ccs: 1000\n"
      "drm-engine-capacity-ccs: 4\n");
  load.begin(Instant{});
  (void)load.of(client);
  load.end();
  client.engines["ccs"] = {.busy = 2000, .of = 2000, .engines = 4};
  load.begin(Instant{} + std::chrono::seconds(5));
  EXPECT_EQ(load.of(client).shader, Percent{50});
}

}  // namespace
}  // namespace berth::drm
