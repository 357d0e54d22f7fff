#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* machine_file = "/etc/berth/config.toml";
constexpr const char* user_file = "/home/ann/.config/berth/config.toml";
constexpr const char* project_file = "/home/ann/net/berth.toml";

Config read(std::string_view text, ConfigSource source = ConfigSource::user,
            const std::string& path = user_file) {
  Config config;
  config.add_file(source, path, text);
  return config;
}

std::string mistake_in(std::string_view text, ConfigSource source = ConfigSource::user) {
  const Config config = read(text, source);
  return config.mistakes.empty() ? "none" : config.mistakes.front().message();
}

std::string unknown_in(std::string_view text) {
  const Config config = read(text);
  return config.unknown.empty() ? "none" : config.unknown.front().english();
}

/// A job for which `flag` of that key was typed, or none.
Result<JobSpec> job(const Config& config, std::string_view key = {}, const char* text = "") {
  std::vector<std::string> typed;
  for (const JobKey& one : job_keys()) typed.emplace_back(one.name == key ? text : "");
  return job_of(typed, config);
}

TEST(Config, LaterSourcesCountForMore) {
  Config config = read("language = \"zh_CN\"\nledger = \"/a\"\n[request]\nmemory = \"1G\"\n",
                       ConfigSource::machine, machine_file);
  EXPECT_EQ(config.text("request.memory"), "1G");
  config.add_file(ConfigSource::user, user_file, "ledger = \"/b\"\n[request]\nmemory = \"2G\"\n");
  config.add_file(ConfigSource::project, project_file, "[request]\nmemory = \"3G\"\n");
  config.add_variables([](std::string_view name) {
    return name == "BERTH_LEDGER" ? std::optional<std::string>("/c") : std::nullopt;
  });
  config.add_flag("language", "en");
  config.add_flag("simulated", "");
  EXPECT_EQ(config.find("language")->origin, "--lang");
  EXPECT_EQ(config.find("ledger")->origin, "BERTH_LEDGER");
  EXPECT_EQ(config.text("ledger"), "/c");
  EXPECT_EQ(config.text("request.memory"), "3G");
  EXPECT_EQ(config.find("request.memory")->origin, "/home/ann/net/berth.toml:2");
  EXPECT_EQ(config.find("simulated"), nullptr);
  EXPECT_THAT(config.mistakes, IsEmpty());
}

TEST(Config, IsWhatIsAskedForWhereNothingIsTyped) {
  const Config config = read(
      "[request]\nmemory = \"10G\"\ndevices = 2\nonly = [\"0\", 1]\n"
      "allow_failed = true\nwait = \"2h\"\nmax_utilization = 7.5\n");
  const auto silent = job(config);
  ASSERT_TRUE(silent) << silent.error().message();
  EXPECT_EQ(as_typed(*silent), "-n 2 --memory 10G --only 0,1 --max-utilization 7.5 --allow-failed");
  EXPECT_EQ(silent->wait, std::chrono::hours(2));
  EXPECT_EQ(job(config, "memory", "50%")->request.memory, MemoryShare(50_percent));
  EXPECT_EQ(job(config, "allow_failed", "false")->request.allow_failed, false);
}

TEST(Config, DefaultTakesBackWhatAWeakerSourceSays) {
  Config config = read("[request]\nmemory = \"10G\"\n");
  EXPECT_FALSE(job(config, "memory", "default")->request.memory);
  config.add_file(ConfigSource::project, project_file, "[request]\nmemory = \"default\"\n");
  EXPECT_FALSE(job(config)->request.memory);
  EXPECT_EQ(config.find("request.memory")->text, "default") << "who says so is to be seen";
}

TEST(Config, NamesFileLineKeyWhatWasReadAndWhatWouldBeRight) {
  EXPECT_EQ(mistake_in("# mine\n[request]\ndevices = 0\n"),
            "/home/ann/.config/berth/config.toml:3: request.devices: \"0\" is not a number of "
            "devices from 1 to 1024");
  EXPECT_THAT(mistake_in("[request]\nmemory = \"ten\"\n"),
              HasSubstr("config.toml:2: request.memory: \"ten\""));
  EXPECT_THAT(mistake_in("[request]\nmemory = \"\"\n"), HasSubstr("its value is empty"));
  EXPECT_THAT(mistake_in("[request]\nmemory = { of = 1 }\n"),
              HasSubstr("request.memory: a text, a number or a list of them is wanted"));
  EXPECT_THAT(mistake_in("language = \"fr\"\n"), HasSubstr("write en or zh_CN"));
  EXPECT_THAT(mistake_in("ledger = \"leases\"\n"), HasSubstr("begins with /"));
  EXPECT_THAT(mistake_in("[request\n"), HasSubstr("/home/ann/.config/berth/config.toml: line 1"));
  EXPECT_EQ(mistake_in("[request]\nallow_failed = true\n"), "none");
}

TEST(Config, WhatIsWrongIsNotInForce) {
  const Config config = read("ledger = \"leases\"\n[request]\nmemory = \"10G\"\ndevices = 0\n");
  EXPECT_EQ(config.mistakes.size(), 2U);
  EXPECT_EQ(config.text("ledger"), std::nullopt);
  EXPECT_EQ(config.text("request.memory"), "10G");
}

TEST(Config, NamesTheKnownKeyNearestToAnUnknownOne) {
  EXPECT_EQ(unknown_in("[request]\nmemroy = \"10G\"\n"),
            "/home/ann/.config/berth/config.toml:2: there is no key request.memroy; is "
            "request.memory meant?");
  EXPECT_THAT(unknown_in("legder = \"/a\"\n"), HasSubstr("is ledger meant?"));
  EXPECT_THAT(unknown_in("[caps]\nmemory = \"10G\"\n"), HasSubstr("`berth config` lists them"));
  EXPECT_EQ(read("memroy = 1\n").mistakes.size(), 0U) << "it may be of a newer berth";
}

TEST(Config, NoUnknownKeyIsRepeatedWithMoreThanALine) {
  EXPECT_LT(unknown_in(std::string(60'000, 'x') + " = 1\n").size(), 250U);
  EXPECT_EQ(unknown_in("\"a\\u001bb\" = 1\n").find('\x1b'), std::string::npos);
}

TEST(Config, AProjectSaysWhatIsAskedForAndNothingElse) {
  EXPECT_THAT(mistake_in("ledger = \"/tmp/mine\"\n", ConfigSource::project),
              HasSubstr("ledger: this file may not say it"));
  EXPECT_THAT(mistake_in("nvml_library = \"/tmp/mine.so\"\n", ConfigSource::project),
              HasSubstr("nvml_library: this file may not say it"));
  EXPECT_EQ(read("nvml_library = \"/tmp/mine.so\"\n", ConfigSource::project).find("nvml_library"),
            nullptr);
  EXPECT_THAT(mistake_in("simulated = \"faults\"\n"), HasSubstr("no file may say it"));
}

TEST(Config, EachKeyHasAHelpAndAParser) {
  for (const ConfigKey& key : config_keys()) {
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_FALSE(key.form.empty()) << key.name;
    EXPECT_EQ(key.last_file.has_value(), key.check != nullptr || key.job != nullptr) << key.name;
  }
  EXPECT_THAT(config_keys().front().name, "language");
}

TEST(Config, WhatOnlyACommandLineMaySayIsNoKey) {
  EXPECT_THAT(unknown_in("[request]\ncpu = true\n"), HasSubstr("no key request.cpu"));
  EXPECT_THAT(unknown_in("[request]\nor_cpu = \"1m\"\n"), HasSubstr("no key request.or_cpu"));
}

}  // namespace
}  // namespace berth
