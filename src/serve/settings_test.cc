#include "serve/settings.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::serve {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Settings, AreReadFromToml) {
  const auto settings = parse_settings(R"(
listen = ["127.0.0.1:9700", "[::1]:0"]
socket = "/run/x.sock"
hosts = ["GPU1.lab:443"]
trusted_origins = ["https://Portal.lab:443/", "http://[::1]:3000"]
frame_ancestors = "https://grafana.lab"
embed = true
interval = "2s"
require_tokens = true
colour = "green"
[policy]
others = "group"
pods = true
[tls]
certificate = "c.pem"
key = "k.pem"
)");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_THAT(settings->listen, ElementsAre(Address{"127.0.0.1", 9700}, Address{"::1", 0}));
  EXPECT_EQ(settings->socket, "/run/x.sock");
  EXPECT_THAT(settings->hosts, ElementsAre("gpu1.lab"));
  EXPECT_THAT(settings->sites.trusted_origins,
              ElementsAre("https://portal.lab", "http://[::1]:3000"));
  EXPECT_THAT(settings->sites.frame_ancestors, ElementsAre("https://grafana.lab"));
  EXPECT_TRUE(settings->sites.embed);
  EXPECT_EQ(settings->interval, Duration(2s));
  EXPECT_TRUE(settings->require_tokens);
  EXPECT_EQ(settings->visibility.others, Visibility::Others::group);
  EXPECT_TRUE(settings->visibility.pods_are_open);
  EXPECT_EQ(settings->tls->key, "k.pem");
  EXPECT_THAT(settings->unknown, ElementsAre("colour (line 10)"));
}

TEST(DetailsInterval, IsThatOfTenLooksAndTenSecondsAtMost) {
  EXPECT_EQ(details_interval(100ms), Duration(1s));
  EXPECT_EQ(details_interval(1s), Duration(10s));
  EXPECT_EQ(details_interval(5s), Duration(10s));
}

TEST(Settings, TellHowMuchHistoryIsKept) {
  const auto settings = parse_settings(R"(
[history]
samples = "2d"
minutes = "30d"
hours = "400d"
at_most = "64M"
)");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_TRUE(settings->keeps_history);
  EXPECT_EQ(settings->history.raw_for, 48h);
  EXPECT_EQ(settings->history.minutes_for, 24h * 30);
  EXPECT_EQ(settings->history.hours_for, 24h * 400);
  EXPECT_EQ(settings->history.at_most, Bytes(std::uint64_t{64} << 20));
  EXPECT_FALSE(parse_settings("[history]\nkeep = false")->keeps_history);
}

TEST(Settings, NameTheServersToJoin) {
  const auto settings = parse_settings(R"(
[join]
hosts = ["gpu1", "big=https://gpu2.lab"]
file = "/etc/berth/hosts"
interval = "10s"
at_once = 4
)");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_THAT(settings->join.hosts, ElementsAre("gpu1", "big=https://gpu2.lab"));
  EXPECT_EQ(settings->join.file, "/etc/berth/hosts");
  EXPECT_EQ(settings->join.interval, Duration(10s));
  EXPECT_EQ(settings->join.at_once, 4U);
}

TEST(Settings, EmptyFileMeansLoopbackAlone) {
  const auto settings = parse_settings("");
  ASSERT_TRUE(settings);
  EXPECT_THAT(settings->listen, ElementsAre(Address{"127.0.0.1", 9700}));
  EXPECT_FALSE(refused_listeners(*settings));
}

struct Wrong {
  const char* toml;
  const char* said;
};
class WrongSettings : public testing::TestWithParam<Wrong> {};
TEST_P(WrongSettings, SayWhereAndWhat) {
  const auto settings = parse_settings(GetParam().toml);
  ASSERT_FALSE(settings) << GetParam().toml;
  EXPECT_THAT(settings.error().message(), HasSubstr(GetParam().said));
}
INSTANTIATE_TEST_SUITE_P(
    Every, WrongSettings,
    testing::Values(Wrong{"listen = 9700", "line 1: listen"}, Wrong{"\nlisten = \"x\"", "line 2"},
                    Wrong{"listen = [\"gpu1.lab:80\"]", "is no address"},
                    Wrong{"\nhosts = [\"gpu1\", \"http://gpu1.lab\"]", "line 2: hosts: \"http:"},
                    Wrong{"hosts = [\"*.lab\"]", "is no host's name"},
                    Wrong{"hosts = [\"\"]", "is no host's name"},
                    Wrong{"trusted_origins = [\"*\"]", "line 1: trusted_origins: \"*\" is no"},
                    Wrong{"\nframe_ancestors = \"*\"", "line 2: frame_ancestors: \"*\" is no"},
                    Wrong{"trusted_origins = \"https://*.lab\"", "without a path or *"},
                    Wrong{"trusted_origins = \"https://\"", "is no origin"},
                    Wrong{"trusted_origins = \"portal.lab\"", "is no origin"},
                    Wrong{"trusted_origins = \"null\"", "is no origin"},
                    Wrong{"trusted_origins = \"https://me@portal.lab\"", "is no origin"},
                    Wrong{"frame_ancestors = \"https://a.lab; script-src *\"", "is no origin"},
                    Wrong{"frame_ancestors = \"https://a.lab/page\"", "is no origin"},
                    Wrong{"frame_ancestors = \"unix:/run/x.sock\"", "is no origin"},
                    Wrong{"interval = \"1ms\"", "from 100ms"}, Wrong{"interval = \"10s\"", "to 5s"},
                    Wrong{"a = [", "line 1"},
                    Wrong{"[history]\nat_most = \"1M\"", "line 2: history.at_most: 2 MiB"},
                    Wrong{"[history]\nsamples = \"10m\"", "an hour is the least"},
                    Wrong{"[history]\nhours = \"30d\"", "as long as minutes"},
                    Wrong{"[policy]\nothers = \"all\"", "public, group or owner"},
                    Wrong{"[join]\nhosts = [\"a b\"]", "line 2: join.hosts"},
                    Wrong{"[join]\nat_once = 0", "from 1 to 256"},
                    Wrong{"[join]\ninterval = \"1ms\"", "from 1s to 10m"},
                    Wrong{"[tls]\nkey = \"k\"", "both"},
                    Wrong{"require_tokens = \"yes\"", "true"}));

TEST(Address, IsAnAddressAndNoName) {
  EXPECT_EQ(parse_address("localhost:80")->host, "127.0.0.1");
  for (const char* wrong : {"", "80", ":80", "host:80", "127.0.0.1", "127.0.0.1:70000", "::1:80",
                            "[127.0.0.1]:80", "127.0.0.1:-1"}) {
    EXPECT_FALSE(parse_address(wrong)) << wrong;
  }
  EXPECT_EQ(as_text({.host = "::1", .port = 9700}), "[::1]:9700");
}

TEST(Listeners, ThatOthersReachWantAProof) {
  Settings settings;
  settings.listen = {{.host = "0.0.0.0", .port = 9700}};
  const auto refused = refused_listeners(settings);
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->message(), HasSubstr("--tokens"));
  settings.tls = TlsFiles{.certificate = "c", .key = "k", .client_ca = {}};
  EXPECT_TRUE(refused_listeners(settings)) << "a certificate of ours does not tell who asks";
  settings.tls->client_ca = "ca";
  EXPECT_FALSE(refused_listeners(settings));
  settings.tls.reset();
  settings.require_tokens = true;
  EXPECT_FALSE(refused_listeners(settings));
}

TEST(Settings, OfAlertsChangeRowsOfTheTable) {
  const auto settings = parse_settings(R"(
[alerts.idle_holder]
for = "2h"
threshold = "4G"
[alerts.disk_nearly_full]
threshold = 80
hold = "10s"
[alerts.xid]
off = true
[alerts.gpu_hot]
)");
  ASSERT_TRUE(settings) << settings.error().message();
  const AlertSettings& rules = settings->alerts.rules;
  EXPECT_EQ(rules.of(AlertRule::idle_holder).lasting, 2h);
  EXPECT_EQ(rules.of(AlertRule::idle_holder).threshold, std::uint64_t{4} << 30);
  EXPECT_EQ(rules.of(AlertRule::disk_nearly_full).threshold, 80U);
  EXPECT_EQ(rules.of(AlertRule::disk_nearly_full).hold, 10s);
  EXPECT_FALSE(rules.of(AlertRule::xid).is_on);
  EXPECT_EQ(rules.of(AlertRule::gpu_lost), AlertSettings().of(AlertRule::gpu_lost));
  EXPECT_THAT(settings->unknown, ElementsAre("alerts.gpu_hot (line 10)"));
}

TEST(Settings, OfAlertsNameWhoIsTold) {
  const auto settings = parse_settings(R"(
[[alerts.webhook]]
url = "https://hooks.example/T0/secret"
min_severity = "warning"
[[alerts.webhook]]
name = "team"
url_file = "/etc/berth/hook"
resolved = false
timeout = "3s"
[[alerts.command]]
run = ["/usr/local/bin/page", "--gpu"]
)");
  ASSERT_TRUE(settings) << settings.error().message();
  const std::vector<AlertReceiver>& all = settings->alerts.receivers;
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name, "webhook-1");
  EXPECT_EQ(all[0].url, "https://hooks.example/T0/secret");
  EXPECT_EQ(all[0].least, AlertSeverity::warning);
  EXPECT_EQ(all[1].name, "team");
  EXPECT_EQ(all[1].url_file, "/etc/berth/hook");
  EXPECT_FALSE(all[1].is_told_of_ends);
  EXPECT_EQ(all[1].patience, 3s);
  EXPECT_EQ(all[2].name, "command-1");
  EXPECT_THAT(all[2].command, ElementsAre("/usr/local/bin/page", "--gpu"));
}

TEST(Settings, OfAlertsKnowNobodyByHisPlace) {
  const std::string named = "[[alerts.webhook]]\nname = \"team\"\nurl = \"http://a/\"\n";
  const std::string nameless = "[[alerts.webhook]]\nurl = \"http://b/\"\n";
  for (const std::string& text : {nameless, named + nameless, nameless + named}) {
    const auto settings = parse_settings(text);
    ASSERT_TRUE(settings) << settings.error().message();
    const auto& all = settings->alerts.receivers;
    const auto one = std::ranges::find(all, "http://b/", &AlertReceiver::url);
    ASSERT_NE(one, all.end());
    EXPECT_EQ(one->name, "webhook-1") << text;
  }
}

TEST(Settings, OfAlertsDoNotRepeatASecret) {
  const auto settings =
      parse_settings("[[alerts.webhook]]\nurl = \"ftp://hooks.example/secret\"\n");
  ASSERT_FALSE(settings);
  EXPECT_THAT(settings.error().message(), HasSubstr("line 2: alerts.webhook.url"));
  EXPECT_THAT(settings.error().message(), testing::Not(HasSubstr("secret")));
}

INSTANTIATE_TEST_SUITE_P(
    OfAlerts, WrongSettings,
    testing::Values(Wrong{"alerts = 1", "line 1: alerts"},
                    Wrong{"[alerts.xid]\nthreshold = 1", "has no threshold"},
                    Wrong{"[alerts.disk_nearly_full]\nthreshold = 101", "from 1 to 100 %"},
                    Wrong{"[alerts.ghost_memory]\nthreshold = \"many\"", "line 2"},
                    Wrong{"[alerts.xid]\nfor = \"soon\"", "line 2"},
                    Wrong{"[alerts.xid]\nhold = \"60d\"", "at most 30d"},
                    Wrong{"[alerts.webhook]\nurl = \"http://x/\"", "a list of tables"},
                    Wrong{"[[alerts.webhook]]", "either url or url_file"},
                    Wrong{"[[alerts.webhook]]\nurl = \"x\"\nurl_file = \"y\"", "either url"},
                    Wrong{"[[alerts.command]]", "wants run"},
                    Wrong{"[[alerts.command]]\nrun = [\"\"]", "wants run"},
                    Wrong{"[[alerts.command]]\nrun = \"x\"\nname = \"a b\"", "letters"},
                    Wrong{"[[alerts.command]]\nrun = \"x\"\nmin_severity = \"bad\"", "notice,"},
                    Wrong{"[[alerts.command]]\nrun = \"x\"\ntimeout = \"1h\"", "100ms to 10m"},
                    Wrong{"[[alerts.command]]\nrun = \"x\"\nname = \"a\"\n[[alerts.command]]\n"
                          "run = \"x\"\nname = \"a\"",
                          "two receivers"},
                    Wrong{"[[alerts.command]]\nrun = \"x\"\n[[alerts.command]]\nrun = \"y\"",
                          "two [[alerts.command]] have no name"}));

TEST(SettingsReadAgain, LeaveWhatIsOpenedAndKeptAsItIs) {
  Settings now;
  now.listen = {{.host = "127.0.0.1", .port = 9700}};
  now.require_tokens = true;
  Settings read = now;
  read.interval = std::chrono::seconds(2);
  const auto taken = settings_to_take(now, read);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->waits.empty());
  EXPECT_EQ(taken->settings.interval, read.interval);

  read.listen = {{.host = "0.0.0.0", .port = 9700}};
  read.tls = TlsFiles{.certificate = "/c", .key = "/k", .client_ca = ""};
  read.keeps_history = !now.keeps_history;
  const auto held = settings_to_take(now, read);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->waits.size(), 2U);
  EXPECT_EQ(held->settings.listen, now.listen);
  EXPECT_FALSE(held->settings.tls);
  EXPECT_EQ(held->settings.keeps_history, now.keeps_history);
}

TEST(SettingsReadAgain, OpenNothingToEverybody) {
  Settings now;
  now.listen = {{.host = "0.0.0.0", .port = 9700}};
  now.require_tokens = true;
  Settings read = now;
  read.require_tokens = false;
  const auto taken = settings_to_take(now, read);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::no_permission);
}

}  // namespace
}  // namespace berth::serve
