#include "view/fleet_text.h"
#include "base/sentence.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "base/tr.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

HostDevice device(std::string state, double load, std::uint64_t used_gib,
                  std::vector<std::string> users = {}) {
  HostDevice made;
  made.state = std::move(state);
  made.utilization_percent = load;
  made.memory_used_bytes = used_gib * gib;
  made.memory_total_bytes = 80 * gib;
  made.users = std::move(users);
  return made;
}

HostReport answering(std::string name, std::vector<HostDevice> devices) {
  HostReport host{.name = std::move(name), .address = "http://x:9700", .page = {}};
  host.state = HostState::ok;
  host.seen = HostOverview{};
  host.seen->devices = std::move(devices);
  return host;
}

HostReport silent() {
  HostReport host{.name = "gpu3", .address = "http://gpu3:9700", .page = {}};
  host.state = HostState::unreachable;
  host.why = Sentence("cannot connect to gpu3:9700: Connection refused");
  host.remedy =
      Sentence("is berth serve running there, at an address that others can reach (--listen)?");
  return host;
}

std::vector<HostReport> example() {
  std::vector<HostReport> hosts = {
      answering("gpu1", {device("free", 0, 0), device("busy", 97, 70, {"alice"}),
                         device("leased", 50, 10, {"bob", "alice"})}),
      answering("gpu2-with-a-long-name", {device("busy", 100, 80, {"carol"})}), silent()};
  hosts[1].seen->waiting = 3;
  return hosts;
}

Style wide() { return {.width = 100, .colour = false, .utf8 = true}; }

TEST(FleetText, GivesEachServerOneLine) {
  const std::string text = render_fleet(example(), wide());
  EXPECT_THAT(text, HasSubstr("1 of 4 free  servers: 3  not answering: 1\n"));
  EXPECT_THAT(text, HasSubstr("gpu1                    1/3"));
  EXPECT_THAT(text, HasSubstr("80.0/240G"));
  EXPECT_THAT(text, HasSubstr("alice bob\n"));
}

TEST(FleetText, SaysUnderAServerThatDoesNotAnswerWhyAndWhatToDo) {
  const std::string text = render_fleet(example(), wide());
  EXPECT_THAT(text,
              HasSubstr("gpu3\n  unreachable: cannot connect to gpu3:9700: Connection refused\n"
                        "    → is berth serve running there"));
}

TEST(FleetText, StaysWithinTheTerminal) {
  for (const int width : {20, 40, 60, 80, 132}) {
    Style style = wide();
    style.width = width;
    const std::string text = render_fleet(example(), style);
    for (const std::string_view line : split(text, '\n')) {
      EXPECT_LE(display_width(line), width) << line;
    }
  }
}

TEST(FleetText, MarksWhatIsSimulated) {
  auto hosts = example();
  hosts[0].seen->simulated = "server-8xh100";
  EXPECT_THAT(render_fleet(hosts, wide()), HasSubstr("  SIMULATED server-8xh100\n"));
}

TEST(FleetText, SumsNoMemoryOfWhichPartIsUnknown) {
  auto hosts = example();
  hosts.resize(1);
  hosts[0].seen->devices[0].memory_used_bytes.reset();
  EXPECT_THAT(render_fleet(hosts, wide()), Not(HasSubstr("240G")));
}

TEST(FleetText, CountsInstancesAndNotTheCardThatIsDividedIntoThem) {
  HostDevice card = device("divided", 0, 0);
  HostDevice instance = device("free", 0, 0);
  instance.parent = "GPU-A";
  EXPECT_THAT(render_fleet({answering("gpu1", {card, instance, instance})}, wide()),
              HasSubstr("2 of 2 free"));
}

TEST(FleetText, NamesBrokenCardsAndAlerts) {
  HostDevice sick = device("busy", 10, 10);
  sick.health = "failed";
  auto hosts = std::vector{answering("gpu1", {sick, device("lost", 0, 0)})};
  hosts[0].seen->alerts = 4;
  const std::string text = render_fleet(hosts, wide());
  EXPECT_THAT(text, HasSubstr("failed or lost: 2"));
  EXPECT_THAT(text, HasSubstr("alerts: 4"));
}

TEST(FleetText, EscapesWhatOthersSay) {
  auto hosts = example();
  hosts[0].seen->devices[1].users = {"\x1b[2J\x1b[31mroot"};
  hosts[2].why = Sentence("\x1b]0;owned\a");
  EXPECT_THAT(render_fleet(hosts, wide()), Not(HasSubstr("\x1b")));
}

TEST(FleetText, SpeaksChinese) {
  set_language(Language::simplified_chinese);
  const std::string text = render_fleet(example(), wide());
  set_language(Language::english);
  EXPECT_THAT(text, HasSubstr("无法连接"));
  EXPECT_THAT(text, Not(HasSubstr("unreachable")));
  EXPECT_THAT(text, Not(HasSubstr("is berth serve running")));
}

TEST(FleetText, IsAnArrayAsJson) {
  const std::string json = fleet_json(example());
  EXPECT_TRUE(json.starts_with("[{\"name\":\"gpu1\"")) << json;
  EXPECT_TRUE(json.ends_with("]\n"));
}

}  // namespace
}  // namespace berth
