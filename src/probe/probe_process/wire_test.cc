#include "probe/probe_process/wire.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/process.h"
#include "base/tr.h"
#include "probe/sim/scenario.h"
#include "probe/sources.h"

namespace berth::wire {
namespace {

/// A message without its length.
std::string body_of(const Message& message) { return encode(message).substr(4); }

Snapshot rich_snapshot(const std::string& name) {
  const auto scenario = sim::load_scenario(name);
  EXPECT_TRUE(scenario);
  return scenario ? scenario->base : Snapshot{};
}

std::vector<Message> every_kind_of_message() {
  const Snapshot host = rich_snapshot("h100-mig");
  Snapshot faults = rich_snapshot("faults");
  std::vector<Message> messages = {
      Begun{{StepKind::device, 3}},
      Finished{{StepKind::user, 1001}},
      DeviceCount{8},
      Identified{2, faults.devices[1]},
      CommandOf{7, std::vector<std::string>{"python", "", "a\nb"}},
      CommandOf{7, Absent::no_permission},
      UserName{1001, "alice"},
      EnclosureNames{"podman", "1a2b3c4d5e6f", std::string("train"), Absent::no_permission},
      Done{},
      GoesOn{},
      OpenFiles{DeviceFiles{.holders = {{7, 0}}, .unreadable = 12}},
      OpenFiles{DeviceFiles{.holders = {}, .unreadable = Absent::no_permission}},
      OpenFiles{Absent::failed},
      host.host,
      faults.problems.at(0),
      SourceReport{"nvml", true},
  };
  for (const Device& device : faults.devices) messages.emplace_back(device);
  for (const GpuProcess& process : host.gpu_processes) messages.emplace_back(process);
  for (const HostProcess& process : host.processes) messages.emplace_back(process);
  HostProcess enclosed = host.processes.front();
  enclosed.enclosure = Enclosure{.runtime = "slurm", .id = "42.0", .owner_uid = 1001};
  enclosed.read = WallTime{5};
  enclosed.stuck = true;
  messages.emplace_back(enclosed);
  return messages;
}

TEST(Wire, EveryMessageComesBackAsItWas) {
  for (const Message& message : every_kind_of_message()) {
    const auto back = decode(body_of(message));
    ASSERT_TRUE(back) << "message of kind " << message.index();
    EXPECT_EQ(*back, message) << "message of kind " << message.index();
  }
}

TEST(Wire, ARequestComesBackWithWhatItsJobsAreKnownBy) {
  const std::vector<ClaimedDevice> devices = {{DeviceId("A"), Bytes{5}}, {DeviceId("B"), {}}};
  const std::vector<Claim> claims = {
      {.id = "1", .command = "no job yet", .devices = devices},
      {.id = "2", .keeper = ProcessId{7, 8}, .job = ProcessId{9, 10}, .devices = devices},
      {.id = "3", .job = ProcessId{11, 12}}};
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const std::string bytes = encode_request({{.claims = claims}, WallTime{5}});
  ASSERT_TRUE(write_all(pipe->write.get(), bytes + bytes.substr(0, bytes.size() - 1)));
  pipe->write.close();
  const auto back = next_request(pipe->read.get());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->now, WallTime{5});
  EXPECT_EQ(
      back->request.claims,
      (std::vector<Claim>{{.keeper = ProcessId{7, 8}, .job = ProcessId{9, 10}, .devices = devices},
                          {.job = ProcessId{11, 12}}}));
  EXPECT_FALSE(next_request(pipe->read.get())) << "cut off";
}

TEST(Wire, AProblemsNamesAreNotTakenForWordsOfOurs) {
  const Problem problem{
      .source = "nvml",
      .message = sentence("{} was there before: the driver lists it no longer", "an unknown user")};
  const auto back = decode(body_of(problem));
  ASSERT_TRUE(back);
  const LanguageHere chinese(Language::simplified_chinese);
  EXPECT_EQ(std::get<Problem>(*back).message.shown(), problem.message.shown());
  EXPECT_NE(Sentence(problem.message.english()).shown(), problem.message.shown());
}

TEST(Wire, EveryDeviceOfEveryScenarioComesBackAsItWas) {
  for (const ScenarioName& known : builtin_scenarios()) {
    for (const Device& device : rich_snapshot(std::string(known.name)).devices) {
      EXPECT_EQ(decode(body_of(device)), Message(device)) << known.name;
    }
  }
}

TEST(Wire, CutOffMessageIsNoMessage) {
  for (const Message& message : every_kind_of_message()) {
    const std::string body = body_of(message);
    for (std::size_t length = 0; length < body.size(); length += 1 + body.size() / 200) {
      EXPECT_FALSE(decode(body.substr(0, length))) << message.index() << " at " << length;
    }
    EXPECT_FALSE(decode(body + "x")) << message.index();
  }
}

TEST(Wire, DeviceThatCannotBeIsNoMessage) {
  Device known;
  known.id = DeviceId("GPU-A");
  ASSERT_TRUE(decode(body_of(known)));
  EXPECT_FALSE(decode(body_of(Device{}))) << "no id";
  Device numbered = known;
  numbered.index = -1;
  EXPECT_FALSE(decode(body_of(numbered)));
  for (const std::int64_t age : {std::int64_t{-1}, std::int64_t{1'000'000'000'000}}) {
    Device old = known;
    old.utilization_history = std::vector<UtilizationSample>{{Milliseconds(age), Percent(5)}};
    EXPECT_FALSE(decode(body_of(old))) << age;
  }
}

TEST(Wire, ChangedBytesNeverCrashTheReader) {
  for (const Message& message : every_kind_of_message()) {
    std::string body = body_of(message);
    for (std::size_t i = 0; i < body.size(); i += 1 + body.size() / 60) {
      const char before = body[i];
      for (const char c : {'\0', '\1', '\x7f', '\xff'}) {
        body[i] = c;
        const auto got = decode(body);
        if (got) {
          EXPECT_FALSE(got->valueless_by_exception());
        }
      }
      body[i] = before;
    }
  }
}

TEST(Unpacker, FindsMessagesInBytesThatArriveOneByOne) {
  std::string stream;
  const std::vector<Message> sent = every_kind_of_message();
  for (const Message& message : sent) stream += encode(message);
  Unpacker unpacker;
  std::vector<Message> got;
  for (const char c : stream) {
    unpacker.feed(std::string_view(&c, 1));
    Message message;
    while (unpacker.next(message)) got.push_back(std::move(message));
  }
  EXPECT_FALSE(unpacker.is_broken());
  EXPECT_EQ(got, sent);
}

TEST(Unpacker, GarbageBreaksTheStreamForGood) {
  Unpacker unpacker;
  Message message;
  unpacker.feed("terminate called after throwing an instance of\n");
  EXPECT_FALSE(unpacker.next(message));
  EXPECT_TRUE(unpacker.is_broken());
  unpacker.feed(encode(Done{}));
  EXPECT_FALSE(unpacker.next(message));
}

TEST(Unpacker, UnknownKindOfMessageBreaksTheStream) {
  Unpacker unpacker;
  Message message;
  unpacker.feed(std::string_view("\1\0\0\0\xee", 5));
  EXPECT_FALSE(unpacker.next(message));
  EXPECT_TRUE(unpacker.is_broken());
}

}  // namespace
}  // namespace berth::wire
